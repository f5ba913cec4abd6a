from dataclasses import replace

import pytest

from roost.core.addresses import Address
from roost.core.principals import OWNER, Principal, person
from roost.core.threads import BindThread, ThreadBinding
from roost.engine.inbox import TurnedAway
from roost.testing.builders import MAIN
from tests.unit.engine.commands.rooms import Room

THREAD = Address(channel="loopback", to="bob", thread="t1")


async def bound(room: Room, by: Principal = OWNER) -> None:
    await room.accepted("hello")
    binding = ThreadBinding(
        address=THREAD, key=MAIN, bound_by=by, bound_at=room.scene.clock.now(), used_at=2**50
    )
    await room.snapshot(MAIN, BindThread(binding=binding))


async def ask(room: Room, text: str, who: str = "bob") -> str:
    envelope = room.envelope(text, who, thread="t1")
    envelope = replace(envelope, conversation=replace(envelope.conversation, peer="bob"))
    accepted = await room.inbox.receive(envelope)
    assert not isinstance(accepted, TurnedAway)
    return accepted.record.answer or ""


async def test_a_chat_that_is_not_bound(room: Room) -> None:
    assert (await room.ask("/session")).startswith("This chat is not bound to a session.")


async def test_a_binding_is_shown_changed_and_ended_by_who_made_it(room: Room) -> None:
    await bound(room, person("loopback", "bob"))
    assert (await ask(room, "/session")).endswith("Ends when idle: never; when old: never.")
    assert "when idle: 24h00m00s" in await ask(room, "/session idle 24h")
    assert "when old: 168h00m00s" in await ask(room, "/session max-age 7d")
    assert "when idle: never" in await ask(room, "/session idle off")
    assert await ask(room, "/session unbind") == "This thread is no longer bound."
    assert await room.store.thread_binding(THREAD) is None


async def test_others_than_the_binder_and_the_owner_may_look_only(room: Room) -> None:
    await bound(room)
    assert "is bound to agent:main:main" in await ask(room, "/session")
    assert await ask(room, "/session unbind") == (
        "Only who bound this thread, or the owner, may change that. Ask one of them."
    )
    assert await ask(room, "/session unbind", "ada") == "This thread is no longer bound."


@pytest.mark.parametrize(
    ("text", "told"), [("/session idle soon", "is no time"), ("/session dance", "knows no")]
)
async def test_what_a_binding_does_not_know(room: Room, text: str, told: str) -> None:
    await bound(room, person("loopback", "bob"))
    assert told in await ask(room, text)
