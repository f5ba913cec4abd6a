"""A gateway to which anything may happen, at the odds a test gives."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from random import Random

from roost.core.envelopes import Envelope
from roost.core.errors import Conflict, Fenced, Forbidden
from roost.core.keys import SessionKey
from roost.core.lifecycle import ResetPolicy
from roost.core.queries import SessionQuery
from roost.core.queuesettings import DropPolicy, QueueMode, QueuePolicy, QueueSettings
from roost.core.recovery import MAX_AGE_MS
from roost.core.runs import Run, RunState, Step, StepKind
from roost.testing.clock import FakeClock
from tests.flows.agents import send, spawn
from tests.flows.driver import Driver, House, Said, claim_of, dm, in_group
from tests.samples import HOUR
from tests.stops import stop

MINUTE = 60_000
CHATS: tuple[Callable[[str], Envelope], ...] = (
    lambda text: dm(text, "1"),
    lambda text: dm(text, "1", channel="discord"),
    lambda text: dm(text, "7"),
    lambda text: in_group(text, "7", name="Bob"),
    lambda text: in_group(text, "8", name="Eve"),
)
WORDS = ("hi", "hi", "NO_REPLY", "REPLY_SKIP", "ANNOUNCE_SKIP", None)
OPS = SessionKey.named("ops", "main")
ENDS = (RunState.DONE, RunState.DONE, RunState.FAILED, RunState.TIMEOUT, RunState.KILLED)

Happening = Callable[["Storm"], Awaitable[None]]
Odds = Mapping[Happening, int]


class Storm:
    """A gateway to which anything may happen."""

    def __init__(self, driver: Driver, clock: FakeClock, seed: int) -> None:
        self.driver, self.clock, self.chance = driver, clock, Random(seed)
        self.sent: list[str] = []
        self.running: dict[str, Run] = {}
        self.exchanges: list[str] = []
        self.yields = False

    async def happen(self, odds: Odds) -> None:
        self.clock.advance(self.chance.choice([0, 50, 400, 5_000]))
        (what,) = self.chance.choices(list(odds), list(odds.values()))
        await what(self)

    async def hear(self) -> None:
        driver, chance = self.driver, self.chance
        settings = QueueSettings(
            mode=chance.choice(list(QueueMode)),
            cap=chance.choice([1, 2, 5]),
            drop=chance.choice(list(DropPolicy)),
            debounce_ms=chance.choice([0, 500]),
        )
        driver.house = House(queue=QueuePolicy(base=settings), resets=ResetPolicy())
        start = chance.choice(["", "", "", "", "", "", "", "/new "])
        text = f"{start}number {len(self.sent):03}."
        record = (await driver.hear(chance.choice(CHATS)(text))).record
        self.sent.append(record.inbound.id)

    async def start(self) -> None:
        if run := await self.driver.start():
            self.running[run.id] = run

    async def take(self) -> None:
        if run := self._one():
            try:
                await self.driver.take(run)
            except Fenced:
                del self.running[run.id]
                await self._end(run, Said(state=RunState.KILLED))

    async def step(self) -> None:
        kind = self.chance.choice(list(StepKind))
        step = Step(
            kind=kind, at=self.clock.now(), tool="t", call_id="c", reenterable=self.chance.random() < 0.5
        )
        if run := self._one():
            try:
                await self.driver.store.begin_step(claim_of(run), step)
            except Fenced:
                del self.running[run.id]

    async def finish(self) -> None:
        if run := self._one():
            del self.running[run.id]
            state = self.chance.choice(ENDS)
            yielded = state is RunState.DONE and self.yields and self.chance.random() < 0.3
            await self._end(run, Said(text=self.chance.choice(WORDS), state=state, yielded=yielded))

    async def send(self) -> None:
        if (run := self._one()) and await self._holds(run):
            page = await self.driver.store.list_sessions(SessionQuery(limit=1000))
            target = self.chance.choice([OPS, *(row.key for row in page.rows)])
            with suppress(Forbidden):
                exchange = await send(self.driver, run, target, "x", self.chance.choice([0, 1, 5]))
                self.exchanges.append(exchange.id)

    async def spawn(self) -> None:
        run = self._one()
        if run and await self._holds(run) and (await self.driver.session(run.key)).lineage.depth < 3:
            # One that a newer message has asked to end may not any more.
            with suppress(Conflict):
                await spawn(self.driver, run, "look")
                self.yields = True

    async def stop(self) -> None:
        """What `/stop` does: what waits ends at once, and then the runs under way."""
        if run := self._one():
            told = await stop(self.driver.store, run.key, self.clock.now())
            for name in {run.id, *told} & self.running.keys():
                await self._end(self.running.pop(name), Said(state=RunState.KILLED))

    async def die(self) -> None:
        self.running.clear()
        self.clock.advance(self.chance.choice([0, 1_000, MAX_AGE_MS + 1]))
        await self.driver.recover()

    async def sleep(self) -> None:
        self.clock.advance(24 * HOUR)

    async def calm(self) -> None:
        """The gateway dies a last time; what is left is answered by the next one."""
        self.running.clear()
        await self.driver.recover()
        self.clock.advance(MINUTE)
        await self.driver.play(lambda run: Said(text="hi"))

    def _one(self) -> Run | None:
        return self.chance.choice(list(self.running.values())) if self.running else None

    async def _holds(self, run: Run) -> bool:
        found = await self.driver.store.run(run.id)
        return found is not None and found.claim == run.claim

    async def _end(self, run: Run, said: Said) -> None:
        try:
            await self.driver.finish(run, said)
        except Fenced:
            found = await self.driver.store.run(run.id)
            assert found is not None
            assert found.state.ended


PEOPLE: Odds = {
    Storm.hear: 40,
    Storm.start: 20,
    Storm.take: 14,
    Storm.step: 8,
    Storm.finish: 12,
    Storm.stop: 2,
    Storm.die: 3,
    Storm.sleep: 1,
}
AGENTS: Odds = {**PEOPLE, Storm.hear: 25, Storm.start: 30, Storm.send: 6, Storm.spawn: 6, Storm.die: 2}
