"""What is around conversations: channels, jobs, devices, guests, facts and upkeep."""

from dataclasses import replace
from operator import attrgetter

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from roost.core import devices, guests
from roost.core.addresses import Account
from roost.core.deliveries import DeliveryState, SendResult
from roost.core.devices import Issuer, PairingRequest
from roost.core.effects import AddDelivery, Effects
from roost.core.grants import EVERY
from roost.core.guests import Knock
from roost.core.jobs import Fired, Job
from roost.core.ledger import Denial, LedgerRow
from roost.core.principals import OWNER
from roost.core.queries import HistoryQuery, LedgerQuery, SearchQuery, SessionQuery
from roost.core.retention import Cutoffs
from roost.ports import Store
from tests.contract import pools, questions
from tests.contract.machine.twins import Twins
from tests.jobs import at_home

SELF = Issuer(principal=OWNER, scopes=EVERY)


class Surroundings(Twins):
    @rule(effect=pools.added(), limit=st.integers(0, 3))
    def deliver(self, effect: AddDelivery, limit: int) -> None:
        self._change(effect)
        taken = self._both(lambda store: store.claim_deliveries(self._lease(), limit))
        self._sends += [one.claim for one in taken or () if one.claim]

    @precondition(lambda self: self._sends)
    @rule(age=pools.ages, result=pools.results, state=st.sampled_from(DeliveryState), at=pools.moments)
    def settle(self, age: int, result: SendResult, state: DeliveryState, at: int) -> None:
        claim = self._sends[max(0, len(self._sends) - 1 - age)]
        seen = self._both(lambda store: store.delivery(claim.id))
        self._both(lambda store: store.settle_delivery(claim, result))
        if seen is not None:
            self._both(lambda store: store.resolve_delivery(seen, state, at))

    @rule(
        age=pools.ages, served=st.frozensets(pools.addresses.map(attrgetter("served_by"))), left=st.booleans()
    )
    def host(self, age: int, served: frozenset[Account], left: bool) -> None:
        if left:
            self._both(lambda store: store.leave_channels(self._lease(age)))
        self._both(lambda store: store.host_channels(self._lease(age), served))

    # -- jobs, devices and guests --------------------------------------------------------------------

    @rule(wanted=pools.jobs, gone=st.booleans())
    def plan(self, wanted: Job, gone: bool) -> None:
        self._seen(lambda store, seen: store.change_job(wanted.id, seen), None if gone else wanted)

    @rule(
        age=pools.ages,
        seen=pools.jobs,
        stale=st.booleans(),
        next_at=st.none() | pools.moments,
        effects=pools.several_effects,
    )
    def fire(self, age: int, seen: Job, stale: bool, next_at: int | None, effects: Effects) -> None:
        if not stale:
            self._both(lambda store: store.change_job(seen.id, lambda _: seen))
        fired = Fired(job=replace(seen, next_at=next_at), effects=effects)
        self._seen(lambda store, look: store.fire_job(self._lease(age), seen, at_home(seen), look), fired)

    @rule(wanted=pools.requests, approved=st.sampled_from(pools.REQUESTS), at=pools.moments)
    def pair(self, wanted: PairingRequest, approved: str, at: int) -> None:
        self._both(lambda store: store.change_devices(lambda known: devices.knock(known, wanted)))
        self._both(
            lambda store: store.change_devices(lambda known: devices.approve(known, approved, SELF, at))
        )

    @rule(name=st.sampled_from(pools.DEVICES))
    def unpair(self, name: str) -> None:
        self._both(lambda store: store.change_devices(lambda known: devices.remove(known, name)))

    @rule(wanted=pools.knocks, code=st.sampled_from(pools.CODES), at=pools.moments)
    def knock(self, wanted: Knock, code: str, at: int) -> None:
        self._both(lambda store: store.change_guests(lambda known: guests.knock(known, wanted)))
        self._both(lambda store: store.change_guests(lambda known: guests.admit(known, code, at)))

    @rule(name=st.sampled_from(pools.KNOCKS))
    def show_out(self, name: str) -> None:
        self._both(lambda store: store.change_guests(lambda known: guests.remove(known, name)))

    # -- facts, upkeep, questions --------------------------------------------------------------------

    @rule(row=pools.ledger_rows, denial=pools.denials)
    def note(self, row: LedgerRow, denial: Denial) -> None:
        self._both(lambda store: store.record_usage(row))
        self._both(lambda store: store.record_denial(denial))

    @rule(cutoffs=questions.cutoffs, mended=st.booleans())
    def sweep(self, cutoffs: Cutoffs, mended: bool) -> None:
        dry = self._both(lambda store: store.sweep(cutoffs, dry_run=True))
        assert self._both(lambda store: store.sweep(cutoffs)) == dry
        # How much space there is to give back is a database's own.
        self._both(_given_back)
        if mended:
            assert self._both(lambda store: store.repair()) == ()

    @rule(
        listed=questions.session_queries,
        totals=questions.ledger_queries,
        history=questions.history_queries,
        search=questions.search_queries,
    )
    def ask(
        self, listed: SessionQuery, totals: LedgerQuery, history: HistoryQuery, search: SearchQuery
    ) -> None:
        self._both(lambda store: store.list_sessions(listed))
        self._both(lambda store: store.glances(listed))
        self._both(lambda store: store.usage(totals))
        self._both(lambda store: store.history(history))
        self._both(lambda store: store.search(search))
        self._compare()


async def _given_back(store: Store) -> None:
    await store.give_back()
