"""A gateway that dies at any moment: no message is lost or answered twice, and every run has one fate."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import anyio
import pytest

from roost.clock import SystemClock
from roost.core.addresses import Account
from roost.core.deliveries import Delivery, DeliveryKind, DeliveryState
from roost.core.errors import Fenced, WriteUnknown
from roost.core.inbound import InboundRecord, InboundState
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.messages import AssistantMessage, ToolResult, UserMessage, text_of
from roost.core.notices import INTERRUPTED_LINE
from roost.core.principals import OWNER
from roost.core.queries import HistoryQuery, SessionQuery
from roost.core.recovery import MAX_AGE_MS, OUTCOME_UNKNOWN
from roost.core.runs import Run, RunState, Step, StepKind
from roost.core.sendpolicy import Judge, anything
from roost.core.turntaking import Choose
from roost.core.visibility import PersonCaller
from roost.ports import Clock, Starter
from roost.stores.memory import MemoryStore
from roost.testing.builders import MAIN, called
from roost.testing.clock import FakeClock
from roost.testing.scripts import Hang, Say
from tests.flows.driver import Driver, House, Said, claim_of, dm
from tests.flows.gateways import ADA, Bench, benches, place
from tests.flows.storm import PEOPLE, Storm
from tests.scale import seeds

Found = TypeVar("Found")


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


@pytest.mark.requirement("P3")
@pytest.mark.parametrize("seed", seeds(2, 20))
async def test_of_500_messages_each_comes_to_one_end(driver: Driver, clock: FakeClock, seed: int) -> None:
    storm = Storm(driver, clock, seed)
    while len(storm.sent) < 500:
        await storm.happen(PEOPLE)
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


class Deaf(MemoryStore):
    """Writes the first claim of each kind, and does not hear that it did."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.unheard: list[str] = []

    @contextmanager
    def starting(self, starter: Starter) -> Iterator[None]:
        """It leaves every run to who claims it."""
        yield

    async def claim_runs(self, lease: Lease, choose: Choose) -> tuple[Run, ...]:
        return self._heard("runs", await super().claim_runs(lease, choose))

    async def claim_deliveries(
        self, lease: Lease, limit: int, *, judge: Judge = anything, without: frozenset[Account] = frozenset()
    ) -> tuple[Delivery, ...]:
        taken = await super().claim_deliveries(lease, limit, judge=judge, without=without)
        return self._heard("deliveries", taken)

    def _heard(self, kind: str, claimed: tuple[Found, ...]) -> tuple[Found, ...]:
        if claimed and kind not in self.unheard:
            self.unheard.append(kind)
            raise WriteUnknown("the server was lost while it was writing")
        return claimed


@pytest.mark.requirement("P3")
async def test_what_was_claimed_unheard_is_answered_once_while_the_gateway_goes_on() -> None:
    clock = SystemClock()
    store = Deaf(clock)
    bench = Bench(store, clock)
    bench.model.add((Say("hello"),))
    with anyio.fail_after(60):
        async with bench.serving() as (engine, _):
            await bench.say("hi")
            assert await bench.replies() == ("hello",)
            await engine.settled()
            assert store.unheard == ["runs", "deliveries"]
            assert bench.channel.replies(place(ADA)) == ("hello",)
            assert len(bench.model.requests) == 1


@pytest.mark.requirement("P10")
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_what_others_said_meanwhile_leaves_a_message_to_be_answered(kind: str, tmp_path: Path) -> None:
    async with benches(kind, tmp_path) as bench:
        bench.model.add((Hang(),))
        async with bench.serving("first") as (engine, _):
            await bench.say("are you there?")
            await bench.model.asked(1)
            await engine.operations.note(PersonCaller(principal=OWNER), MAIN, "He is on his way.")
        bench.model.add((Say("Yes."),))
        async with bench.serving("second"):
            assert await bench.replies() == ("Yes.",)
        assert "not answered yet" in text_of(bench.model.requests[-1].messages[-1])
