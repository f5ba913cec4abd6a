"""From a message on a channel to its answer on that channel."""

from dataclasses import dataclass, field, replace

import anyio
import pytest

from roost.channels.loopback import LoopbackChannel
from roost.core.addresses import Address, ChatType
from roost.core.admission import ChannelPolicy, GroupPolicy
from roost.core.channels import ChannelAbilities
from roost.core.deliveries import DeliveryState, Rejected, Unknown
from roost.core.envelopes import Conversation, Sender
from roost.core.errors import NotFound
from roost.core.keys import SessionKey
from roost.core.messages import AssistantMessage, StopReason, Text, ToolCall, ToolResult, UserMessage, text_of
from roost.core.models import FailureKind, ToolSpec
from roost.core.principals import Principal, PrincipalKind, person
from roost.core.queries import HistoryQuery, LedgerQuery, SessionQuery
from roost.core.queuesettings import QueueMode, QueuePolicy, QueueSettings
from roost.core.routing import RoutingRules
from roost.core.scopes import DmScope
from roost.core.sessions import OpenedBy
from roost.core.tools import Invocation, ToolOutcome, ToolTraits
from roost.core.transcript import NO_WORDS
from roost.core.visibility import PersonCaller
from roost.engine.operations import Change
from roost.ports import Report
from roost.stores.memory import MemoryStore
from roost.testing.clock import FakeClock
from roost.testing.scripts import CallTool, Fail, Hang, Say, Until
from tests.flows.gateways import ADA, BOB, Bench, place

MAIN = SessionKey.named("main", "main")


async def said(bench: Bench, key: SessionKey = MAIN) -> list[str]:
    page = await bench.store.history(HistoryQuery(key=key))
    return [text_of(e.body) for e in page.entries if isinstance(e.body, UserMessage | AssistantMessage)]


async def test_a_message_is_answered_where_it_was_asked(bench: Bench) -> None:
    bench.model.add((Say("Hello "), Say("Ada.")))
    async with bench.serving():
        await bench.say("hi")
        assert await bench.replies() == ("Hello Ada.",)
    assert await said(bench) == ["hi", "Hello Ada."]


async def test_the_next_message_is_asked_with_what_was_said_before(bench: Bench) -> None:
    bench.model.add((Say("one"),), (Say("two"),))
    async with bench.serving():
        await bench.say("first")
        await bench.replies()
        await bench.say("second")
        await bench.replies(at_least=2)
    asked = [[text_of(message) for message in request.messages] for request in bench.model.requests]
    assert [len(messages) for messages in asked] == [1, 3]
    assert "first" in asked[1][0]
    assert asked[1][1] == "one"


@pytest.mark.requirement("P3")
async def test_who_writes_without_words_is_answered_too(bench: Bench) -> None:
    bench.model.otherwise = (Say("What is it?"),)
    async with bench.serving():
        await bench.say("\r")
        assert await bench.replies() == ("What is it?",)
    ((asked,),) = [request.messages for request in bench.model.requests]
    assert NO_WORDS in text_of(asked)


async def test_two_people_are_answered_each_in_their_own_chat_and_session(bench: Bench) -> None:
    bench.change(routing=RoutingRules(dm_scope=DmScope.PER_CHANNEL_PEER))
    bench.model.add(*[lambda request: (Say("to " + text_of(request.messages[-1])[-3:]),)] * 2)
    async with bench.serving():
        await bench.say("ada", ADA)
        await bench.say("bob", BOB)
        assert await bench.replies(ADA) == ("to ada",)
        assert await bench.replies(BOB) == ("to bob",)
    page = await bench.store.list_sessions(SessionQuery())
    assert len(page.rows) == 2


async def test_a_message_delivered_again_is_answered_once(bench: Bench) -> None:
    bench.model.add((Say("once"),), (Say("next"),))
    async with bench.serving():
        await bench.say("hi", external_id="e1")
        await bench.replies()
        await bench.say("hi", external_id="e1")
        await bench.say("more")
        assert await bench.replies(at_least=2) == ("once", "next")


async def test_a_tool_call_is_run_and_its_result_answered(bench: Bench) -> None:
    call = ToolCall(id="c1", name="nothing", arguments={})
    bench.model.add((CallTool(call),), (Say("There is no such tool."),))
    async with bench.serving():
        await bench.say("use it")
        await bench.replies()
    page = await bench.store.history(HistoryQuery(key=MAIN))
    results = [entry.body for entry in page.entries if isinstance(entry.body, ToolResult)]
    assert [result.is_error for result in results] == [True]
    assert [len(request.messages) for request in bench.model.requests] == [1, 3]


async def test_a_model_that_fails_is_told_to_who_asked_and_the_next_message_starts(bench: Bench) -> None:
    bench.model.add((Fail(FailureKind.AUTH, "the key was refused"),), (Say("better"),))
    async with bench.serving():
        await bench.say("one")
        told = await bench.replies()
        assert "the key was refused" in told[0]
        await bench.say("two")
        assert (await bench.replies(at_least=2))[1] == "better"


async def test_what_is_said_meanwhile_steers_the_run_or_follows_it(bench: Bench) -> None:
    release = anyio.Event()
    bench.model.add((Say("a"), Until(release)), (Say("b"),))
    async with bench.serving():
        await bench.say("one")
        await bench.model.asked(1)
        await bench.say("two")
        await bench.channel.wait_acknowledged()
        release.set()
        await bench.replies(at_least=2)
    assert await said(bench) == ["one", "a", "two", "b"]


async def test_an_interrupting_message_ends_the_run_and_keeps_what_it_had_said(bench: Bench) -> None:
    bench.change(queue=QueuePolicy(base=QueueSettings(mode=QueueMode.INTERRUPT, debounce_ms=0)))
    bench.model.add((Say("half an ans"), Hang()), (Say("new"),))
    async with bench.serving():
        await bench.say("one")
        await bench.model.asked(1)
        await bench.say("two")
        assert await bench.replies() == ("new",)
    page = await bench.store.history(HistoryQuery(key=MAIN))
    answers = [entry.body for entry in page.entries if isinstance(entry.body, AssistantMessage)]
    assert [(text_of(one), one.stop) for one in answers] == [
        ("half an ans", StopReason.ABORTED),
        ("new", StopReason.STOP),
    ]


async def test_silence_is_kept_in_the_transcript_and_not_sent(bench: Bench) -> None:
    bench.model.add((Say("NO_REPLY"),), (Say("aloud"),))
    async with bench.serving():
        await bench.say("one")
        await bench.model.asked(1)
        await bench.model.left()
        await bench.say("two")
        assert await bench.replies() == ("aloud",)
    assert await said(bench) == ["one", "NO_REPLY", "two", "aloud"]


async def test_a_stranger_is_turned_away_and_the_owner_can_see_why(bench: Bench) -> None:
    bench.change(doors={})
    async with bench.serving():
        await bench.say("let me in")
        await bench.channel.wait_acknowledged()
    denials = await bench.store.denials(10)
    assert [denial.rule for denial in denials] == ["dmPolicy=pairing"]
    assert (await bench.store.list_sessions(SessionQuery())).rows == ()


async def test_a_reset_word_opens_a_new_generation_with_what_follows_it(bench: Bench) -> None:
    bench.model.add((Say("old"),), (Say("new"),))
    async with bench.serving():
        await bench.say("one")
        await bench.replies()
        await bench.say("/new two")
        await bench.replies(at_least=2)
    assert [len(request.messages) for request in bench.model.requests] == [1, 1]
    assert len(await bench.store.generations(MAIN)) == 2


async def test_every_model_call_is_in_the_ledger(bench: Bench) -> None:
    call = ToolCall(id="c1", name="nothing", arguments={})
    bench.model.add((CallTool(call),), (Say("done"),))
    async with bench.serving():
        await bench.say("go")
        await bench.replies()
    assert (await bench.store.usage(LedgerQuery(key=MAIN))).calls == 2


async def test_a_send_that_is_refused_for_good_is_kept_as_failed(bench: Bench) -> None:
    bench.model.add((Say("lost"),), (Say("kept"),))
    bench.channel.answer_next(Rejected(error="the chat is gone"))
    async with bench.serving():
        await bench.say("one")
        await bench.model.asked(1)
        await bench.model.left()
        await bench.say("two")
        assert await bench.replies() == ("kept",)
    failed = await bench.store.deliveries(DeliveryState.FAILED, 10)
    assert [delivery.text for delivery in failed] == ["lost"]


async def test_a_send_whose_outcome_nobody_can_know_is_shown_and_not_repeated(bench: Bench) -> None:
    bench.channel = LoopbackChannel(abilities=ChannelAbilities(longest=4_000))
    bench.model.add((Say("maybe"),), (Say("sure"),))
    bench.channel.answer_next(Unknown(error="the line broke"))
    async with bench.serving():
        await bench.say("one")
        await bench.model.asked(1)
        await bench.model.left()
        await bench.say("two")
        assert await bench.replies() == ("sure",)
    uncertain = await bench.store.deliveries(DeliveryState.UNCERTAIN, 10)
    assert [delivery.text for delivery in uncertain] == ["maybe"]
    assert bench.channel.replies(place(ADA)) == ("sure",)


async def test_a_run_cut_short_by_the_end_of_the_gateway_is_answered_by_its_next_life(bench: Bench) -> None:
    bench.model.add((Say("never sent"), Hang()), (Say("after all"),))
    async with bench.serving():
        await bench.say("one")
        await bench.model.asked(1)
    async with bench.serving():
        assert await bench.replies() == ("after all",)
    assert await said(bench) == ["one", "after all"]


@dataclass
class Asking:
    """A tool that remembers for whom it was called."""

    callers: list[Principal] = field(default_factory=list)
    traits: ToolTraits = field(default_factory=ToolTraits)
    spec: ToolSpec = field(default=ToolSpec(name="who", description="Asks.", parameters={}))

    async def run(self, invocation: Invocation, report: Report) -> ToolOutcome:
        self.callers.append(invocation.cause.principal)
        return ToolOutcome(content=(Text("noted"),))


@pytest.mark.requirement("S15")
async def test_in_a_group_nobody_acts_by_the_rights_of_another_whose_turn_he_joined(bench: Bench) -> None:
    release, who = anyio.Event(), Asking()
    bench.tools = (who,)
    bench.change(
        doors={"loopback": ChannelPolicy(group_policy=GroupPolicy.OPEN, require_mention=False)},
    )
    asks = [(CallTool(ToolCall(id=f"c{n}", name="who", arguments={})),) for n in range(2)]
    bench.model.add((Until(release), *asks[0]), (Say("to Bob"),), asks[1], (Say("to both"),))
    group = Conversation(chat_type=ChatType.GROUP, peer="-100")
    async with bench.serving():
        for text, name in (("one", "bob"), ("two", "carol"), ("three", "dave")):
            await bench.channel.say(text, sender=Sender(id=name, name=name), chat=group)
            await bench.channel.wait_acknowledged()
            await bench.model.asked(1)
        release.set()
        await bench.channel.wait_replies(Address(channel="loopback", to="-100"), 2)
    assert who.callers == [person("loopback", "bob"), Principal(PrincipalKind.AGENT, "main")]


GROUP = SessionKey.parse("agent:main:loopback:group:-100")


@pytest.mark.requirement("P2", "S10")
async def test_who_writes_in_a_group_may_act_on_it_through_other_doors_and_a_stranger_may_not(
    bench: Bench,
) -> None:
    bench.model.otherwise = (Say("hello"),)
    open_group = ChannelPolicy(group_policy=GroupPolicy.OPEN, require_mention=False)
    bench.change(doors={"loopback": open_group})
    bob, eve = (PersonCaller(principal=person("loopback", name)) for name in ("bob", "eve"))
    async with bench.serving() as (engine, _):
        group = Conversation(chat_type=ChatType.GROUP, peer="-100")
        await bench.channel.say("hi", sender=BOB, chat=group)
        await bench.channel.wait_replies(Address(channel="loopback", to="-100"), 1)
        operations = engine.operations
        before = await operations.change(
            bob, GROUP, Change(overrides=lambda was: replace(was, thinking="low"))
        )
        assert await operations.stop(bob, GROUP) == ()
        after = await operations.reset(bob, GROUP, OpenedBy.RESET)
        assert after.session_id != before.session_id
        for refused in (
            operations.delete(bob, GROUP),
            operations.change(bob, GROUP, Change(archived=True)),
            operations.change(bob, GROUP, Change(pinned=True)),
            operations.stop(eve, GROUP),
            operations.reset(eve, GROUP, OpenedBy.RESET),
        ):
            with pytest.raises(NotFound, match="There is no such session"):
                await refused
        with pytest.raises(NotFound):
            async with engine.feed.subscribe(GROUP, bob):
                pass


class Stuck(Asking):
    """A tool that never comes back."""

    async def run(self, invocation: Invocation, report: Report) -> ToolOutcome:
        await anyio.sleep_forever()
        raise AssertionError("it woke up")


@pytest.mark.requirement("P13")
@pytest.mark.parametrize("hangs", ["model", "tool"])
async def test_a_run_that_hangs_is_ended_its_user_told_and_the_next_message_answered(hangs: str) -> None:
    clock = FakeClock()
    bench = Bench(MemoryStore(clock, FakeClock()), clock, tools=(Stuck(),))
    bench.change(queue=QueuePolicy(base=QueueSettings(mode=QueueMode.FOLLOWUP, debounce_ms=0)))
    bench.change(routing=RoutingRules(dm_scope=DmScope.PER_PEER))
    call = CallTool(ToolCall(id="c1", name="who", arguments={}))
    rules = bench.rules
    bench.model.add((Hang() if hangs == "model" else call,))
    limit_ms = rules.stream_idle_ms if hangs == "model" else rules.idle_ms
    bench.model.otherwise = (Say("I am back."),)
    async with bench.serving():
        await bench.say("first")
        await bench.model.asked(1)
        await bench.say("second")
        await bench.say("beside it", BOB)
        assert await bench.replies(BOB) == ("I am back.",)
        await anyio.wait_all_tasks_blocked()
        clock.advance(limit_ms - 1)
        await anyio.wait_all_tasks_blocked()
        assert bench.channel.replies(place(ADA)) == ()
        clock.advance(1)
        with anyio.fail_after(60):
            told, answer = await bench.replies(at_least=2)
    assert told.startswith("No answer: ")
    assert answer == "I am back."
    words = [text for text in await said(bench, SessionKey.parse("agent:main:direct:ada")) if text]
    assert words == ["first", "second", "I am back."]
