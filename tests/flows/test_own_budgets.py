"""What a person may spend is their own affair: whoever has used it up keeps nobody else from anything."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from roost.core.addresses import Account, Address, ChatType
from roost.core.admission import GroupPolicy
from roost.core.budgets import BudgetScope, Period
from roost.core.envelopes import Conversation, Sender
from roost.core.lifecycle import ResetMode, ResetPolicy, ResetSetting
from roost.core.messages import UserMessage, text_of
from roost.core.queuesettings import QueueMode, QueuePolicy, QueueSettings
from roost.core.runs import Parked, RunKind
from roost.ports import Topic, TopicKind
from roost.testing.clock import FakeClock
from roost.testing.scripts import Say, Until
from tests.flows.gateways import ADA, BOB, Bench
from tests.flows.test_budgets import (
    DAY_MS,
    MAIN,
    SHARED,
    USED_UP,
    costing,
    fake_time_bench,
    tokens,
    used,
    waits,
)


@pytest.fixture(params=["memory", "sqlite"])
async def bench(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> AsyncIterator[Bench]:
    async with fake_time_bench(request.param, tmp_path, clock) as bench:
        yield bench
        assert await bench.store.check() == ()


def change_each_day(bench: Bench) -> None:
    """All share a session that starts afresh each day; what a person may use is for ever."""
    bench.change(
        routing=SHARED,
        budgets=(tokens(6_000, scope=BudgetScope.PERSON, period=Period.EVER),),
        resets=ResetPolicy(base=ResetSetting(mode=ResetMode.DAILY)),
    )


async def park_bob(bench: Bench) -> None:
    """Bob's second message waits for his own budget."""
    await bench.say("one", BOB)
    await bench.replies(BOB)
    await bench.say("two", BOB)
    assert USED_UP in (await bench.replies(BOB, 2))[1]
    await waits(bench)


@pytest.mark.requirement("P9", "P20")
async def test_a_session_starts_afresh_though_one_persons_message_waits_for_ever(
    bench: Bench, clock: FakeClock
) -> None:
    change_each_day(bench)
    bench.model.add(costing("for bob", used(3_000)), (Say("good morning"),))
    async with bench.serving():
        await park_bob(bench)
        clock.advance(DAY_MS)
        await bench.say("hello", ADA)
        assert (await bench.replies(ADA, 2))[1] == "good morning"
        assert (await bench.replies(BOB, 3))[2].startswith("Not answered (the session was started afresh)")
    assert await bench.store.active_runs(MAIN) == ()
    assert len(bench.model.requests[-1].messages) == 1


@pytest.mark.requirement("P3", "P20")
async def test_what_a_person_says_when_their_waiting_message_ends_waits_anew(
    bench: Bench, clock: FakeClock
) -> None:
    change_each_day(bench)
    bench.model.add(costing("for bob", used(3_000)), (Say("at last"),))
    async with bench.serving():
        await park_bob(bench)
        clock.advance(DAY_MS)
        await bench.say("three", BOB)
        replies = await bench.replies(BOB, 5)
        assert [USED_UP in text for text in replies].count(True) == 2
        assert [text.startswith("Not answered (") for text in replies].count(True) == 1
        await waits(bench)
    bench.change(budgets=())
    async with bench.serving():
        assert (await bench.replies(BOB, 6))[5] == "at last"
    asked = bench.model.requests[-1].messages
    assert [text_of(one) for one in asked if isinstance(one, UserMessage)][-1].endswith("three")


@pytest.mark.requirement("P20")
async def test_in_a_group_nobodys_message_waits_for_anothers_budget(bench: Bench) -> None:
    room, carol = Conversation(chat_type=ChatType.GROUP, peer="room"), Sender(id="carol", name="Carol")
    door = replace(
        bench.rules.door(Account("loopback")), group_policy=GroupPolicy.OPEN, require_mention=False
    )
    bench.change(
        doors={"loopback": door},
        budgets=(tokens(6_000, scope=BudgetScope.PERSON),),
        queue=QueuePolicy(base=QueueSettings(mode=QueueMode.COLLECT, debounce_ms=0)),
    )
    heard = anyio.Event()
    bench.model.add((Until(heard), *costing("for bob", used(3_000))), (Say("for carol"),))
    async with bench.serving():
        await bench.channel.say("one", sender=BOB, chat=room)
        await bench.model.asked(1)
        await bench.channel.say("two", sender=BOB, chat=room)
        await bench.channel.say("help", sender=carol, chat=room)
        await bench.channel.wait_acknowledged()
        heard.set()
        replies = await bench.channel.wait_replies(Address(channel="loopback", to="room"), 3)
    assert [text for text in replies if USED_UP not in text] == ["for bob", "for carol"]


@pytest.mark.requirement("P20")
async def test_a_waiting_run_names_the_budget_that_it_waits_for_now(bench: Bench) -> None:
    bench.change(routing=SHARED, budgets=(tokens(6_000, scope=BudgetScope.PERSON),))
    bench.model.add(costing("for bob", used(3_000)))
    async with bench.serving():
        await park_bob(bench)
    (first,) = await bench.store.active_runs(MAIN)
    bench.change(budgets=(tokens(100),))

    async def named() -> Parked | None:
        (run,) = await bench.store.active_runs(MAIN)
        return run.parked if run.parked and run.parked.setting == "budgets.perDay.tokens" else None

    async with bench.serving():
        with anyio.fail_after(60):
            again = await bench.store.wait_for(Topic(TopicKind.SESSION, str(MAIN)), named)
    assert "100 tokens" in again.reason
    assert not again.personal
    assert first.parked
    assert (again.at, first.parked.setting) == (first.parked.at, "budgets.perPerson.tokens")


@pytest.mark.requirement("P20")
async def test_whoever_waits_for_their_budget_keeps_nobody_from_condensing(bench: Bench) -> None:
    bench.change(routing=SHARED, budgets=(tokens(6_000, scope=BudgetScope.PERSON),))
    bench.model.add(costing("for bob", used(3_000)))
    async with bench.serving():
        await park_bob(bench)
        await bench.say("/compact", BOB)
        assert "after your message that is kept for its budget" in (await bench.replies(BOB, 3))[2]
        await bench.say("/compact", ADA)
        assert (await bench.replies(ADA))[0] == "Condensing this conversation now."
        await bench.replies(ADA, 2)
    left = await bench.store.active_runs(MAIN)
    assert [run.request.kind for run in left] == [RunKind.TURN, RunKind.COMPACTION]
