"""One session as a terminal shows it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from roost.cli.conversation import MISSED, Conversation
from roost.client import Client
from tests.unit.client.gateways import FakeGateway, Refusal
from tests.waiting import until_all_wait

KEY = "agent:main:main"


def message(text: str, **more: object) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}], **more}


def row(seq: int, role: str, text: str, run: str = "r", **more: object) -> dict[str, Any]:
    return {"role": role, "content": text, "__openclaw": {"id": f"e{seq}", "seq": seq, "runId": run}, **more}


class Room:
    """A session with a gateway that says what it is told to."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.under_way: str | None = None
        self.ends: dict[str, dict[str, Any]] = {}
        self.written: list[str] = []
        self.gateway = FakeGateway(
            sessions_messages_subscribe=lambda params: {},
            chat_send=lambda params: {"status": "started"},
            chat_history=lambda params: self._history(),
            agent_wait=lambda params: self.ends.get(params["runId"], {"status": "timeout"}),
        )

    def _history(self) -> dict[str, Any]:
        way = {"inFlightRun": {"runId": self.under_way}} if self.under_way else {}
        return {"sessionKey": KEY, "sessionId": "s", "messages": self.rows, **way}

    @asynccontextmanager
    async def entered(self) -> AsyncIterator[Conversation]:
        async with Client(self.gateway.dial, sleep=self.gateway.sleep) as client:
            conversation = Conversation(client, "main", self.written.append)
            async with anyio.create_task_group() as group:
                group.start_soon(conversation.follow)
                await conversation.entered.wait()
                yield conversation
                group.cancel_scope.cancel()

    @property
    def text(self) -> str:
        return "".join(self.written)

    @property
    def names(self) -> list[str]:
        return [params["idempotencyKey"] for name, params in self.gateway.asked if name == "chat.send"]

    async def says(self, conversation: Conversation, *texts: str) -> None:
        for text in texts:
            await conversation.say(text)
        await conversation.all_sent()

    async def chat(self, run: str, state: str, text: str | None = None, **more: object) -> None:
        words = {} if text is None else {"message": message(text)}
        payload = {"runId": run, "sessionKey": KEY, "state": state, **words, **more}
        await self.gateway.tell("chat", payload)
        await until_all_wait()

    async def answers(self, run: str, text: str) -> None:
        """A command, at once."""
        await self.chat(run, "final", message=message(text, model="gateway-injected", provider="roost"))

    async def stores(self, *rows: dict[str, Any]) -> None:
        for one in rows:
            self.rows.append(one)
            payload = {"sessionKey": KEY, "message": one, "session": {"sessionId": "s"}}
            await self.gateway.tell("session.message", payload)
        await until_all_wait()

    async def cut(self) -> None:
        """Lose the connection; it is made anew."""
        self.gateway.hang_up()
        await until_all_wait()


async def test_a_command_is_answered_between_and_what_joined_the_turn_within_it() -> None:
    room = Room()
    async with room.entered() as conversation:
        await room.says(conversation, "tell me", "/status", "make it blue")
        first, command, joined = room.names
        await room.chat(first, "delta", "Once")
        await room.answers(command, "Session: main")
        await room.chat(joined, "final")
        assert conversation.is_busy()
        await room.stores(row(1, "user", "tell me", idempotencyKey=f"{first}:user"))
        await room.stores(row(2, "user", "make it blue", idempotencyKey=f"{first}:user"))
        await room.chat(first, "final", "Once upon")
        assert not conversation.is_busy()
    assert room.text == "Once\nSession: main\nupon\n"


async def test_what_comes_in_between_is_shown_once_with_where_it_comes_from() -> None:
    room = Room()
    room.rows = [row(1, "user", "earlier")]
    child = {"kind": "inter_session", "sourceRole": "subagent", "sourceSessionKey": "k"}
    async with room.entered() as conversation:
        await room.answers("inject-e2", "It rains.")
        await room.stores(row(2, "user", "It rains.", provenance=child))
        await room.stores(row(3, "assistant", "A note", model="gateway-injected"))
        await room.answers("inject-e3", "A note")
        await room.stores(row(4, "user", "hi", sender="Ada"))
        await room.stores(row(4, "user", "hi", sender="Ada"))
        await room.chat("foreign", "delta", "Hello")
        assert conversation.is_busy()
        await room.chat("foreign", "final", "Hello Ada")
        await room.gateway.tell("chat", {"runId": "x", "sessionKey": "other", "state": "delta"})
        await room.says(conversation, "and me?")
        await room.chat(room.names[0], "final", "You too")
    assert (
        room.text
        == "user: earlier\nsub-agent k: It rains.\nthe gateway: A note\nAda: hi\nHello Ada\nYou too\n"
    )


async def test_what_a_command_within_a_message_gives_is_shown_at_once() -> None:
    room = Room()
    async with room.entered() as conversation:
        await room.says(conversation, "tell me /status")
        await room.answers("inject-i1", "Session: main")
        await room.chat(room.names[0], "final", "Once")
    assert room.text == "Session: main\nOnce\n"


async def test_what_was_stored_while_the_connection_was_lost_is_shown_once_and_the_rest_is_asked_for() -> (
    None
):
    room = Room()
    async with room.entered() as conversation:
        await room.says(conversation, "one", "/status", "two", "three", "four")
        one, command, two, three, four = room.names
        await room.chat(one, "delta", "Once")
        room.rows = [
            row(1, "user", "one", one, idempotencyKey=f"{one}:user"),
            row(2, "assistant", "Once upon", one),
            row(3, "user", "from elsewhere", "x"),
            row(4, "assistant", "NO_REPLY", "x"),
        ]
        room.ends = {
            one: {"status": "ok", "terminalReply": {"text": "Once upon"}},
            command: {"status": "ok", "terminalReply": {"text": "Session: main"}},
            two: {"status": "ok", "terminalReply": {"text": "Once upon"}},
            three: {"status": "error", "error": "broken"},
        }
        await room.cut()
        # It waited to be heard while the same was read.
        await room.chat(one, "delta", "Once")
        await room.chat(one, "final", "Once upon")
        assert room.text == "Once upon\nuser: from elsewhere\nSession: main\nno answer: broken\n"
        assert conversation.is_busy()
        await room.chat(four, "final", "Four")
        assert not conversation.is_busy()
    assert room.text.endswith("no answer: broken\nFour\n")


async def test_a_turn_goes_on_after_a_loss_where_it_was() -> None:
    room = Room()
    async with room.entered() as conversation:
        await room.says(conversation, "one")
        (one,) = room.names
        await room.chat(one, "delta", "Once")
        room.under_way = one
        await room.cut()
        await room.chat(one, "delta", "Once upon")
        await room.chat(one, "final", "Once upon a time")
    assert room.text == "Once upon a time\n"


async def test_a_run_that_goes_by_another_name_after_a_restart_is_shown_once() -> None:
    room = Room()
    async with room.entered() as conversation:
        await room.says(conversation, "one", "two")
        one, two = room.names
        await room.chat(one, "delta", "Once")
        await room.cut()
        await room.chat("run", "delta", "The")
        room.ends[one] = {"status": "ok", "terminalReply": {"text": "The end"}}
        await room.chat("run", "final", "The end")
        assert conversation.is_busy()
        room.ends[two] = {"status": "error", "error": "broken"}
        await room.chat("another", "error", errorMessage="broken")
        assert not conversation.is_busy()
    assert room.text == "Once\nThe end\nno answer: broken\n"


async def test_a_message_that_was_taken_before_the_connection_was_lost_is_asked_after() -> None:
    room = Room()
    room.gateway.replies["chat.send"] = lambda params: {"status": "ok"}
    room.gateway.replies["agent.wait"] = lambda params: {"status": "ok", "terminalReply": {"text": "Late"}}
    async with room.entered() as conversation:
        await room.says(conversation, "one")
        assert not conversation.is_busy()
    assert room.text == "Late\n"


async def test_what_is_refused_or_fails_is_told_and_the_rest_goes_on() -> None:
    def refuse(params: object) -> None:
        raise Refusal(code="INVALID_REQUEST", message="not taken")

    room = Room()
    async with room.entered() as conversation:
        taken = room.gateway.replies["chat.send"]
        room.gateway.replies["chat.send"] = refuse
        await room.says(conversation, "one")
        room.gateway.replies["chat.send"] = taken
        await room.says(conversation, "two")
        name = room.names[-1]
        await room.chat(name, "delta", "Once")
        await room.chat(name, "aborted", errorMessage="stopped")
        await room.chat("silent", "delta", "Well")
        await room.chat("silent", "final")
    assert room.text == "no answer: not taken\nOnce\nno answer: stopped\nWell\n"


async def test_who_leaves_waits_for_nothing_and_what_was_not_sent_is_not() -> None:
    room = Room()
    del room.gateway.replies["chat.send"]
    async with room.entered() as conversation:
        await conversation.say("one")
        await conversation.say("two")
        await until_all_wait()
        conversation.leave()
        await until_all_wait()
        assert not conversation.is_busy()
        await conversation.all_sent()
    assert len(room.names) == 1


async def test_words_that_were_not_taken_here_are_shown_when_another_says_them() -> None:
    def refuse(params: object) -> None:
        raise Refusal(code="INVALID_REQUEST", message="not taken")

    room = Room()
    async with room.entered() as conversation:
        room.gateway.replies["chat.send"] = refuse
        await room.says(conversation, "one")
        del room.gateway.replies["chat.send"]
        for text in ("two", "three"):
            await conversation.say(text)
        await until_all_wait()
        conversation.leave()
        await until_all_wait()
        said = ("one", "two", "three")
        await room.stores(*(row(seq, "user", text, sender="Ada") for seq, text in enumerate(said, 1)))
    assert room.text == "no answer: not taken\nAda: one\nAda: two\nAda: three\n"


async def test_words_of_a_turn_that_failed_while_nobody_heard_are_shown_when_another_says_them() -> None:
    room = Room()
    async with room.entered() as conversation:
        await room.says(conversation, "one")
        room.ends[room.names[0]] = {"status": "error", "error": "lost"}
        await room.cut()
        await room.stores(row(1, "user", "one", sender="Ada"))
    assert room.text == "no answer: lost\nAda: one\n"


async def test_of_what_was_shown_no_more_is_kept_than_can_be_read_again() -> None:
    room = Room()
    async with room.entered() as conversation:
        for first in range(1, 3 * MISSED, MISSED):
            await room.stores(*(row(seq, "user", f"say {seq}") for seq in range(first, first + MISSED)))
            room.rows = room.rows[-MISSED:]
        assert len(conversation._notes) == MISSED
        await room.cut()
    assert room.text.count("say ") == 3 * MISSED


async def test_a_session_that_cannot_be_heard_is_told_and_answers_nothing() -> None:
    def refuse(params: object) -> None:
        raise Refusal(code="INVALID_REQUEST", message="no such agent")

    room = Room()
    room.gateway.replies["chat.history"] = refuse
    async with room.entered() as conversation:
        await conversation.say("hello")
        assert not conversation.is_busy()
    assert room.text == "nothing can be heard: no such agent\nno answer: no such agent\n"
