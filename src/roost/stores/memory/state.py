"""Every row in memory, and the way back to the last commit."""

from itertools import count

from roost.core.addresses import Account, Address
from roost.core.budgets import Balance, Reservation
from roost.core.deliveries import Delivery
from roost.core.devices import Registered
from roost.core.entries import Entry
from roost.core.events import Event
from roost.core.exchanges import Completion, Exchange
from roost.core.firings import Firing
from roost.core.fleet import Hosting
from roost.core.inbound import InboundRecord
from roost.core.jobs import Job
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.ledger import Denial, LedgerRow
from roost.core.points import Point
from roost.core.principals import Principal
from roost.core.runs import Run
from roost.core.sessions import Generation, Session
from roost.core.threads import ThreadBinding
from roost.ports import Clock
from roost.stores.memory.rows import Rows, Undo


class State:
    """Rows of frozen values: what a caller holds can never change what is stored."""

    def __init__(self, database_clock: Clock) -> None:
        self._clock = database_clock
        self._undo: Undo = []
        self._leases: Rows[str, Lease] = Rows(self._undo)
        self._hostings: Rows[Account, Hosting] = Rows(self._undo)
        self._registered: Rows[str, Registered] = Rows(self._undo)
        self._sessions: Rows[SessionKey, Session] = Rows(self._undo)
        self._lineage: Rows[SessionKey, tuple[SessionKey, ...]] = Rows(self._undo)
        self._trees: Rows[SessionKey, tuple[SessionKey, ...]] = Rows(self._undo)
        self._participants: Rows[SessionKey, frozenset[Principal]] = Rows(self._undo)
        self._ended_feeds: Rows[SessionKey, int] = Rows(self._undo)
        self._generations: Rows[str, Generation] = Rows(self._undo)
        self._entries: Rows[tuple[str, int], Entry] = Rows(self._undo)
        self._inbound: Rows[str, InboundRecord] = Rows(self._undo)
        self._runs: Rows[str, Run] = Rows(self._undo)
        self._exchanges: Rows[str, Exchange] = Rows(self._undo)
        self._completions: Rows[str, Completion] = Rows(self._undo)
        self._bindings: Rows[Address, ThreadBinding] = Rows(self._undo)
        self._points: Rows[tuple[SessionKey, str], Point] = Rows(self._undo)
        self._jobs: Rows[str, Job] = Rows(self._undo)
        self._firings: Rows[str, Firing] = Rows(self._undo)
        self._deliveries: Rows[str, Delivery] = Rows(self._undo)
        self._ledger: Rows[str, LedgerRow] = Rows(self._undo)
        self._balances: Rows[str, Balance] = Rows(self._undo)
        self._reservations: Rows[str, Reservation] = Rows(self._undo)
        self._denials: Rows[int, Denial] = Rows(self._undo)
        self._denied = count()
        self._events: Rows[tuple[SessionKey, int], Event] = Rows(self._undo)

    def commit(self) -> None:
        self._undo.clear()

    def rollback(self) -> None:
        while self._undo:
            self._undo.pop()()
