import pytest

from roost.core.channels import ChannelAbilities
from roost.core.effects import ChangeSession, QueueRun
from roost.core.errors import NotFound
from roost.core.ledger import LedgerRow
from roost.core.messages import Usage
from roost.core.principals import OWNER
from roost.core.runs import Request, Run, RunKind, Step, StepKind
from roost.core.sessions import Counters, Session
from roost.engine.rules import Part
from roost.testing import builders
from roost.testing.builders import MAIN
from tests.unit.engine.commands.rooms import Room


def row(name: str, key: object = MAIN) -> LedgerRow:
    return LedgerRow(
        id=name,
        at=1,
        key=key,  # type: ignore[arg-type]
        session_id="s",
        principal=OWNER,
        run_id="r",
        run_kind=RunKind.TURN,
        provider="p",
        model="m",
        usage=Usage(input=1_200, output=30, cost_micros=2_000),
    )


@pytest.mark.requirement("D49")
async def test_the_card_of_a_fresh_session(room: Room) -> None:
    room.command_rules(version="1.2")
    room.scene.clock.advance(61_000)
    lines = (await room.ask("/status")).splitlines()
    assert lines[0].startswith("Roost 1.2 · reachable, up 1m01s")
    assert lines[1:] == [
        "Session: agent:main:main (Ada), 0 entries, updated now",
        "Model: scripted/one (the only model), window 100k",
        "Context: 0 tokens, 0 compactions",
        "Tokens: 0 in, 0 out, $0.0000 in 0 model calls",
        "Settings: think default, verbose off, reasoning off, usage off, sending as configured",
        "Queue: steer, 0 messages waiting, at most 20",
        "Work: nothing is running",
    ]


async def test_the_card_of_a_session_at_work(room: Room) -> None:
    await room.accepted("hello")
    child = await room.spawn("kid")
    (run, _) = sorted(await room.claimed(), key=lambda one: str(one.key))
    assert run.claim is not None
    await room.store.begin_step(run.claim, Step(kind=StepKind.MODEL, at=room.scene.clock.now()))
    await room.store.record_usage(row("a"))
    await room.store.record_usage(row("b", child))
    counters = Counters(total=25_000, context_window=100_000, compactions=1)
    await room.snapshot(
        MAIN,
        ChangeSession(key=MAIN, counters=counters),
        QueueRun(run=builders.run("x", request=Request(exchange_id="x1"))),
    )
    await room.accepted("and this")
    room.scene.clock.advance(5_000)
    card = await room.ask("/status")
    assert "Context: 25k of 100k tokens (25%), 1 compaction" in card
    assert "Tokens: 1.2k in, 30 out, $0.0020 in 1 model call; sub-agents 1 model call" in card
    assert "Queue: steer, 1 message waiting" in card
    assert (
        "Work: a turn for 5s, asking the model, 1 run queued, 1 sub-agent at work, 1 exchange with other sessions"
        in card
    )
    await room.store.begin_step(run.claim, Step(kind=StepKind.TOOL, at=1, tool="exec", call_id="c"))
    assert "in tool exec" in await room.ask("/status")
    await room.ask("/stop")
    assert "in tool exec, being stopped" in await room.ask("/status")


async def test_what_is_set_is_shown(room: Room) -> None:
    for line in ("/send off", "/verbose full", "/reasoning on", "/usage full", "/name Kitchen"):
        await room.ask(line, group="g1")
    await room.ask("/activation always", group="g1")
    card = await room.ask("/status", group="g1")
    assert "(Kitchen)" in card
    assert "verbose full, reasoning on, usage full, sending off, activation always" in card


async def test_a_model_that_cannot_be_had_is_said(room: Room) -> None:
    def cast(session: Session, run: Run) -> Part:
        raise NotFound("there is no model x", hint="choose another")

    room.change(cast=cast)
    assert "Model: none can answer, there is no model x (choose another)" in await room.ask("/status")
    assert "Model: none can answer" in await room.ask("/explain model")


@pytest.mark.requirement("D49")
async def test_the_age_of_a_channels_credential_is_shown_where_the_channel_knows_it() -> None:
    room = Room(abilities=ChannelAbilities(longest=4000, credential_at=0))
    assert "channel credential renewed" in (await room.ask("/status")).splitlines()[0]


async def test_a_conversation_that_goes_on_from_an_earlier_one_does_not_look_empty(room: Room) -> None:
    await room.accepted("hello")
    await room.accepted("/new")
    await room.ask("/back")
    lines = (await room.ask("/status")).splitlines()
    assert "entries after those that it goes on from, updated" in lines[1]
    assert lines[3] == "Context: that of the conversation it goes on from, counted with the next answer"
