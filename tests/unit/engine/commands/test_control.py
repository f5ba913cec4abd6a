import pytest

from roost.core import queueing
from roost.core.addresses import Address
from roost.core.deliveries import DeliveryKind, DeliveryState
from roost.core.effects import QueueRun
from roost.core.errors import NotFound
from roost.core.inbound import InboundState, InputMode
from roost.core.messages import Text
from roost.core.principals import OWNER
from roost.core.queries import HistoryQuery
from roost.core.queuesettings import QueueMode, QueuePolicy, QueueSettings
from roost.core.runs import Request, Run, RunKind, RunState
from roost.core.sessions import OpenedBy, Session
from roost.engine.rules import Part
from roost.engine.stops import STOPPED
from roost.testing import builders
from roost.testing.builders import MAIN
from tests.unit.engine.commands.rooms import Room


async def begun(room: Room) -> str:
    """A run under way that has taken its message."""
    await room.accepted("hello")
    (run,) = await room.claimed()
    assert run.claim is not None
    await room.store.take_inputs(run.claim, lambda records: (builders.said("e1", "hello"),))
    return run.id


@pytest.mark.requirement("D51")
async def test_stop_ends_the_run_clears_the_queue_and_says_how_much(room: Room) -> None:
    room.change(queue=QueuePolicy(base=QueueSettings(mode=QueueMode.FOLLOWUP)))
    run_id = await begun(room)
    waiting = await room.accepted("and then this")
    with room.stops.around(run_id) as stop:
        answer = await room.ask("/stop")
    assert answer == (
        "Stopped 1 run and 1 queued. Cleared 1 waiting message. Stopped 0 sub-agents.\n"
        "Not answered:\n- and then this"
    )
    assert stop.reason == STOPPED
    run = await room.store.run(run_id)
    assert run is not None
    assert run.stop is not None
    assert (run.stop.by, run.state) == (OWNER, RunState.RUNNING)
    record = await room.store.inbound(waiting.record.inbound.id)
    assert record is not None
    assert (record.state, record.reason) == (InboundState.DEAD, STOPPED)


async def test_words_of_others_elsewhere_are_counted_and_not_shown(room: Room) -> None:
    await room.accepted("my secret plan", "ada")
    assert await room.ask("/stop", "bob") == (
        "Stopped 0 runs and 1 queued. Cleared 1 waiting message. Stopped 0 sub-agents."
    )
    notices = [
        one
        for one in await room.store.deliveries(DeliveryState.INTENT, 10)
        if one.kind is DeliveryKind.NOTICE
    ]
    assert [(one.address, one.text) for one in notices] == [
        (Address(channel="loopback", to="ada"), f"Not answered ({STOPPED}): my secret plan")
    ]


@pytest.mark.requirement("D51", "P27")
async def test_stop_reaches_the_children_and_theirs(room: Room) -> None:
    run_id = await begun(room)
    child = await room.spawn("kid")
    grandchild = await room.spawn("grandkid", child)
    under_way = await room.claimed()
    assert "Stopped 3 runs. Cleared 2 waiting messages. Stopped 2 sub-agents." in await room.ask("/stop")
    for one in (run_id, *(run.id for run in under_way)):
        run = await room.store.run(one)
        assert run is not None
        assert run.stop is not None
    assert await room.store.completions(MAIN) == ()
    assert await room.store.completions(child) == ()
    history = await room.store.history(HistoryQuery(key=child))
    assert "Status: killed" in str(history.entries[-1].body)
    assert (await room.snapshot(grandchild)).pending == ()


async def test_a_stop_with_nothing_to_stop(room: Room) -> None:
    assert await room.ask("/stop") == "Nothing was running, and nothing waits."


async def test_steer_goes_into_the_run_whatever_the_queue_says(room: Room) -> None:
    room.change(queue=QueuePolicy(base=QueueSettings(mode=QueueMode.FOLLOWUP)))
    run_id = await begun(room)
    accepted = await room.accepted("/tell be brief")
    assert accepted.record.inbound.content == (Text("be brief"),)
    assert (accepted.record.run_id, accepted.record.mode) == (run_id, InputMode.STEER)


async def test_steer_without_a_run_is_a_message_and_without_words_nothing(room: Room) -> None:
    accepted = await room.accepted("/steer be brief")
    assert accepted.record.mode is InputMode.OPEN
    assert await room.ask("/steer") == "There is nothing to say. Write /steer <message>."


@pytest.mark.requirement("D52")
async def test_compact_queues_a_run_of_its_kind_with_what_to_keep(room: Room) -> None:
    assert await room.ask("/compact") == "There is nothing to condense yet."
    run_id = await begun(room)
    told = await room.ask("/compact the names")
    assert told == "Stopped the run under way. Condensing this conversation now."
    stopped = await room.store.run(run_id)
    assert stopped is not None
    assert stopped.stop is not None
    (run,) = (await room.snapshot()).queued
    assert (run.request.kind, run.request.prompt) == (RunKind.COMPACTION, "the names")
    assert await room.ask("/compact") == "This conversation is being condensed already."


async def test_compact_in_an_idle_session_is_done_now(room: Room) -> None:
    await room.accepted("hello")
    await room.ask("/stop")
    await room.store.append(MAIN, (builders.said("e1", "hello"),))
    assert await room.ask(f"/compact {'x' * 900}") == "Condensing this conversation now."
    (run,) = (await room.snapshot()).queued
    assert run.request.prompt == "x" * 800


@pytest.mark.requirement("D44")
async def test_new_takes_the_model_it_names_and_the_rest_is_the_first_message(room: Room) -> None:
    await room.accepted("hello")
    accepted = await room.accepted("/new scripted/thinker what is\nit?")
    assert accepted.record.inbound.content == (Text("what is\nit?"),)
    assert (await room.session()).overrides.model == "scripted/thinker"
    again = await room.accepted("/reset nonsense it is")
    assert again.record.inbound.content == (Text("nonsense it is"),)
    generations = await room.store.generations(MAIN)
    assert [(one.opened_by, one.rule) for one in generations[1:]] == [
        (OpenedBy.NEW, "trigger /new"),
        (OpenedBy.RESET, "trigger /reset"),
    ]


async def test_a_first_message_may_name_its_model_too(room: Room) -> None:
    await room.accepted("/new scripted/thinker")
    assert (await room.session()).overrides.model == "scripted/thinker"
    assert len(await room.store.generations(MAIN)) == 1


@pytest.mark.requirement("D44")
async def test_a_greeting_mentions_a_model_that_is_not_the_usual_one(room: Room) -> None:
    async def prompt(text: str) -> str:
        accepted = await room.accepted(text)
        run = await room.store.run(accepted.record.run_id or "")
        assert run is not None
        return run.request.prompt or ""

    assert "usual model" not in await prompt("/new")
    assert "usual model" not in await prompt("/new scripted/one")
    assert "scripted/thinker answers here, which is not your usual model" in await prompt("/new thinker")
    assert "scripted/thinker answers here" in await prompt("/reset")

    def nobody(session: Session, run: Run) -> Part:
        raise NotFound("there is no model", hint="configure one")

    room.change(cast=nobody)
    assert "scripted/thinker answers here" in await prompt("/new")


async def test_a_configured_word_starts_afresh_too(room: Room) -> None:
    room.command_rules(triggers=("tabula rasa",))
    await room.accepted("hello")
    await room.accepted("Tabula rasa: go")
    assert [one.rule for one in await room.store.generations(MAIN)] == [None, "trigger tabula rasa"]


async def test_a_fresh_start_stops_the_children_and_the_run_and_keeps_what_waits(room: Room) -> None:
    run_id = await begun(room)
    child = await room.spawn("kid")
    (kid,) = await room.claimed()
    with room.stops.around(run_id) as own, room.stops.around(kid.id) as theirs:
        await room.accepted("/new again")
    assert (own.reason, theirs.reason) == (queueing.INTERRUPTED, STOPPED)
    assert await room.store.completions(MAIN) == ()
    first = (await room.store.generations(MAIN))[0]
    told = await room.store.entries(first.session_id)
    assert "Status: killed" in str(told[-1].body)
    assert (await room.snapshot(child)).pending == ()


@pytest.mark.requirement("P9")
async def test_back_returns_to_the_conversation_before_and_there_again(room: Room) -> None:
    assert await room.ask("/back") == "There is no earlier conversation to go back to."
    run_id = await begun(room)
    first = (await room.session()).session_id
    with room.stops.around(run_id):
        await room.accepted("/new")
    answer = await room.ask("/back")
    assert answer.startswith("Back in the conversation of 2025-")
    generations = await room.store.generations(MAIN)
    assert generations[-1].base is not None
    assert (generations[-1].base.session_id, generations[-1].base.seq) == (first, 1)
    assert generations[-1].rule == "command /back"
    await room.ask("/back")
    again = (await room.store.generations(MAIN))[-1]
    assert again.base is not None
    assert again.base.session_id == generations[1].session_id


async def test_back_ends_the_run_under_way(room: Room) -> None:
    await room.accepted("hello")
    await room.accepted("/new x")
    (run,) = await room.claimed()
    with room.stops.around(run.id) as stop:
        await room.ask("/back")
    assert stop.reason == STOPPED


async def test_a_stop_is_asked_for_only_once(room: Room) -> None:
    run_id = await begun(room)
    await room.ask("/stop", "bob")
    room.scene.clock.advance(1000)
    assert "Stopped 1 run." in await room.ask("/stop")
    run = await room.store.run(run_id)
    assert run is not None
    assert run.stop is not None
    assert not run.stop.by.is_owner


async def test_compact_waits_for_a_run_that_answers_nobody_here(room: Room) -> None:
    await room.accepted("hello")
    await room.ask("/stop")
    await room.store.append(MAIN, (builders.said("e1", "hello"),))
    flush = builders.run("flush", request=Request(kind=RunKind.FLUSH))
    await room.store.change_session(MAIN, lambda snapshot: (QueueRun(run=flush),))
    await room.claimed()
    assert await room.ask("/compact") == "Condensing this conversation after the run under way."
