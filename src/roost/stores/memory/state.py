"""Every row in memory, and the way back to the last commit."""

from itertools import count

from roost.core.addresses import Account, Address
from roost.core.budgets import Balance, Reservation
from roost.core.deliveries import Delivery
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
from roost.stores.memory.rows import Records, Rows, Undo
from roost.stores.tables import Registered


class State:
    """Rows of frozen values: what a caller holds can never change what is stored."""

    def __init__(self, database_clock: Clock) -> None:
        self._clock = database_clock
        self._undo: Undo = []
        self._leases: Records[str, Lease] = Records(self._undo)
        self._hostings: Records[Account, Hosting] = Records(self._undo)
        self._registered: Records[str, Registered] = Records(self._undo)
        self._sessions: Records[SessionKey, Session] = Records(self._undo)
        self._lineage: Rows[SessionKey, tuple[SessionKey, ...]] = Rows(self._undo)
        self._trees: Rows[SessionKey, tuple[SessionKey, ...]] = Rows(self._undo)
        self._participants: Rows[SessionKey, frozenset[Principal]] = Rows(self._undo)
        self._ended_feeds: Rows[SessionKey, int] = Rows(self._undo)
        self._generations: Records[str, Generation] = Records(self._undo)
        self._entries: Records[tuple[str, int], Entry] = Records(self._undo)
        self._inbound: Records[str, InboundRecord] = Records(self._undo)
        self._runs: Records[str, Run] = Records(self._undo)
        self._exchanges: Records[str, Exchange] = Records(self._undo)
        self._completions: Records[str, Completion] = Records(self._undo)
        self._bindings: Records[Address, ThreadBinding] = Records(self._undo)
        self._points: Records[tuple[SessionKey, str], Point] = Records(self._undo)
        self._jobs: Records[str, Job] = Records(self._undo)
        self._firings: Records[str, Firing] = Records(self._undo)
        self._deliveries: Records[str, Delivery] = Records(self._undo)
        self._ledger: Records[str, LedgerRow] = Records(self._undo)
        self._balances: Records[str, Balance] = Records(self._undo)
        self._reservations: Records[str, Reservation] = Records(self._undo)
        self._denials: Records[int, Denial] = Records(self._undo)
        self._denied = count()
        self._events: Records[tuple[SessionKey, int], Event] = Records(self._undo)

    def commit(self) -> None:
        self._undo.clear()

    def rollback(self) -> None:
        while self._undo:
            self._undo.pop()()
