"""Chat commands through a whole gateway: answered at once, also while a run is under way."""

import json
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from roost.channels.loopback import LoopbackChannel
from roost.core.addresses import Address, ChatType
from roost.core.admission import ChannelPolicy, DmPolicy, GroupPolicy
from roost.core.catalogue import Catalogue
from roost.core.deliveries import DeliveryKind
from roost.core.effects import AcceptInput, Effects, OpenSession, OweCompletion, QueueRun, RequestStop
from roost.core.envelopes import Conversation
from roost.core.exchanges import Completion
from roost.core.figures import thousands
from roost.core.inbound import InboundState, InputMode
from roost.core.keys import KeyKind, SessionKey
from roost.core.messages import AssistantMessage, StopReason, ToolCall, UserMessage, text_of
from roost.core.models import FailureKind
from roost.core.principals import OWNER
from roost.core.queries import HistoryQuery, LedgerQuery
from roost.core.queuesettings import QueueMode, QueuePolicy, QueueSettings
from roost.core.runs import Lane, Request, RunState, StopRequest
from roost.core.sessions import SessionStatus
from roost.core.snapshots import Decide, Snapshot
from roost.core.tools import Place
from roost.engine.rules import CommandRules, Part
from roost.ports import Topic, TopicKind
from roost.sandboxes.bubblewrap import Bubblewrap
from roost.testing import builders
from roost.testing.scripts import CallTool, Fail, Hang, Say, Until
from roost.tools.exec import Exec
from tests.flows.gateways import ADA, BOB, SPEC, Bench, benches, place
from tests.snapshots import snapshot

MAIN = SessionKey.named("main", "main")
CHILD = SessionKey(agent="main", kind=KeyKind.SUBAGENT, name="child")
GROUP = Conversation(chat_type=ChatType.GROUP, peer="g1")
IN_GROUP = Address(channel="loopback", to="g1")


@pytest.fixture(params=["memory", "sqlite"])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    async with benches(request.param, tmp_path) as bench:
        door = ChannelPolicy(
            dm_policy=DmPolicy.OPEN, group_policy=GroupPolicy.OPEN, owner_ids=("loopback:ada",)
        )
        models = Catalogue([SPEC])
        bench.change(doors={"loopback": door}, commands=CommandRules(models=models))
        yield bench


async def said(bench: Bench, key: SessionKey = MAIN) -> list[str]:
    page = await bench.store.history(HistoryQuery(key=key))
    return [text_of(e.body) for e in page.entries if isinstance(e.body, UserMessage | AssistantMessage)]


async def until_idle(bench: Bench, key: SessionKey = MAIN) -> SessionStatus:
    async def check() -> SessionStatus | None:
        session = await bench.store.session(key)
        busy = session is None or session.status in (SessionStatus.QUEUED, SessionStatus.RUNNING)
        return None if busy or session is None else session.status

    return await bench.store.wait_for(Topic(TopicKind.SESSION, str(key)), check)


async def spawn(bench: Bench) -> None:
    """A child of the main session, as a tool would spawn one."""
    now = bench.clock.now()
    run = replace(
        builders.run("child-run", CHILD, at=now), request=Request(lane=Lane.SUBAGENT, requester=MAIN)
    )
    task = replace(builders.inbound("task", CHILD, text="count", at=now), reply_to=None)
    row = builders.session(CHILD, at=now, parent=MAIN)
    owed = Completion(child_run=run.id, child=CHILD, requester=MAIN, batch="none", created_at=now)
    await bench.store.change_session(
        CHILD,
        lambda snapshot: (
            OpenSession(session=row, generation=builders.generation(CHILD, "gen-child", at=now)),
            QueueRun(run=run),
            AcceptInput(inbound=task, run_id=run.id, mode=InputMode.OPEN),
            OweCompletion(completion=owed),
        ),
    )


@pytest.mark.requirement("D49")
async def test_status_is_answered_while_the_model_is_being_asked(bench: Bench) -> None:
    release = anyio.Event()
    bench.model.add((Until(release), Say("at last")))
    async with bench.serving():
        await bench.say("one")
        await bench.model.asked(1)
        await bench.say("/status")
        (card,) = await bench.replies()
        assert "a turn for" in card
        assert "asking the model" in card
        release.set()
        assert (await bench.replies(at_least=2))[1] == "at last"
    assert await said(bench) == ["one", "at last"]


@pytest.mark.requirement("P3", "D51")
async def test_what_fell_out_of_a_full_queue_is_told_when_the_queue_is_cleared(bench: Bench) -> None:
    settings = QueueSettings(mode=QueueMode.COLLECT, debounce_ms=0, cap=2)
    bench.change(queue=QueuePolicy(base=settings))
    bench.model.add((Say("half an ans"), Hang()))
    async with bench.serving():
        await bench.say("start")
        await bench.model.asked(1)
        for number in range(1, 6):
            await bench.say(f"number {number}")
        await bench.say("/stop")
        (answer,) = await bench.replies()
        counts, title, *lines = answer.splitlines()
        assert counts == "Stopped 1 run and 1 queued. Cleared 5 waiting messages. Stopped 0 sub-agents."
        assert title == "Not answered:"
        assert sorted(lines) == [f"- number {number}" for number in range(1, 6)]
        await until_idle(bench)


@pytest.mark.requirement("D51")
async def test_stop_ends_the_run_keeps_its_words_and_clears_the_queue(bench: Bench) -> None:
    bench.change(queue=QueuePolicy(base=QueueSettings(mode=QueueMode.FOLLOWUP, debounce_ms=0)))
    bench.model.add((Say("half an ans"), Hang()), (Say("anew"),))
    async with bench.serving():
        await bench.say("one")
        await bench.model.asked(1)
        await bench.say("two")
        await bench.say("/stop")
        (answer,) = await bench.replies()
        assert answer == (
            "Stopped 1 run and 1 queued. Cleared 1 waiting message. Stopped 0 sub-agents.\n"
            "Not answered:\n- two"
        )
        assert await until_idle(bench) is SessionStatus.KILLED
        await bench.say("three")
        assert (await bench.replies(at_least=2))[1] == "anew"
    page = await bench.store.history(HistoryQuery(key=MAIN))
    answers = [entry.body for entry in page.entries if isinstance(entry.body, AssistantMessage)]
    assert [(text_of(one), one.stop) for one in answers] == [
        ("half an ans", StopReason.ABORTED),
        ("anew", StopReason.STOP),
    ]
    assert await said(bench) == ["one", "half an ans", "three", "anew"]


@pytest.mark.parametrize("word", ["stop", "ABORT!"])
async def test_a_lone_word_stops_what_runs_and_is_a_message_otherwise(bench: Bench, word: str) -> None:
    bench.model.add((Hang(),), (Say("you said it"),))
    async with bench.serving():
        await bench.say("one")
        await bench.model.asked(1)
        await bench.say(word)
        assert (await bench.replies())[0].startswith("Stopped 1 run.")
        await until_idle(bench)
        await bench.say(word)
        assert (await bench.replies(at_least=2))[1] == "you said it"
    assert await said(bench) == ["one", word, "you said it"]


@pytest.mark.requirement("D51", "P27")
async def test_stop_ends_children_and_nobody_goes_on_because_of_their_end(bench: Bench) -> None:
    bench.model.add((Hang(),), (Hang(),))
    async with bench.serving():
        await bench.say("one")
        await bench.model.asked(1)
        await spawn(bench)
        await bench.model.asked(2)
        await bench.say("/stop")
        (answer,) = await bench.replies()
        assert answer == "Stopped 2 runs. Cleared 0 waiting messages. Stopped 1 sub-agent."
        assert await until_idle(bench) is SessionStatus.KILLED
        assert await until_idle(bench, CHILD) is SessionStatus.KILLED
        assert await bench.store.completions(MAIN) == ()
        assert len(bench.model.requests) == 2
    assert "Status: killed" in (await said(bench))[-1]
    assert bench.channel.replies(place(ADA)) == (answer,)


@pytest.mark.requirement("P27", "F8")
async def test_stop_ends_the_programs_of_a_run(bench: Bench, tmp_path: Path) -> None:
    pipe = tmp_path / "pid"
    os.mkfifo(pipe)
    call = ToolCall(id="c1", name="exec", arguments={"command": f"echo $$ > {pipe}; sleep 600"})
    bench.tools = (Exec(Bubblewrap(), sandboxed=False),)
    cast = bench.cast

    def in_folder(*args: object) -> Part:
        return replace(cast(*args), place=Place(workspace=str(tmp_path)))  # type: ignore[arg-type]

    bench.change(cast=in_folder)
    bench.model.add((CallTool(call),))
    async with bench.serving():
        await bench.say("run it")
        pid = int(await anyio.to_thread.run_sync(pipe.read_text))
        os.kill(pid, 0)
        await bench.say("/stop")
        await bench.replies()
        assert await until_idle(bench) is SessionStatus.KILLED
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_an_answer_that_was_finished_when_the_stop_came_is_kept_and_not_sent(bench: Bench) -> None:
    """The order of commits decides: what was stopped was stopped."""
    release = anyio.Event()
    bench.model.add((Say("done"), Until(release)))
    async with bench.serving() as (engine, _):
        await bench.say("one")
        await bench.model.asked(1)
        stop = StopRequest(reason="enough", by=OWNER, at=bench.clock.now())
        before = await snapshot(bench.store)
        await bench.store.change_session(MAIN, _stopping(stop))
        release.set()
        assert await until_idle(bench) is SessionStatus.KILLED
        await engine.settled()
    assert await said(bench) == ["one", "done"]
    assert bench.channel.replies(place(ADA)) == ()
    assert before.running is not None
    stored = await bench.store.run(before.running.id)
    assert stored is not None
    assert stored.state is RunState.KILLED


def _stopping(stop: StopRequest) -> Decide:
    def decide(snapshot: Snapshot) -> Effects:
        assert snapshot.running is not None
        return (RequestStop(run_id=snapshot.running.id, stop=stop),)

    return decide


async def test_a_steer_reaches_the_run_under_way(bench: Bench) -> None:
    bench.change(queue=QueuePolicy(base=QueueSettings(mode=QueueMode.FOLLOWUP, debounce_ms=0)))
    release = anyio.Event()
    call = ToolCall(id="c1", name="nothing", arguments={})
    bench.model.add((CallTool(call), Until(release)), (Say("briefly"),))
    async with bench.serving():
        await bench.say("one")
        await bench.model.asked(1)
        await bench.say("/steer be brief")
        await bench.channel.wait_acknowledged()
        release.set()
        assert await bench.replies() == ("briefly",)
    assert "be brief" in await said(bench)
    assert len(bench.model.requests) == 2


@pytest.mark.requirement("P9")
async def test_back_shows_the_model_the_conversation_before(bench: Bench) -> None:
    bench.model.add((Say("noted"),), (Say("hello again"),), (Say("it was 42"),))
    async with bench.serving():
        await bench.say("the number is 42")
        await bench.replies()
        await bench.say("/new")
        await bench.replies(at_least=2)
        await bench.say("/back")
        assert (await bench.replies(at_least=3))[2].startswith("Back in the conversation of")
        await bench.say("which number?")
        assert (await bench.replies(at_least=4))[3] == "it was 42"
    asked = [text_of(message) for message in bench.model.requests[-1].messages]
    assert ["the number is 42" in asked[0], asked[1]] == [True, "noted"]
    assert not any("hello again" in text for text in asked)


@pytest.mark.requirement("D20", "D47")
async def test_a_muted_session_works_on_and_says_why_it_is_silent(bench: Bench) -> None:
    bench.model.add((Say("unheard"),), (Say("heard"),))
    async with bench.serving() as (engine, _):
        await bench.say("/send off")
        await bench.say("one")
        await bench.channel.wait_acknowledged()
        await engine.settled()
        await bench.say("/explain silence")
        assert (await bench.replies(at_least=2))[1] == (
            "Silence: the last answer was not sent, because of the session's sendPolicy."
        )
        await bench.say("/send inherit")
        await bench.say("two")
        assert (await bench.replies(at_least=4))[3] == "heard"
    assert await said(bench) == ["one", "unheard", "two", "heard"]


async def test_reasons_and_figures_are_sent_as_the_session_wants_them(bench: Bench) -> None:
    bench.model.add((Say("four"),))
    async with bench.serving():
        await bench.say("/usage tokens")
        await bench.say("two and two?")
        replies = await bench.replies(at_least=2)
    assert replies[1].startswith("four\n\n[")
    assert await said(bench) == ["two and two?", "four"]


async def test_what_a_provider_did_not_count_is_sent_as_the_estimate_of_the_ledger(bench: Bench) -> None:
    bench.model.add((Say("four"),))
    async with bench.serving():
        await bench.say("/usage tokens")
        await bench.say("two and two?")
        replies = await bench.replies(at_least=2)
    (row,) = await bench.store.ledger(LedgerQuery(), offset=0, limit=9)
    assert row.estimated
    assert row.usage.output > 0
    counted = f"~{thousands(row.usage.input)} tokens in, ~{thousands(row.usage.output)} out"
    assert replies[1] == f"four\n\n[{counted}]"


async def test_a_command_delivered_again_is_done_and_answered_once(bench: Bench) -> None:
    bench.model.add((Say("well"),))
    async with bench.serving():
        for _ in range(2):
            await bench.say("/usage", external_id="same")
        await bench.say("hello")
        replies = await bench.replies(at_least=2)
    assert replies[0] == "Figures below answers: tokens."
    assert replies[1].startswith("well")


async def test_an_unknown_word_after_a_slash_is_the_models(bench: Bench) -> None:
    bench.model.add((Say("no such thing"),))
    async with bench.serving():
        await bench.say("/frobnicate now")
        assert await bench.replies() == ("no such thing",)
    assert await said(bench) == ["/frobnicate now", "no such thing"]


@pytest.mark.requirement("S6")
async def test_others_are_refused_what_is_the_owners(bench: Bench) -> None:
    async with bench.serving():
        await bench.say("/send off", BOB)
        (answer,) = await bench.replies(BOB)
        assert "/send is the owner's alone." in answer
        await bench.say("/send off", ADA)
        assert await bench.replies(ADA) == ("Sending: off.",)


async def test_a_group_answers_without_being_mentioned_once_the_owner_says_so(bench: Bench) -> None:
    bench.model.add((Say("here I am"),))

    async def in_group(text: str, *, mentions: bool = False) -> None:
        await bench.channel.say(text, sender=ADA, chat=GROUP, mentions_bot=mentions)

    async with bench.serving():
        await in_group("unheard")
        await in_group("@roost /activation always", mentions=True)
        await in_group("hello all")
        replies = await bench.channel.wait_replies(IN_GROUP, 2)
        assert replies == ("Activation: always.", "here I am")
        await in_group("/activation mention")
        await in_group("unheard too")
        await bench.channel.wait_acknowledged()
    (denied,) = await bench.store.denials(10)
    assert denied.rule == "requireMention"


async def test_a_command_is_no_part_of_any_prompt(bench: Bench) -> None:
    bench.model.add((Say("well"),))
    async with bench.serving():
        await bench.say("/whoami")
        await bench.say("hello")
        await bench.replies(at_least=2)
    (request,) = bench.model.requests
    assert "/whoami" not in json.dumps([text_of(message) for message in request.messages])


async def test_answers_are_deliveries_of_their_own_kind(bench: Bench) -> None:
    channel = LoopbackChannel()
    bench.channel = channel
    async with bench.serving():
        await bench.say("/whoami", external_id="w")
        await bench.replies()
    record = [
        event for event in await bench.store.events(MAIN, after=0, limit=20) if event.kind == "delivery"
    ]
    delivery = await bench.store.delivery(record[0].ref)
    assert delivery is not None
    assert delivery.kind is DeliveryKind.COMMAND
    answered = [
        event for event in await bench.store.events(MAIN, after=0, limit=20) if event.kind == "input.answered"
    ]
    inbound = await bench.store.inbound(answered[0].ref)
    assert inbound is not None
    assert inbound.state is InboundState.ANSWERED


@pytest.mark.requirement("D44")
async def test_a_fresh_start_is_said_even_if_the_model_cannot_greet(bench: Bench) -> None:
    bench.model.add((Fail(FailureKind.AUTH, "the key was refused"),))
    async with bench.serving():
        await bench.say("/new")
        (told,) = await bench.replies()
    assert told.startswith("A new conversation has begun. No answer: the key was refused")
