"""Two stores on one clock, asked the same."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from roost.core.effects import Effect, Effects, KillInput, MoveInput, RequeueRun
from roost.core.errors import RoostError
from roost.core.inbound import InputMode
from roost.core.keys import SessionKey
from roost.core.leases import Gateway, Lease
from roost.core.runs import Claim, RunState
from roost.core.snapshots import RunSnapshot
from roost.ports import Store
from roost.stores.memory import MemoryStore
from roost.stores.sqlite import SqliteStore
from roost.stores.sqlite.store import SqliteOptions
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import FakeClock
from tests.contract import dumps, pools, scenes
from tests.contract.scenes import Seen
from tests.grounds import laid

Answer = TypeVar("Answer")
Made = TypeVar("Made")
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

    def _change(self, *effects: Effect) -> None:
        decide = scenes.always(*effects)
        self._both(lambda store: store.change_session(MAIN, decide))

    def _seen(self, verb: Callable[[Store, Seen[Any, Made]], Awaitable[object]], answer: Made) -> None:
        """The same for a verb that decides: also what the decision was shown."""

        async def watched(store: Store) -> object:
            seen = Seen[Any, Made](answer)
            return await verb(store, seen), seen.shown[-1:]

        self._both(watched)

    def _claim(self, age: int) -> Claim:
        return self._claims[max(0, len(self._claims) - 1 - age)]


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
