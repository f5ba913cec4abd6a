"""Starts runs as there is room for them: one at a time a session, fair between those who asked."""

import logging
from contextlib import suppress
from dataclasses import replace

import anyio
from anyio.abc import TaskGroup

from roost.core.errors import RoostError
from roost.core.leases import Lease
from roost.core.runs import Claim, Run
from roost.core.turntaking import PER_ASKER, Backlog, asker, choose
from roost.engine.intake import Intake, Source
from roost.engine.rulebook import Rulebook
from roost.engine.runner import Runner
from roost.engine.tracing import traced
from roost.ports import Clock, Starter, Store, Topic, TopicKind

RUNS = Topic(TopicKind.RUNS)
DUE = Topic(TopicKind.RUNS_DUE)
POLL_MS = 500
REMEMBERED = 4_096
# Whoever holds a session lets go of it in a moment; one that does not is left to the next look.
HELD_LOOKS = 5

_log = logging.getLogger(__name__)


class Scheduler:
    def __init__(self, store: Store, clock: Clock, runner: Runner, book: Rulebook) -> None:
        self._store = store
        self._runner = runner
        self._turns: dict[str, int] = {}
        self._held_looks = 0
        self._held: set[Claim] = set()
        self._book = book
        self._intake: Intake[Run] = Intake(
            store, clock, DUE, most=book.current.limits.ceiling, poll_ms=POLL_MS
        )

    async def serve(self, lease: Lease, group: TaskGroup) -> None:
        """Start runs in a task group until cancelled."""

        async def claim(free: int) -> tuple[Run, ...]:
            own = lease.gateway.name
            limits, chosen = replace(self._book.current.limits, gateway=own), 0

            def chose(backlog: Backlog) -> tuple[str, ...]:
                nonlocal chosen
                # What was started at once and is not heard of yet has its place, too.
                coming = sum(_is_held(run, lease) and run.claim not in self._held for run in backlog.running)
                names = choose(backlog, limits=replace(limits, ceiling=free - coming), turns=self._turns)
                chosen = len(names)
                return names

            runs = await self._store.claim_runs(lease, chose)
            held = len(runs) < chosen and self._held_looks < HELD_LOOKS
            self._held_looks = self._held_looks + 1 if held else 0
            if held or len(runs) >= PER_ASKER:
                self._intake.look_again()
            return runs

        def begin(run: Run) -> None:
            self._had_turn(run)
            self._held.add(_claim(run))
            group.start_soon(self._run, run, name=f"run {run.id}")

        async def unclaim() -> None:
            for run in await self._store.unclaim_runs(lease, self._held):
                _log.warning("run %s was claimed unheard, and waits again", run.id, extra=traced(run))

        def chose_at_once(backlog: Backlog) -> tuple[str, ...]:
            limits = self._book.current.limits
            taken = sum(_is_held(run, lease) for run in backlog.running)
            free = min(self._intake.room, limits.ceiling - taken)
            return choose(backlog, limits=replace(limits, ceiling=free, gateway=lease.gateway.name))

        try:
            with self._store.starting(Starter(lease=lease, choose=chose_at_once, begin=self._intake.give)):
                await self._intake.serve(Source(claim=claim, begin=begin, unclaim=unclaim))
        finally:
            if self._store.exclusive:
                # What was started at once and comes too late to be begun must not age as if it were under way.
                with anyio.CancelScope(shield=True), suppress(RoostError):
                    for run in await self._store.unclaim_runs(lease, self._held):
                        _log.info(
                            "run %s came as this gateway left, and waits again", run.id, extra=traced(run)
                        )

    async def drain(self) -> None:
        """Start nothing more; return once nothing is under way."""
        self._intake.close()
        await self._intake.rest()

    def _had_turn(self, run: Run) -> None:
        name = asker(run)
        turn = 1 + next(reversed(self._turns.values()), 0)
        self._turns.pop(name, None)
        self._turns[name] = turn
        if len(self._turns) > REMEMBERED:
            del self._turns[next(iter(self._turns))]

    async def _run(self, run: Run) -> None:
        with self._intake.underway():
            try:
                await self._runner.run(run, self._intake.lent)
            except Exception:  # noqa: BLE001 — a run whose end cannot be kept holds its session, and no other
                _log.exception("run %s has no end; the next start gives it one", run.id, extra=traced(run))
            else:
                self._held.remove(_claim(run))


def _is_held(run: Run, lease: Lease) -> bool:
    """Whether a run keeps a place of a gateway's; one that waits for others leaves it to them."""
    own = (lease.gateway.name, lease.epoch)
    return not run.waiting and run.claim is not None and (run.claim.gateway, run.claim.epoch) == own


def _claim(run: Run) -> Claim:
    assert run.claim is not None, "what was started is claimed"
    return run.claim
