"""Limits on what models may cost, from a message to its answer: never passed, told once, lifted when they rise."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from roost.core.budgets import BudgetScope, Limit, Measure, Period
from roost.core.effects import QueueRun
from roost.core.envelopes import Sender
from roost.core.keys import SessionKey
from roost.core.lifecycle import ResetMode, ResetPolicy, ResetSetting
from roost.core.messages import AssistantMessage, ToolCall, ToolResult, Usage, UserMessage, text_of
from roost.core.models import FailureKind, ModelRequest, Prices
from roost.core.pricing import cost_micros
from roost.core.principals import OWNER
from roost.core.queries import HistoryQuery, LedgerQuery
from roost.core.queuesettings import QueueMode, QueuePolicy, QueueSettings
from roost.core.routing import RoutingRules
from roost.core.runs import Request, Run
from roost.core.scopes import DmScope
from roost.core.sessions import OpenedBy, Session, SessionStatus
from roost.core.turntaking import Limits
from roost.core.visibility import PersonCaller
from roost.engine.rules import Part
from roost.ports import Store, Topic, TopicKind
from roost.stores.memory import MemoryStore
from roost.stores.sqlite import SqliteStore
from roost.testing import builders
from roost.testing.clock import FakeClock
from roost.testing.scripts import CallTool, Fail, Hang, Say, Script, Spend
from tests.flows.gateways import ADA, BOB, SPEC, Bench
from tests.grounds import laid
from tests.unit.engine.scenes import Doing

MAIN = SessionKey.named("main", "main")
CHILD = SessionKey.parse("agent:main:subagent:one")
PRICES = Prices(input=1.0, output=10.0)
DAY_MS = 86_400_000
DOLLAR = 1_000_000
USED_UP = "used up"
SHARED = RoutingRules(dm_scope=DmScope.MAIN)


@pytest.fixture(params=["memory", "sqlite"])
async def bench(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> AsyncIterator[Bench]:
    async with fake_time_bench(request.param, tmp_path, clock) as bench:
        yield bench
        assert await bench.store.check() == ()


@asynccontextmanager
async def fake_time_bench(kind: str, folder: Path, clock: FakeClock) -> AsyncIterator[Bench]:
    """Days may pass at once; leases are judged by a clock of the database's own, which stands still."""
    still = FakeClock()
    store: Store = (
        MemoryStore(clock, still)
        if kind == "memory"
        else SqliteStore.open(laid(folder / "budgets.db"), clock, database_clock=still)
    )
    bench = Bench(store, clock)
    bench.change(
        cast=priced(bench),
        resets=ResetPolicy(base=ResetSetting(mode=ResetMode.NONE)),
        routing=RoutingRules(dm_scope=DmScope.OWNER_MAIN),
    )
    try:
        yield bench
    finally:
        await bench.store.close()


def priced(bench: Bench, prices: Prices | None = PRICES) -> Callable[[Session, Run], Part]:
    spec = replace(SPEC, prices=prices, max_tokens=4_000)
    return lambda session, run: replace(bench.cast(session, run), spec=spec)


def tokens(hard: int | None = None, **others: object) -> Limit:
    given = {"scope": BudgetScope.DAY, "measure": Measure.TOKENS, "hard": hard, **others}
    return Limit(**given)  # type: ignore[arg-type]


def cost(hard: int, scope: BudgetScope = BudgetScope.DAY) -> Limit:
    return Limit(scope=scope, measure=Measure.COST, hard=hard)


def costing(text: str, usage: Usage) -> Script:
    return (Say(text), Spend(usage))


def used(total: int) -> Usage:
    return Usage(input=total - 1, output=1, total=total)


async def waits(bench: Bench, key: SessionKey = MAIN) -> None:
    """Return once a session is parked."""

    async def check() -> bool | None:
        session = await bench.store.session(key)
        return (session is not None and session.status is SessionStatus.PARKED) or None

    with anyio.fail_after(60):
        await bench.store.wait_for(Topic(TopicKind.SESSION, str(key)), check)


async def said(bench: Bench, key: SessionKey = MAIN) -> list[str]:
    page = await bench.store.history(HistoryQuery(key=key))
    return [text_of(e.body) for e in page.entries if isinstance(e.body, UserMessage | AssistantMessage)]


async def passing(bench: Bench, clock: FakeClock) -> None:
    """Time goes on whenever nothing else does; a store that is still writing does."""
    while True:
        await anyio.wait_all_tasks_blocked()
        await bench.store.change_session(MAIN, lambda snapshot: ())
        clock.advance(500)


# -- the hard limit ----------------------------------------------------------------------------------


@pytest.mark.requirement("P20")
@pytest.mark.timeout(120)
async def test_fifty_runs_at_once_share_a_dollar_and_each_refused_one_tells_its_user_once(
    bench: Bench, clock: FakeClock
) -> None:
    people = [Sender(id=f"p{number}") for number in range(50)]
    bill: list[int] = []

    def answer(request: ModelRequest) -> Script:
        usage = Usage(input=10, output=3_990, total=4_000)
        usage = usage._replace(cost_micros=cost_micros(usage, request.spec.prices))
        bill.append(usage.cost_micros)
        return costing("answered", usage)

    bench.model.add(*[answer] * 50)
    bench.change(
        limits=Limits(ceiling=64),
        budgets=(cost(DOLLAR),),
    )
    async with bench.serving(), anyio.create_task_group() as group:
        group.start_soon(passing, bench, clock)
        for person in people:
            await bench.say("hello", person)
        first = [await bench.replies(person) for person in people]
        group.cancel_scope.cancel()
    answered = [replies for replies in first if replies == ("answered",)]
    assert all(len(replies) == 1 for replies in first)
    assert {replies[0] for replies in first if USED_UP not in replies[0]} == {"answered"}
    assert sum(USED_UP in replies[0] for replies in first) == 50 - len(answered) > 0
    assert 20 <= len(answered) == len(bill)
    assert 0.9 * DOLLAR < sum(bill) <= DOLLAR
    bench.change(budgets=(cost(3 * DOLLAR),))
    async with bench.serving(), anyio.create_task_group() as group:
        group.start_soon(passing, bench, clock)
        last = [
            await bench.replies(person, len(one) + (USED_UP in one[0]))
            for person, one in zip(people, first, strict=True)
        ]
        group.cancel_scope.cancel()
    assert [replies.count("answered") for replies in last] == [1] * 50
    assert sum(USED_UP in text for replies in last for text in replies) == 50 - len(answered)
    assert len(bill) == 50


@pytest.mark.requirement("P20")
async def test_what_is_said_to_a_parked_session_waits_behind_and_is_not_told_again(
    bench: Bench, clock: FakeClock
) -> None:
    bench.change(
        budgets=(tokens(100),),
        queue=QueuePolicy(base=QueueSettings(mode=QueueMode.FOLLOWUP, debounce_ms=0)),
    )
    async with bench.serving():
        await bench.say("one")
        await waits(bench)
        await bench.say("two")
        (notice,) = await bench.replies()
    assert USED_UP in notice
    for _ in range(2):
        # Again and again: each life asks anew, and is refused anew, in silence.
        async with bench.serving():
            await waits(bench)
    assert len(bench.model.requests) == 0
    bench.model.add((Say("to one"),), (Say("to two"),))
    bench.change(budgets=(tokens(20_000),))
    async with bench.serving():
        assert await bench.replies(at_least=3) == (notice, "to one", "to two")
    assert await said(bench) == ["one", "to one", "two", "to two"]


@pytest.mark.requirement("P20")
async def test_one_persons_used_up_budget_holds_up_nobody_else_and_their_message_is_answered_later(
    bench: Bench, clock: FakeClock
) -> None:
    bench.change(routing=SHARED, budgets=(tokens(6_000, scope=BudgetScope.PERSON),))
    bench.model.add(costing("for bob", used(3_000)), (Say("for ada"),), (Say("at last"),))
    async with bench.serving():
        await bench.say("one", BOB)
        await bench.replies(BOB)
        await bench.say("two", BOB)
        assert USED_UP in (await bench.replies(BOB, 2))[1]
        await waits(bench)
        await bench.say("urgent", ADA)
        assert await bench.replies(ADA) == ("for ada",)
        await waits(bench)
        await bench.say("three", BOB)
        clock.advance(DAY_MS)
        assert (await bench.replies(BOB, 3))[2] == "at last"
    asked = [text_of(one) for one in bench.model.requests[-1].messages if isinstance(one, UserMessage)]
    assert [text.splitlines()[-1] for text in asked] == ["one", "two", "urgent", "three", "- two"]
    assert await said(bench) == ["one", "for bob", "two", "urgent", "for ada", "three", "at last"]


@pytest.mark.requirement("P20")
async def test_a_new_start_ends_what_is_parked_at_once_and_tells_its_person(bench: Bench) -> None:
    bench.change(routing=SHARED, budgets=(tokens(6_000, scope=BudgetScope.PERSON),))
    bench.model.add(costing("for bob", used(3_000)), (Say("welcome"),))
    async with bench.serving():
        await bench.say("one", BOB)
        await bench.replies(BOB)
        await bench.say("two", BOB)
        await waits(bench)
        await bench.say("/new", ADA)
        assert await bench.replies(ADA) == ("welcome",)
        assert (await bench.replies(BOB, 3))[2].startswith("Not answered (the session was started afresh)")
    assert await bench.store.active_runs(MAIN) == ()


@pytest.mark.requirement("P20")
@pytest.mark.parametrize("how", ["reset", "stop", "back"])
async def test_whoever_ends_a_parked_run_its_person_is_told(bench: Bench, how: str) -> None:
    bench.change(routing=SHARED, budgets=(tokens(6_000, scope=BudgetScope.PERSON),))
    bench.model.otherwise = costing("answer", used(3_000))
    async with bench.serving() as (engine, _):
        await bench.say("hello", ADA)
        await bench.replies(ADA)
        await bench.say("/new one", BOB)
        await bench.replies(BOB)
        await bench.say("two", BOB)
        await waits(bench)
        match how:
            case "reset":
                await engine.operations.reset(PersonCaller(principal=OWNER), MAIN, OpenedBy.RESET)
            case "stop":
                await engine.operations.stop(PersonCaller(principal=OWNER), MAIN)
            case _:
                await bench.say("/back", ADA)
        assert (await bench.replies(BOB, 3))[2].startswith("Not answered (")


@pytest.mark.requirement("P20")
async def test_the_next_day_what_waited_is_answered(bench: Bench, clock: FakeClock) -> None:
    bench.change(budgets=(tokens(5_000),))
    bench.model.add(costing("today", used(4_000)), (Say("tomorrow"),))
    async with bench.serving():
        await bench.say("one")
        await bench.replies()
        await bench.say("two")
        today, notice = await bench.replies(at_least=2)
        assert (today, USED_UP in notice, "next day" in notice) == ("today", True, True)
        clock.advance(DAY_MS)
        assert (await bench.replies(at_least=3))[2] == "tomorrow"


@pytest.mark.requirement("P20")
async def test_a_limit_for_all_time_does_not_pass_with_the_day(bench: Bench, clock: FakeClock) -> None:
    bench.change(budgets=(tokens(5_000, scope=BudgetScope.PERSON, period=Period.EVER),))
    bench.model.add(costing("once", used(4_000)), (Say("again"),))
    async with bench.serving():
        await bench.say("one")
        await bench.replies()
        await bench.say("two")
        (_, notice) = await bench.replies(at_least=2)
        assert "next day" not in notice
        clock.advance(DAY_MS)
        await anyio.wait_all_tasks_blocked()
        await waits(bench)
        assert len(bench.model.requests) == 1
        await bench.say("hello", BOB)
        assert await bench.replies(BOB) == ("again",)


@pytest.mark.requirement("P20")
async def test_a_run_parked_between_two_steps_goes_on_where_it_stopped(bench: Bench) -> None:
    times: list[str] = []

    async def act() -> str:
        times.append("acted")
        return "done"

    bench.tools = (Doing("act", act),)
    call = CallTool(ToolCall(id="c1", name="act", arguments={}))
    bench.model.add((call, Spend(used(4_000))), (Say("It is done."),))
    bench.change(budgets=(tokens(6_000, scope=BudgetScope.SESSION),))
    async with bench.serving():
        await bench.say("act")
        await waits(bench)
    bench.change(budgets=())
    async with bench.serving():
        assert (await bench.replies(at_least=2))[1] == "It is done."
    assert times == ["acted"]
    page = await bench.store.history(HistoryQuery(key=MAIN))
    assert [isinstance(entry.body, ToolResult) for entry in page.entries] == [False, False, True, False]
    assert (await bench.store.usage(LedgerQuery())).calls == 2


@pytest.mark.requirement("P20")
async def test_a_call_without_a_known_price_is_refused_under_a_hard_cost_limit(bench: Bench) -> None:
    bench.change(budgets=(cost(DOLLAR),), cast=priced(bench, None))
    async with bench.serving():
        await bench.say("hello")
        (notice,) = await bench.replies()
    assert "no known price" in notice
    (denial,) = await bench.store.denials(10)
    assert (denial.operation, denial.rule) == ("model_call", "budgets.perDay.cost")
    bench.model.add((Say("hello"),))
    bench.change(cast=priced(bench))
    async with bench.serving():
        assert (await bench.replies(at_least=2))[1] == "hello"


@pytest.mark.requirement("F2")
async def test_a_tree_of_sessions_shares_one_limit(bench: Bench) -> None:
    bench.change(budgets=(tokens(6_000, scope=BudgetScope.TREE),))
    bench.model.add(costing("parent", used(4_000)), (Say("child"),))
    async with bench.serving():
        await bench.say("hello")
        await bench.replies()
        row = builders.session(CHILD, parent=MAIN)
        child = builders.run("child", CHILD, request=Request(requester=MAIN, prompt="Count."))
        await bench.store.change_session(
            CHILD, lambda snapshot: (builders.opening(row, "child-1"), QueueRun(run=child))
        )
        await waits(bench, CHILD)
        # A child answers to nobody: the chat of its parent hears of it.
        assert USED_UP in (await bench.replies(at_least=2))[1]
    run = await bench.store.run("child")
    assert run is not None
    assert run.parked is not None
    assert run.parked.setting == "budgets.perTree.tokens"


# -- what is counted ---------------------------------------------------------------------------------


@pytest.mark.requirement("P20")
async def test_a_call_that_is_refused_by_its_provider_costs_nothing(bench: Bench) -> None:
    bench.change(budgets=(tokens(5_000),))
    bench.model.add((Fail(FailureKind.AUTH),), (Fail(FailureKind.RATE_LIMIT),), (Say("third"),))
    async with bench.serving():
        for number in (1, 2, 3):
            await bench.say(f"hello {number}")
            await bench.replies(at_least=number)
    assert (await bench.replies(at_least=3))[2] == "third"


@pytest.mark.requirement("P19", "P20")
async def test_a_call_that_is_cut_off_counts_as_all_it_could_cost(bench: Bench, clock: FakeClock) -> None:
    bench.change(budgets=(tokens(6_000),), stream_idle_ms=60_000)
    bench.model.add((Say("half"), Hang()))
    async with bench.serving():
        await bench.say("hello")
        await bench.model.asked(1)
        await anyio.wait_all_tasks_blocked()
        clock.advance(60_000)
        await bench.replies()
        await bench.say("again")
        assert USED_UP in (await bench.replies(at_least=2))[1]
    total = await bench.store.usage(LedgerQuery())
    assert (total.calls, total.usage.output) == (1, 4_000)


@pytest.mark.requirement("P20")
async def test_a_soft_limit_is_told_once_a_day(bench: Bench, clock: FakeClock) -> None:
    bench.change(budgets=(tokens(soft=3_000, scope=BudgetScope.AGENT, period=Period.EVER),))
    bench.model.add(*[costing("answer", used(2_000))] * 5)
    async with bench.serving():
        for number, expected in ((1, 1), (2, 2), (3, 4), (4, 5)):
            await bench.say(f"hello {number}")
            await bench.replies(at_least=expected)
        clock.advance(DAY_MS)
        await bench.say("hello 5")
        replies = await bench.replies(at_least=7)
    assert [text for text in replies if text != "answer"] == [
        "Most of the token budget of this agent is used."
    ] * 2
