"""A gateway that dies at any moment: no message is lost or answered twice, and every run has one fate."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from roost.core import queueing
from roost.core.deliveries import DeliveryKind, DeliveryState
from roost.core.envelopes import Envelope
from roost.core.errors import Fenced
from roost.core.inbound import InboundRecord, InboundState
from roost.core.keys import SessionKey
from roost.core.lifecycle import ResetPolicy
from roost.core.messages import AssistantMessage, ToolResult, UserMessage, text_of
from roost.core.notices import INTERRUPTED_LINE
from roost.core.queries import HistoryQuery, SessionQuery
from roost.core.queuesettings import DropPolicy, QueueMode, QueuePolicy, QueueSettings
from roost.core.recovery import MAX_AGE_MS, OUTCOME_UNKNOWN
from roost.core.runs import Run, RunState, Step, StepKind
from roost.testing.builders import MAIN, called
from roost.testing.clock import FakeClock
from tests.flows.driver import Driver, House, Said, claim_of, dm, in_group
from tests.samples import HOUR
from tests.scale import count

MINUTE = 60_000
CHATS: tuple[Callable[[str], Envelope], ...] = (
    lambda text: dm(text, "1"),
    lambda text: dm(text, "1", channel="discord"),
    lambda text: dm(text, "7"),
    lambda text: in_group(text, "7", name="Bob"),
    lambda text: in_group(text, "8", name="Eve"),
)
ENDS = (RunState.DONE, RunState.DONE, RunState.FAILED, RunState.TIMEOUT, RunState.KILLED)


class Storm:
    """A gateway to which anything may happen."""

    def __init__(self, driver: Driver, clock: FakeClock, seed: int) -> None:
        self.driver, self.clock, self.chance = driver, clock, Random(seed)
        self.sent: list[str] = []
        self.running: dict[str, Run] = {}

    async def happen(self, what: str) -> None:
        self.clock.advance(self.chance.choice([0, 50, 400, 5_000]))
        await getattr(self, what)()

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
            await self._end(run, Said(text="hi", state=self.chance.choice(ENDS)))

    async def stop(self) -> None:
        """What `/stop` does: the queue is emptied, then the run ends."""
        if run := self._one():
            del self.running[run.id]
            at = self.clock.now()
            await self.driver.store.change_session(run.key, lambda now: queueing.clear(now, at, "stopped"))
            await self._end(run, Said(state=RunState.KILLED))

    async def die(self) -> None:
        self.running.clear()
        self.clock.advance(self.chance.choice([0, 1_000, MAX_AGE_MS + 1]))
        await self.driver.recover()

    async def sleep(self) -> None:
        self.clock.advance(24 * HOUR)

    async def calm(self) -> None:
        """Everything that is left comes to its end."""
        while self.running:
            await self.take()
            await self.finish()
            self.clock.advance(MINUTE)
            await self.start()
        self.clock.advance(MINUTE)
        await self.driver.play(lambda run: Said(text="hi"))

    def _one(self) -> Run | None:
        return self.chance.choice(list(self.running.values())) if self.running else None

    async def _end(self, run: Run, said: Said) -> None:
        try:
            await self.driver.finish(run, said)
        except Fenced:
            found = await self.driver.store.run(run.id)
            assert found is not None
            assert found.state.ended


async def said_by_people(driver: Driver) -> list[str]:
    """Every user entry of every session, closed generations included."""
    page = await driver.store.list_sessions(SessionQuery(limit=1000))
    texts = []
    for session in page.rows:
        history = await driver.store.history(HistoryQuery(key=session.key, limit=10_000))
        texts += [text_of(entry.body) for entry in history.entries if isinstance(entry.body, UserMessage)]
    return texts


async def records(driver: Driver, names: list[str]) -> list[InboundRecord]:
    found = [await driver.store.inbound(name) for name in names]
    return [record for record in found if record is not None]


WHAT = ("hear", "start", "take", "step", "finish", "stop", "die", "sleep")
ODDS = (40, 20, 14, 8, 12, 2, 3, 1)


@pytest.mark.requirement("P3")
@pytest.mark.parametrize("seed", range(count(2, 20)))
async def test_of_500_messages_each_comes_to_one_end(driver: Driver, clock: FakeClock, seed: int) -> None:
    storm = Storm(driver, clock, seed)
    while len(storm.sent) < 500:
        (what,) = storm.chance.choices(WHAT, ODDS)
        await storm.happen(what)
    await storm.calm()
    ends = await records(driver, storm.sent)
    assert Counter(record.state for record in ends).total() == 500
    assert {record.state for record in ends} == {InboundState.TAKEN, InboundState.MERGED, InboundState.DEAD}
    shown = "\n".join(await said_by_people(driver))
    waiting = await driver.store.deliveries(DeliveryState.INTENT, 10_000)
    told = "\n".join(one.text for one in waiting if one.kind is DeliveryKind.NOTICE)
    by_id = {record.inbound.id: record for record in ends}
    for number, record in enumerate(ends):
        text = f"number {number:03}."
        dead, last = record.state is InboundState.DEAD, record
        while last.merged_into:
            last = by_id[last.merged_into]
        assert shown.count(text) == (last.state is InboundState.TAKEN), record
        assert told.count(text) == dead, record


async def running(driver: Driver, text: str = "hello") -> Run:
    await driver.hear(dm(text))
    run = await driver.started()
    await driver.take(run)
    return run


@pytest.mark.requirement("P10")
async def test_a_run_that_had_not_begun_is_simply_begun_again(driver: Driver) -> None:
    await driver.hear(dm("hello"))
    await driver.started()
    (requeued,) = await driver.recover()
    assert (requeued.state, requeued.progress.recoveries) == (RunState.QUEUED, 1)
    await driver.play(lambda run: Said(text="hi"))
    assert await driver.history(MAIN) == ["hello", "hi"]


@pytest.mark.requirement("P10", "P12")
async def test_a_lost_tool_call_is_told_to_the_model_and_the_run_goes_on(
    driver: Driver, clock: FakeClock
) -> None:
    run = await running(driver)
    await driver.store.append(MAIN, (called("call", "c1", "exec"),), claim=claim_of(run))
    step = Step(kind=StepKind.TOOL, at=clock.now(), tool="exec", call_id="c1")
    await driver.store.begin_step(claim_of(run), step)
    (requeued,) = await driver.recover()
    assert (requeued.state, requeued.progress.step) == (RunState.QUEUED, None)
    with pytest.raises(Fenced):
        await driver.finish(run, Said(text="from the dead"))
    await driver.play(lambda run: Said(text="done"))
    entries = await driver.store.entries((await driver.session(MAIN)).session_id)
    results = [entry.body for entry in entries if isinstance(entry.body, ToolResult)]
    assert [(text_of(result), result.is_error) for result in results] == [(OUTCOME_UNKNOWN, True)]
    assert (await driver.history(MAIN))[-1] == "done"


@pytest.mark.requirement("P10")
async def test_a_third_death_interrupts_the_run_and_its_chat_is_told_once(
    driver: Driver, clock: FakeClock
) -> None:
    run = await running(driver)
    for _ in range(2):
        step = Step(kind=StepKind.MODEL, at=clock.now())
        await driver.store.begin_step(claim_of(run), step)
        await driver.recover()
        run = await driver.started()
    (ended,) = await driver.recover()
    assert ended.state is RunState.INTERRUPTED
    assert await driver.recover() == ()
    (told,) = await driver.deliveries(DeliveryKind.NOTICE)
    assert (told.text, told.address) == (INTERRUPTED_LINE, ended.request.reply_to)


@pytest.mark.requirement("P3", "P10")
async def test_what_came_during_an_interrupted_run_is_answered_after_it(
    driver: Driver, clock: FakeClock
) -> None:
    await running(driver)
    await driver.hear(dm("are you there?"))
    clock.advance(MAX_AGE_MS + 1)
    await driver.recover()
    await driver.play(lambda run: Said(text="yes"))
    assert await driver.history(MAIN) == ["hello", "are you there?", "yes"]
    assert len(await driver.deliveries(DeliveryKind.NOTICE)) == 1


@pytest.mark.requirement("P5", "P10")
@pytest.mark.parametrize("back_in_the_queue", [True, False])
async def test_a_run_that_was_reset_away_leaves_no_word_in_the_new_generation(
    driver: Driver, clock: FakeClock, back_in_the_queue: bool
) -> None:
    run = await running(driver)
    await driver.store.append(MAIN, (called("call", "c1", "exec"),), claim=claim_of(run))
    step = Step(kind=StepKind.TOOL, at=clock.now(), tool="exec", call_id="c1")
    await driver.store.begin_step(claim_of(run), step)
    if back_in_the_queue:
        await driver.recover()
        await driver.let_in(dm("/new something else"))
    else:
        await driver.let_in(dm("/new something else"))
        (ended,) = await driver.recover()
        assert (ended.state, ended.outcome and ended.outcome.code) == (RunState.KILLED, "reset")
    await driver.play(lambda run: Said(text="hi"))
    fresh = await driver.store.entries((await driver.session(MAIN)).session_id)
    texts = [text_of(entry.body) for entry in fresh if isinstance(entry.body, UserMessage | AssistantMessage)]
    assert texts == ["something else", "hi"]
    assert len(fresh) == 2


@pytest.mark.requirement("P10")
async def test_a_hundred_runs_in_flight_have_a_hundred_fates(driver: Driver, clock: FakeClock) -> None:
    driver.house = House(rules=replace(driver.house.rules, dm_scope=driver.house.rules.dm_scope.PER_PEER))
    for number in range(100):
        await driver.hear(dm("hello", f"{1000 + number}"))
        run = await driver.started()
        if number % 2:
            await driver.take(run)
        if number % 3:
            await driver.store.begin_step(claim_of(run), Step(kind=StepKind.MODEL, at=clock.now()))
    fates = await driver.recover()
    assert Counter(run.state for run in fates) == {RunState.QUEUED: 100}
    assert await driver.recover() == ()
    ended = await driver.play(lambda run: Said(text="hi"))
    assert len(ended) == 100
    for number in range(100):
        key = SessionKey.parse(f"agent:main:direct:{1000 + number}")
        assert await driver.history(key) == ["hello", "hi"]
