from dataclasses import replace

import pytest

from roost.core.catalogue import Catalogue
from roost.core.keys import KeyKind, SessionKey
from roost.core.messages import Text
from roost.core.routing import RoutingRules
from roost.core.runs import Run
from roost.core.scopes import DmScope
from roost.core.sessions import SendOverride, Session
from roost.engine.rules import Part
from tests.unit.engine.commands.rooms import THINKER, Room

GROUP = SessionKey(agent="main", kind=KeyKind.GROUP, channel="loopback", name="g1")


def thinking(room: Room) -> None:
    def cast(session: Session, run: Run) -> Part:
        return replace(room.scene.cast(session, run), spec=THINKER)

    room.change(cast=cast)


async def run_of(room: Room, run_id: str | None) -> Run:
    run = await room.store.run(run_id or "")
    assert run is not None
    return run


async def test_the_model_is_shown_listed_set_and_left_to_the_agent(room: Room) -> None:
    assert await room.ask("/model status") == await room.ask("/model")
    assert (await room.ask("/model list")).splitlines() == [
        "Models:",
        "scripted/one, window 100k",
        "scripted/thinker, window 200k, reasons",
    ]
    assert await room.ask("/model quick") == "Model: scripted/one, from the next turn on."
    assert (await room.session()).overrides.model == "scripted/one"
    await room.ask("/model default")
    assert (await room.session()).overrides.model is None


async def test_a_model_there_is_not_is_refused_with_those_there_are(room: Room) -> None:
    assert "Did you mean scripted/thinker, scripted/one?" in await room.ask("/model scripted/thinkr")
    assert (await room.session()).overrides.model is None


async def test_a_model_before_a_message_stays_and_the_message_goes_on(room: Room) -> None:
    accepted = await room.accepted("/model thinker what is it?")
    assert accepted.record.inbound.content == (Text("what is it?"),)
    assert (await room.session()).overrides.model == "scripted/thinker"


async def test_the_model_without_a_directory(room: Room) -> None:
    room.command_rules(models=Catalogue(()))
    assert await room.ask("/model x") == "There is no model x. None is configured."
    assert await room.ask("/model list") == "Models:"


async def test_thinking_is_set_as_the_model_allows(room: Room) -> None:
    assert "does not think at level high. Levels of scripted/one: off, default." in await room.ask(
        "/think high"
    )
    thinking(room)
    assert await room.ask("/t high") == "Thinking: high."
    assert (await room.ask("/think")).startswith("Thinking: high; levels of scripted/thinker: off, minimal")
    assert await room.ask("/thinking default") == "Thinking: the model's default."
    assert (await room.session()).overrides.thinking is None


async def test_a_level_before_a_message_is_for_that_message_only(room: Room) -> None:
    thinking(room)
    accepted = await room.accepted("/think high what is it?")
    run = await run_of(room, accepted.record.run_id)
    assert run.request.thinking == "high"
    assert accepted.record.inbound.content == (Text("what is it?"),)
    assert (await room.session()).overrides.thinking is None


async def test_a_level_the_model_has_not_is_said_and_the_message_goes_on_without(room: Room) -> None:
    accepted = await room.accepted("what is it? /think high")
    run = await run_of(room, accepted.record.run_id)
    assert run.request.thinking is None
    assert accepted.record.inbound.content == (Text("what is it?"),)


async def test_a_word_that_is_no_level_is_no_message_either(room: Room) -> None:
    assert (await room.ask("/think about life")).startswith("/think knows no 'about'.")
    assert (await room.snapshot()).queued == ()


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("/verbose full", "verbose", "full"),
        ("/v ON", "verbose", "on"),
        ("/reasoning stream", "reasoning", "stream"),
        ("/send off", "send_policy", SendOverride.DENY),
        ("/send allow", "send_policy", SendOverride.ALLOW),
        ("/send inherit", "send_policy", None),
        ("/queue collect", "queue_mode", "collect"),
        ("/verbose default", "verbose", None),
    ],
)
async def test_what_is_said_is_set_and_stays(room: Room, line: str, field: str, value: object) -> None:
    await room.ask(line)
    await room.accepted("/new")
    assert getattr((await room.session()).overrides, field) == value


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("/verbose", "Verbose: off."),
        ("/verbose loud", "/verbose knows no 'loud'. Say off, on, full, default."),
        ("/reasoning", "Reasoning: off."),
        ("/reasoning maybe", "/reasoning knows no 'maybe'. Say off, on, stream, default."),
        ("/send", "Sending: as configured. Say /send on, /send off or /send inherit."),
        ("/send maybe", "Sending: as configured. Say /send on, /send off or /send inherit."),
        ("/queue", "Queue: steer, debounce 500 ms, cap 20, drop summarize."),
        ("/name", "Name: none."),
        ("/activation always", "A direct chat needs no mention. Say it in a group."),
    ],
)
async def test_without_a_value_or_with_a_wrong_one_nothing_is_set(room: Room, line: str, answer: str) -> None:
    assert await room.ask(line) == answer
    assert (await room.session()).overrides == type((await room.session()).overrides)()


@pytest.mark.requirement("D20", "D47")
async def test_the_owner_says_whether_a_session_sends_and_hears_the_new_setting(room: Room) -> None:
    assert await room.ask("/send off") == "Sending: off."
    assert await room.ask("/send on") == "Sending: on."
    assert await room.ask("/send default") == "Sending: as configured."


async def test_a_queue_is_answered_with_what_holds_now(room: Room) -> None:
    assert await room.ask("/queue followup debounce:2s cap:5 drop:old") == (
        "Queue: followup, debounce 2000 ms, cap 5, drop old."
    )
    assert "Modes are" in await room.ask("/queue often")
    assert await room.ask("/queue default") == "Queue: steer, debounce 500 ms, cap 20, drop summarize."


async def test_a_name_is_one_sessions_alone(room: Room) -> None:
    assert await room.ask("/name The   kitchen", group="g1") == "Name: The kitchen."
    assert await room.ask("/name The kitchen", group="g1") == "Name: The kitchen."
    assert "Label already in use: The kitchen." in await room.ask("/name The kitchen")
    assert "at most 512" in await room.ask(f"/name {'x' * 513}")
    assert await room.ask("/name default", group="g1") == "Name: none."
    assert (await room.session(GROUP)).labels.label is None


async def test_a_group_is_answered_as_the_owner_says(room: Room) -> None:
    assert await room.ask("/activation", group="g1") == "Activation: as configured."
    assert await room.ask("/activation mention", group="g1") == "Activation: mention."
    assert (await room.session(GROUP)).overrides.activation == "mention"


@pytest.mark.requirement("S20")
async def test_a_name_that_somebody_else_uses_is_not_told_by_refusing_it(room: Room) -> None:
    room.change(routing=RoutingRules(dm_scope=DmScope.PER_CHANNEL_PEER))
    await room.ask("/name Secret plan", "eve")
    assert await room.ask("/name Secret plan", "bob") == "Name: Secret plan."


@pytest.mark.requirement("S20")
@pytest.mark.parametrize("name", ["Bank", "Nobody has it", "default"])
async def test_who_takes_part_in_a_group_does_not_name_it(room: Room, name: str) -> None:
    await room.ask("/name Bank")
    await room.ask("/name Kitchen", group="g1")
    told = await room.ask(f"/name {name}", "bob", group="g1")
    assert told == "Only its owner names this session. Ask the owner."
    assert await room.ask("/name", "bob", group="g1") == "Name: Kitchen."
