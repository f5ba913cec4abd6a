"""Several gateways on one store, played on a clock of their own: how they claim, keep and take over runs.

Everything that happens follows from a seed. A call may take its time before the store hears of it and before its caller
hears of the answer; a process may end or stand still in between, as long as it likes. The verbs are the store's own.
"""

import heapq
from collections.abc import Awaitable, Callable, Coroutine, Generator
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from random import Random
from types import coroutine
from typing import Any, TypeVar

from roost.core import recovery
from roost.core.announce import announcement
from roost.core.effects import AppendEntries, Effects
from roost.core.entries import EntryDraft
from roost.core.errors import Fenced
from roost.core.inbound import InboundRecord
from roost.core.keys import SessionKey
from roost.core.leases import LEASE_MS, RENEW_MS, Gateway, Lease
from roost.core.recovery import Recovery
from roost.core.runs import Run, RunState, Step, StepKind
from roost.core.snapshots import RunSnapshot
from roost.core.turntaking import Limits, choose
from roost.engine.recoverer import LOOK_MS
from roost.engine.scheduler import POLL_MS
from roost.ports import Store
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.clock import FakeClock

Answer = TypeVar("Answer")

GATEWAYS = ("ada", "ben", "cleo")
SESSIONS = 2
MESSAGES = 5
STORMY_MS = 20_000
LONGEST_MS = 600_000
PICK = partial(choose, limits=Limits(ceiling=2))


class DoubleRun(AssertionError):
    """Somebody wrote to a run that another had claimed since."""


class LostRun(AssertionError):
    """A run that nobody brings to its end, or a message in no transcript."""


class SharedMemory(MemoryStore):
    """A store that every gateway writes."""

    exclusive = False


@dataclass(slots=True)
class Process:
    """One life of a gateway."""

    name: str
    number: int
    alive: bool = True
    still_until: int = 0


@dataclass(slots=True)
class Strand:
    """Something that is done step by step, in a process or beside all of them."""

    steps: Coroutine[Any, Any, None]
    process: Process | None = None


@coroutine
def pause(milliseconds: int) -> Generator[int, None, None]:
    yield milliseconds


@dataclass
class Simulation:
    """`store` is what gateways use; the rows are those of `rows`."""

    seed: int
    clock: FakeClock = field(default_factory=FakeClock)
    wrap: Callable[[Store], Store] = lambda store: store
    done: bool = False
    newest: dict[str, int] = field(default_factory=dict)
    processes: dict[str, Process] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.chance = Random(self.seed)
        self.rows = SharedMemory(self.clock)
        self.store = self.wrap(self.rows)
        self._began = self.clock.now()
        self._due: list[tuple[int, int, Strand]] = []
        self._order = count()
        self._lives = count(1)

    # -- time ----------------------------------------------------------------------------------------

    @property
    def elapsed(self) -> int:
        return self.clock.now() - self._began

    def begin(
        self, steps: Coroutine[Any, Any, None], process: Process | None = None, *, after: int = 0
    ) -> None:
        self._again(Strand(steps, process), after)

    def play(self) -> None:
        """Until every message has come to its end."""
        for name in GATEWAYS:
            self.begin(self._live(self._born(name)), self.processes[name])
        self.begin(self._people())
        self.begin(self._weather())
        self.begin(self._watch())
        try:
            while not self.done:
                at, _, strand = heapq.heappop(self._due)
                self.clock.advance(max(0, at - self.clock.now()))
                self._step(strand)
        finally:
            for _, _, strand in self._due:
                strand.steps.close()

    def _step(self, strand: Strand) -> None:
        process = strand.process
        if process is not None and not process.alive:
            strand.steps.close()
        elif process is not None and process.still_until > self.clock.now():
            self._again(strand, process.still_until - self.clock.now())
        else:
            try:
                asked = strand.steps.send(None)
            except StopIteration:
                return
            # A verb gives way before it begins: others may come first.
            self._again(strand, self.chance.randrange(3) if asked is None else asked)

    def _again(self, strand: Strand, after: int) -> None:
        heapq.heappush(self._due, (self.clock.now() + after, next(self._order), strand))

    def _delay(self) -> int:
        """How long a message is on its way: hardly ever long, now and then longer than a lease."""
        longest = self.chance.choices((5, 200, 3_000, 2 * LEASE_MS), (80, 15, 4, 1))[0]
        return self.chance.randrange(longest)

    async def call(self, verb: Callable[[], Awaitable[Answer]], wrote: Run | None = None) -> Answer:
        await pause(self._delay())
        answer = await verb()
        if wrote is not None:
            self._note(wrote)
        await pause(self._delay())
        return answer

    # -- a gateway -----------------------------------------------------------------------------------

    def _born(self, name: str) -> Process:
        process = self.processes[name] = Process(name, next(self._lives))
        return process

    def _die(self, process: Process) -> None:
        """It is started again after a while, under its name."""
        if process.alive:
            process.alive = False
            born = self._born(process.name)
            self.begin(self._live(born), born, after=self.chance.randrange(2 * LEASE_MS))

    async def _live(self, process: Process) -> None:
        gateway = Gateway(name=process.name, holder=str(process.number))
        lease = await self.call(partial(self.store.acquire_lease, gateway))
        for part in (self._renew, self._take_over, self._schedule):
            self.begin(self._until_fenced(process, partial(part, process, lease)), process)

    async def _until_fenced(self, process: Process, part: Callable[[], Awaitable[None]]) -> None:
        """Who lost the lease ends, with all its parts."""
        try:
            await part()
        except Fenced:
            self._die(process)

    async def _renew(self, process: Process, lease: Lease) -> None:
        while True:
            lease = await self.call(partial(self.store.renew_lease, lease))
            await pause(RENEW_MS)

    async def _take_over(self, process: Process, lease: Lease) -> None:
        while True:
            decided = Recovery(now=self.clock.now(), announce=announcement)
            recover = partial(recovery.recover, recovery=decided)
            await self.call(partial(self.store.reap_runs, lease, recover))
            await pause(LOOK_MS)

    async def _schedule(self, process: Process, lease: Lease) -> None:
        while True:
            for run in await self._claimed(lease):
                self.begin(self._until_dropped(run), process)
            await pause(POLL_MS)

    async def _claimed(self, lease: Lease) -> tuple[Run, ...]:
        await pause(self._delay())
        runs = await self.store.claim_runs(lease, PICK)
        for run in runs:
            self._note(run)
        await pause(self._delay())
        return runs

    async def _until_dropped(self, run: Run) -> None:
        try:
            await self._play(run)
        except Fenced:
            return

    async def _play(self, run: Run) -> None:
        claim = run.claim
        assert claim is not None

        def render(records: tuple[InboundRecord, ...]) -> tuple[EntryDraft, ...]:
            return tuple(builders.said(record.inbound.id, "words") for record in records)

        def advance(snapshot: RunSnapshot) -> Effects:
            answer = builders.answered(f"{run.id} by {run.fence}", "words")
            return (AppendEntries(key=run.key, drafts=(answer,)), builders.done(run.id))

        await self.call(partial(self.store.take_inputs, claim, render), run)
        step = Step(kind=StepKind.MODEL, at=self.clock.now())
        await self.call(partial(self.store.begin_step, claim, step), run)
        await pause(self.chance.randrange(3_000))
        await self.call(partial(self.store.finish_run, claim, advance), run)

    def _note(self, run: Run) -> None:
        """Something was written under a claim."""
        if run.fence < self.newest.get(run.id, 0):
            raise DoubleRun(f"seed {self.seed}: {run.id} by {run.fence}, claimed as {self.newest[run.id]}")
        self.newest[run.id] = run.fence

    # -- around them ---------------------------------------------------------------------------------

    async def _people(self) -> None:
        for number in range(MESSAGES):
            await pause(self.chance.randrange(2 * STORMY_MS // MESSAGES))
            message = builders.inbound(f"m{number}", key_of(number), at=self.clock.now())
            decide = builders.accept(message, f"r{number}", f"s{number % SESSIONS}")
            await self.rows.accept_inbound(message, decide)

    async def _weather(self) -> None:
        while self.elapsed < STORMY_MS:
            await pause(self.chance.randrange(5_000))
            process = self.processes[self.chance.choice(GATEWAYS)]
            if self.chance.random() < 0.5:
                self._die(process)
            else:
                process.still_until = self.clock.now() + self.chance.randrange(3 * LEASE_MS)

    async def _watch(self) -> None:
        open_runs = {f"r{number}" for number in range(MESSAGES)}
        while open_runs:
            await pause(1_000)
            for name in sorted(open_runs):
                run = await self.rows.run(name)
                if run is not None and run.state.ended:
                    open_runs.discard(name)
            if self.elapsed > LONGEST_MS:
                raise LostRun(f"seed {self.seed}: {sorted(open_runs)}")
        await self._judge()
        self.done = True

    async def _judge(self) -> None:
        """Each message stands in its transcript once, in the order in which they were said, with one answer at most."""
        for session in range(SESSIONS):
            numbers = range(session, MESSAGES, SESSIONS)
            runs = [await self.rows.run(f"r{number}") for number in numbers]
            said = [entry.id for entry in await self.rows.entries(f"s{session}")]
            expected = []
            for number, run in zip(numbers, runs, strict=True):
                record = await self.rows.inbound(f"m{number}")
                assert run is not None
                assert record is not None
                taken = f"m{number}" in said
                if not taken and not record.reason:
                    raise LostRun(f"seed {self.seed}: m{number} is in no transcript: {record}")
                expected += [f"m{number}"] if taken else []
                expected += [one for one in said if one.startswith(f"r{number} by ")][:1]
                answered = any(one.startswith(f"r{number} by ") for one in said)
                if (run.state is RunState.DONE) != answered:
                    raise LostRun(f"seed {self.seed}: r{number} is {run.state}")
            if said != expected:
                raise DoubleRun(f"seed {self.seed}: {said}, not {expected}")


def key_of(number: int) -> SessionKey:
    return SessionKey.named("main", f"room-{number % SESSIONS}")
