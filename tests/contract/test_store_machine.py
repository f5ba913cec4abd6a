"""Random verbs on the reference store and on every other side by side: the same answers, the same state."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from roost.core import parking
from roost.core.addresses import Address
from roost.core.budgets import Ask, Budgets, BudgetScope, Limit, Measure, Spender, accounts
from roost.core.deliveries import DeliveryState, SendResult
from roost.core.effects import (
    AcceptInput,
    AddDelivery,
    ChangeSession,
    Effect,
    Effects,
    KillInput,
    MoveInput,
    OpenGeneration,
    RequeueRun,
)
from roost.core.entries import EntryDraft
from roost.core.errors import RoostError
from roost.core.imports import ImportedSession
from roost.core.inbound import Inbound, InputMode
from roost.core.keys import SessionKey
from roost.core.leases import Gateway, Lease
from roost.core.ledger import Denial, LedgerRow
from roost.core.queries import HistoryQuery, LedgerQuery, SearchQuery, SessionQuery
from roost.core.retention import Cutoffs
from roost.core.runs import Claim, Lane, Outcome, RunState, Step
from roost.core.snapshots import RunSnapshot, Snapshot
from roost.core.turntaking import Limits, choose
from roost.ports import Store
from roost.stores.memory import MemoryStore
from roost.stores.postgres import PostgresStore
from roost.stores.sqlite import SqliteStore
from roost.stores.sqlite.store import SqliteOptions
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import FakeClock
from tests import postgres
from tests.contract import dumps, pools, scenes
from tests.grounds import laid
from tests.scale import examples

Answer = TypeVar("Answer")
GATEWAYS = (Gateway(name="first", holder="process-1"), Gateway(name="second", holder="process-2"))
QUICK = SqliteOptions(synchronous="OFF", readers=1)


@dataclass(frozen=True, slots=True)
class Refused:
    """A verb that raised; two stores agree when they raise the same kind."""

    kind: type[RoostError]


class Twins(RuleBasedStateMachine):
    """The reference and SQLite on one clock. Claims and leases of the past are kept, to be tried again."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = TemporaryDirectory()
        self._path = Path(self._folder.name) / "roost.db"
        self._runner = asyncio.Runner()
        self._clock = FakeClock()
        self._reference: Store = MemoryStore(self._clock)
        self._twin: Store = self._runner.run(self._opened())
        self._leases: list[Lease] = []
        self._claims: list[Claim] = []
        self._sends: list[Claim] = []

    async def _opened(self) -> Store:
        return SqliteStore.open(laid(self._path), self._clock, options=QUICK)

    def teardown(self) -> None:
        try:
            self._compare()
        finally:
            self._runner.run(self._twin.close())
            self._runner.close()
            self._folder.cleanup()

    def _both(self, verb: Callable[[Store], Awaitable[Answer]]) -> Answer | None:
        """The answer of both stores, which is the same; None if both refused."""
        expected, found = self._runner.run(self._ask_both(verb))
        assert found == expected
        return None if isinstance(expected, Refused) else expected

    async def _ask_both(
        self, verb: Callable[[Store], Awaitable[Answer]]
    ) -> tuple[Answer | Refused, Answer | Refused]:
        return await _ask(self._reference, verb), await _ask(self._twin, verb)

    def _compare(self) -> None:
        state = self._both(dumps.dump)
        assert state is not None
        assert dumps.broken_laws(state) == []
        assert self._both(lambda store: store.check()) == ()

    # -- time and ownership --------------------------------------------------------------------------

    @initialize(opened=st.sets(st.sampled_from(pools.KEYS), min_size=4))
    def begin(self, opened: set[SessionKey]) -> None:
        self._acquire(GATEWAYS[0])
        for key in sorted(opened, key=str):
            row = builders.session(key, parent=pools.PARENTS.get(key))
            self._change(builders.opening(row, f"first of {key}"))

    @rule(
        milliseconds=st.sampled_from((1, 60, 3_000, 10_000)),
        taker=st.sampled_from((None, None, None, *GATEWAYS)),
        released=st.booleans(),
        restarted=st.booleans(),
    )
    def wait(self, milliseconds: int, taker: Gateway | None, released: bool, restarted: bool) -> None:
        """Time passes; the owner goes on, begins anew, or another takes over."""
        self._clock.advance(milliseconds)
        owner = self._lease().gateway
        if restarted:
            self._runner.run(self._twin.close())
            self._twin = self._runner.run(self._opened())
            self._acquire(owner)
        if taker and released:
            self._both(lambda store: store.release_lease(self._lease()))
        if taker or self._both(lambda store: store.renew_lease(self._lease())) is None:
            self._acquire(taker or owner)

    @rule(again=st.booleans(), age=pools.ages)
    def recover(self, again: bool, age: int) -> None:
        def fate(snapshot: RunSnapshot) -> Effects:
            run = snapshot.run
            if again:
                return (RequeueRun(run_id=run.id, ready_at=self._clock.now(), progress=run.progress),)
            return (*pass_on(snapshot), builders.done(run.id, state=RunState.INTERRUPTED))

        self._both(lambda store: store.reap_runs(self._lease(age), fate))
        self._both(lambda store: store.reap_deliveries(self._lease(age)))

    @precondition(lambda self: len(self._leases) > 1)
    @rule(age=st.integers(1, 3))
    def use_a_lost_lease(self, age: int) -> None:
        lost = self._lease(age)
        self._both(lambda store: store.renew_lease(lost))
        self._both(lambda store: store.claim_runs(lost, scenes.everything))
        self._both(lambda store: store.claim_deliveries(lost, 2))
        self._both(lambda store: store.release_lease(lost))

    def _lease(self, age: int = 0) -> Lease:
        return self._leases[max(0, len(self._leases) - 1 - age)]

    def _acquire(self, gateway: Gateway) -> None:
        lease = self._both(lambda store: store.acquire_lease(gateway))
        self._leases += [lease] if lease else []

    # -- sessions ------------------------------------------------------------------------------------

    def _change(self, *effects: Effect) -> None:
        decide = scenes.always(*effects)
        self._both(lambda store: store.change_session(MAIN, decide))

    @rule(effects=pools.several_effects)
    def change(self, effects: Effects) -> None:
        self._change(*effects)

    @rule(effect=pools.effects)
    def change_one_thing(self, effect: Effect) -> None:
        self._change(effect)

    @rule(
        key=pools.keys,
        drafts=pools.drafts(),
        address=pools.addresses,
        name=st.none() | st.sampled_from(pools.GENERATIONS),
        archived=st.booleans(),
    )
    def write(
        self,
        key: SessionKey,
        drafts: tuple[EntryDraft, ...],
        address: Address,
        name: str | None,
        archived: bool,
    ) -> None:
        def reset(snapshot: Snapshot) -> Effects:
            if snapshot.generation is None or name is None:
                return ()
            number = snapshot.generation.number + 1
            generation = builders.generation(key, name, number, at=self._clock.now())
            return (OpenGeneration(generation=replace(generation, archived=archived)),)

        self._both(lambda store: store.change_session(key, reset))
        self._both(lambda store: store.append(key, drafts))
        moved = ChangeSession(key=key, route=address)
        self._both(lambda store: store.change_session(key, lambda _: (moved,)))

    @rule(imported=pools.imports())
    def bring_in(self, imported: ImportedSession) -> None:
        self._both(lambda store: store.import_session(imported))

    # -- messages and runs ---------------------------------------------------------------------------

    @rule(
        message=pools.inbound(),
        run_id=pools.runs,
        name=st.sampled_from(pools.GENERATIONS),
        ceiling=st.integers(0, 3),
    )
    def start(self, message: Inbound, run_id: str, name: str, ceiling: int) -> None:
        self._both(lambda store: store.accept_inbound(message, builders.accept(message, run_id, name)))
        limits = Limits(ceiling=ceiling, lanes={Lane.MAIN: 3})
        claimed = self._both(
            lambda store: store.claim_runs(self._lease(), lambda backlog: choose(backlog, limits))
        )
        self._claims += [scenes.claim_of(run) for run in claimed or ()]

    @rule(message=pools.inbound(), mode=pools.modes)
    def join(self, message: Inbound, mode: InputMode) -> None:
        def decide(snapshot: Snapshot) -> Effects:
            runs = (snapshot.running, *snapshot.queued)
            seat = next((run for run in runs if run), None)
            if seat is None:
                return (KillInput(inbound_id=message.id, reason="nobody", inbound=message),)
            return (AcceptInput(inbound=message, run_id=seat.id, mode=mode),)

        self._both(lambda store: store.accept_inbound(message, decide))

    @precondition(lambda self: self._claims)
    @rule(age=pools.ages, step=pools.steps, drafts=pools.drafts(), astray=pools.rare_keys)
    def work(self, age: int, step: Step, drafts: tuple[EntryDraft, ...], astray: SessionKey | None) -> None:
        claim = self._claim(age)

        async def speak(store: Store) -> object:
            run = await store.run(claim.id)
            return await store.append(astray or (run.key if run else MAIN), drafts, claim=claim)

        self._both(lambda store: store.take_inputs(claim, scenes.as_entries))
        self._both(lambda store: store.begin_step(claim, step))
        self._both(speak)

    @precondition(lambda self: self._claims)
    @rule(age=pools.ages, outcome=pools.outcomes, more=pools.several_effects, plain=st.booleans())
    def finish(self, age: int, outcome: Outcome, more: Effects, plain: bool) -> None:
        claim = self._claim(age)

        def advance(snapshot: RunSnapshot) -> Effects:
            ended = replace(builders.done(claim.id), outcome=outcome)
            return (*pass_on(snapshot), ended, *(() if plain else more))

        self._both(lambda store: store.finish_run(claim, advance))

    @precondition(lambda self: self._claims)
    @rule(age=pools.ages, row=pools.ledger_rows, hard=st.integers(5, 60), released=st.booleans())
    def spend(self, age: int, row: LedgerRow, hard: int, released: bool) -> None:
        claim = self._claim(age)
        limits = tuple(
            Limit(scope=scope, measure=Measure.TOKENS, soft=5, hard=hard)
            for scope in (BudgetScope.PERSON, BudgetScope.DAY)
        )
        spender = Spender(key=row.key, root=row.key, principal=row.principal)
        ask = Ask(
            accounts=accounts(Budgets(limits=limits), spender, self._clock.now()),
            row=replace(row, run_id=claim.id, at=self._clock.now(), estimated=True),
            priced=True,
        )
        decide = partial(parking.rule, ask=ask, address=pools.ADDRESSES[0])
        self._both(lambda store: store.reserve(claim, ask.names, decide))
        if released:
            self._both(lambda store: store.release(row.id))

    @rule(age=pools.ages)
    def wake(self, age: int) -> None:
        self._both(lambda store: store.wake_parked(self._lease(age)))

    def _claim(self, age: int) -> Claim:
        return self._claims[max(0, len(self._claims) - 1 - age)]

    # -- deliveries ----------------------------------------------------------------------------------

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

    # -- facts, upkeep, questions --------------------------------------------------------------------

    @rule(row=pools.ledger_rows, denial=pools.denials)
    def note(self, row: LedgerRow, denial: Denial) -> None:
        self._both(lambda store: store.record_usage(row))
        self._both(lambda store: store.record_denial(denial))

    @rule(cutoffs=pools.cutoffs)
    def sweep(self, cutoffs: Cutoffs) -> None:
        dry = self._both(lambda store: store.sweep(cutoffs, dry_run=True))
        assert self._both(lambda store: store.sweep(cutoffs)) == dry

    @rule(
        listed=pools.session_queries,
        totals=pools.ledger_queries,
        history=pools.history_queries,
        search=pools.search_queries,
    )
    def ask(
        self, listed: SessionQuery, totals: LedgerQuery, history: HistoryQuery, search: SearchQuery
    ) -> None:
        self._both(lambda store: store.list_sessions(listed))
        self._both(lambda store: store.usage(totals))
        self._both(lambda store: store.history(history))
        self._both(lambda store: store.search(search))
        self._compare()


async def _ask(store: Store, verb: Callable[[Store], Awaitable[Answer]]) -> Answer | Refused:
    try:
        return await verb(store)
    except RoostError as error:
        return Refused(type(error))


def pass_on(snapshot: RunSnapshot) -> Effects:
    """What a run did not take goes to the next one, or dies."""
    left = [record for record in snapshot.session.pending if record.run_id == snapshot.run.id]
    heir = next(iter(snapshot.session.queued), None)
    if heir is None:
        return tuple(KillInput(inbound_id=record.inbound.id, reason="ended") for record in left)
    return tuple(
        MoveInput(inbound_id=record.inbound.id, run_id=heir.id, mode=InputMode.OPEN) for record in left
    )


Twins.TestCase.settings = settings(
    max_examples=examples(20, 300), stateful_step_count=60, deadline=None, print_blob=True
)
TestTwins = pytest.mark.timeout(1_800)(Twins.TestCase)


class SharedMemory(MemoryStore):
    """The reference for a store that every gateway writes."""

    exclusive = False


class PostgresTwins(Twins):
    address: str

    def __init__(self) -> None:
        super().__init__()
        self._reference = SharedMemory(self._clock)
        self._runner.run(postgres.empty(self.address))

    async def _opened(self) -> Store:
        return await PostgresStore.open(self.address, self._clock, database_clock=self._clock)


@pytest.mark.timeout(1_800)
def test_postgresql_answers_as_the_reference_does(postgres_server: str) -> None:
    run_state_machine_as_test(
        type("OnThisServer", (PostgresTwins,), {"address": postgres_server}),
        settings=settings(
            max_examples=examples(3, 100),
            stateful_step_count=examples(30, 60),
            deadline=None,
            print_blob=True,
        ),
    )
