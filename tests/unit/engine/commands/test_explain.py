from dataclasses import replace

import pytest

from roost.core.addresses import Address
from roost.core.admission import ChannelPolicy
from roost.core.deliveries import DeliveryState, Rejected
from roost.core.effects import AddDelivery, AppendEntries, EndRun, RecordDenial
from roost.core.entries import EntryDraft
from roost.core.keys import SessionKey
from roost.core.ledger import Denial
from roost.core.messages import AssistantMessage, Text
from roost.core.principals import OWNER
from roost.core.refusals import REPEATED_MS
from roost.core.runs import Outcome, RunState
from roost.core.threads import BindThread, ThreadBinding
from roost.engine.inbox import TurnedAway
from roost.ports import Accepted
from roost.testing import builders
from roost.testing.builders import MAIN
from tests.unit.engine.commands.rooms import OPEN, Room


async def ended(room: Room, words: str = "well", *, state: RunState = RunState.DONE) -> str:
    """A message was answered, or not."""
    await room.accepted("hello")
    (run,) = await room.claimed()
    assert run.claim is not None
    await room.store.take_inputs(run.claim, lambda records: (builders.said("e1", "hello"),))
    at = room.scene.clock.now()
    answer = AssistantMessage(content=(Text(words),), at=at, provider="p", model="m")
    outcome = Outcome(
        state=state,
        at=at,
        model="p/m",
        model_reason="set on this session",
        error="it broke" if state is RunState.FAILED else None,
    )
    await room.store.finish_run(
        run.claim,
        lambda snapshot: (
            AppendEntries(key=MAIN, drafts=(EntryDraft(id="e2", body=answer, run_id=run.id),)),
            EndRun(run_id=run.id, outcome=outcome),
        ),
    )
    room.scene.clock.advance(5000)
    return run.id


@pytest.mark.requirement("F9", "P29")
async def test_a_route_is_explained_by_its_stored_rule(room: Room) -> None:
    assert await room.ask("/explain route") == (
        "Session: agent:main:main, because of the default agent and session.dmScope=main."
    )


async def test_a_bound_thread_is_explained_by_who_bound_it(room: Room) -> None:
    await room.accepted("hello")
    address = Address(channel="loopback", to="ada", thread="t1")
    binding = ThreadBinding(address=address, key=MAIN, bound_by=OWNER, bound_at=1, used_at=2**50)
    await room.snapshot(MAIN, BindThread(binding=binding))
    accepted = await room.inbox.receive(room.envelope("/explain route", thread="t1"))
    assert not isinstance(accepted, TurnedAway)
    assert accepted.record.answer == "Session: agent:main:main, because owner bound this thread to it."


@pytest.mark.requirement("F9", "P18")
async def test_a_model_is_explained_by_the_reason_of_the_run(room: Room) -> None:
    assert "the next answer comes from scripted/one (the only model)" in await room.ask("/explain model")
    await ended(room)
    assert await room.ask("/explain model") == ("Model: the last answer came from p/m (set on this session).")


@pytest.mark.requirement("F9", "P9")
async def test_a_reset_is_explained_by_its_rule_and_its_time(room: Room) -> None:
    assert "has just begun" in await room.ask("/explain reset")
    await room.accepted("hello")
    await room.accepted("/new x")
    text = await room.ask("/explain reset")
    assert "because a new one was asked for (trigger /new)." in text
    assert "(default: daily at 04:00)" in text


@pytest.mark.requirement("F9", "P29")
async def test_a_silence_is_explained(room: Room) -> None:
    assert await room.ask("/explain silence") == "Silence: no run has ended here."
    await ended(room)
    assert await room.ask("/explain silence") == "Silence: none; the last answer was given 5s ago."


async def test_a_silence_the_model_chose(room: Room) -> None:
    await ended(room, "NO_REPLY")
    assert "the model answered NO_REPLY 5s ago" in await room.ask("/explain silence")


async def test_a_silence_of_a_run_that_failed(room: Room) -> None:
    await ended(room, state=RunState.FAILED)
    assert "the last run failed 5s ago: it broke." in await room.ask("/explain silence")


async def test_a_silence_by_send_policy(room: Room) -> None:
    run_id = await ended(room)
    denial = Denial(
        at=1, operation="send", principal=OWNER, rule="rules[0]", reason="x", caller=MAIN, target=run_id
    )
    await room.snapshot(MAIN, RecordDenial(denial=denial))
    assert await room.ask("/explain silence") == "Silence: the last answer was not sent, because of rules[0]."


async def test_a_silence_of_a_channel(room: Room) -> None:
    await ended(room)
    await room.snapshot(MAIN, AddDelivery(delivery=builders.delivery("d1")))
    (delivery,) = await room.store.claim_deliveries(room.scene.lease, 1)
    assert delivery.claim is not None
    await room.store.settle_delivery(delivery.claim, Rejected(error="the chat is gone"))
    assert await room.ask("/explain silence") == "Silence: a message could not be sent: the chat is gone."


@pytest.mark.requirement("F9", "P29")
async def test_what_concerns_a_session_is_explained_however_much_else_there_is(room: Room) -> None:
    run_id = await ended(room)
    elsewhere = SessionKey.named("main", "elsewhere")
    held = Denial(
        at=1, operation="send", principal=OWNER, rule="rules[0]", reason="x", caller=MAIN, target=run_id
    )
    other = replace(held, at=2, caller=elsewhere, target="another run")
    door = replace(held, at=3, operation="inbound", caller=None, target=None)
    many = 1_000
    noise = [RecordDenial(denial=one) for one in (other, door) for _ in range(many)]
    await room.snapshot(MAIN, RecordDenial(denial=held), *noise)
    assert await room.ask("/explain silence") == "Silence: the last answer was not sent, because of rules[0]."
    told = (await room.ask("/explain denial")).splitlines()
    assert len(told) == 1 + 1 + 5
    assert told[-1].endswith("send by owner: x (rules[0])")


@pytest.mark.requirement("F9", "P29")
async def test_a_message_that_a_channel_lost_is_found_behind_those_of_others(room: Room) -> None:
    await ended(room)
    elsewhere = await room.spawn("elsewhere")
    lost = [replace(builders.delivery(f"d{n}", elsewhere), state=DeliveryState.FAILED) for n in range(1_000)]
    own = replace(builders.delivery("own"), state=DeliveryState.FAILED, error="the chat is gone")
    await room.snapshot(elsewhere, *(AddDelivery(delivery=one) for one in lost))
    await room.snapshot(MAIN, AddDelivery(delivery=own))
    assert await room.ask("/explain silence") == "Silence: a message could not be sent: the chat is gone."


@pytest.mark.requirement("F9", "P29")
async def test_a_message_without_a_mention_says_why_it_got_no_answer(room: Room) -> None:
    closed = replace(OPEN, require_mention=True)
    room.change(doors={"loopback": closed})
    for _ in range(3):
        await room.inbox.receive(room.envelope("lunch?", "bob", group="g1"))
    room.scene.clock.advance(5000)
    asked = replace(room.envelope("/explain silence", "bob", group="g1"), mentions_bot=True)
    accepted = await room.inbox.receive(asked)
    assert isinstance(accepted, Accepted)
    assert accepted.record.answer == (
        "Silence: no run has ended here. A message without a mention got no answer 5s ago (requireMention)."
    )
    assert await room.ask("/explain silence") == "Silence: no run has ended here."


@pytest.mark.requirement("F9")
async def test_an_answer_long_after_it_puts_an_end_to_a_missing_mention(room: Room) -> None:
    note = Denial(at=0, operation="inbound", principal=OWNER, rule="requireMention", reason="x", caller=MAIN)
    now = room.scene.clock.now()
    await room.accepted("hi")
    await room.snapshot(MAIN, RecordDenial(denial=replace(note, at=now - REPEATED_MS)))
    await ended(room)
    assert "mention" not in await room.ask("/explain silence")
    await room.snapshot(MAIN, RecordDenial(denial=replace(note, at=now - REPEATED_MS + 1)))
    assert "got no answer 1h ago (requireMention)." in await room.ask("/explain silence")


@pytest.mark.requirement("F9", "P29")
async def test_the_owner_sees_what_was_refused_here_and_at_the_door_and_others_their_own(room: Room) -> None:
    assert await room.ask("/explain denial") == "Denials: none."
    room.change(doors={"loopback": ChannelPolicy(owner_ids=("loopback:ada",))})
    await room.inbox.receive(room.envelope("let me in", "eve"))
    room.change(doors={"loopback": OPEN})
    await room.ask("/send off", "bob")
    owner = await room.ask("/explain denial")
    assert "inbound by person:loopback:eve: a message on loopback was not let in (dmPolicy=pairing)" in owner
    assert "/send by person:loopback:bob" in owner
    theirs = await room.ask("/explain denial", "bob")
    assert "eve" not in theirs
    assert "/send by person:loopback:bob" in theirs


async def test_all_of_it_at_once_and_nothing_else(room: Room) -> None:
    text = await room.ask("/explain")
    assert [line.partition(":")[0] for line in text.splitlines()] == [
        "Session",
        "Model",
        "Reset",
        "Silence",
        "Denials",
        "Trace",
        "Cost",
    ]
    assert "Say one of route, model" in await room.ask("/explain life")
