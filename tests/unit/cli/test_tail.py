"""`roost sessions tail` on the terminal."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio import to_thread

from roost.app.serving import Served
from roost.cli.main import main
from roost.cli.tail import MOST_KNOWN, PAGE, Tail, tail
from roost.cli.where import Where, gateway
from roost.client import Client
from roost.core.errors import NotFound, RoostError
from tests.unit.cli.conftest import Screen, Told
from tests.unit.client.gateways import FakeGateway, Refusal
from tests.waiting import until_all_wait

KEY = "agent:main:main"


class Room:
    """A session with a gateway that tells of what is stored there as it is told to."""

    def __init__(self, *texts: str) -> None:
        self.rows = [self._row(number, text) for number, text in enumerate(texts, 1)]
        self.shown: list[str] = []
        self.gateway = FakeGateway(
            sessions_messages_subscribe=lambda params: {}, sessions_timeline=self._timeline
        )

    @asynccontextmanager
    async def followed(self, lines: int = 10) -> AsyncIterator[None]:
        with anyio.fail_after(20):
            async with Client(self.gateway.dial, sleep=self.gateway.sleep) as client:
                tail = Tail(client, "main", lambda row: self.shown.append(str(row["content"])))
                async with anyio.create_task_group() as group:
                    group.start_soon(tail.follow, lines)
                    await until_all_wait()
                    yield
                    group.cancel_scope.cancel()

    def stores(self, *texts: str) -> None:
        self.rows += [self._row(number, text) for number, text in enumerate(texts, len(self.rows) + 1)]

    async def tells(self, place: int = -1) -> None:
        """Of one that is stored."""
        told = {"sessionKey": KEY, "messageId": self.rows[place]["__openclaw"]["id"]}
        await self.gateway.tell("session.message", told)
        await until_all_wait()

    async def cut(self) -> None:
        """Lose the connection; it is made anew."""
        self.gateway.hang_up()
        await until_all_wait()

    @staticmethod
    def _row(number: int, text: str) -> dict[str, Any]:
        return {"role": "user", "content": text, "__openclaw": {"id": f"e{number}-{text}", "seq": number}}

    def _timeline(self, params: dict[str, Any]) -> dict[str, Any]:
        end = int(params["before"].partition(":")[2]) if "before" in params else len(self.rows)
        start = max(end - params["limit"], 0)
        return {"messages": self.rows[start:end], "before": f"1:{start}" if start else None}


async def test_what_was_said_last_is_shown_and_then_what_is_said() -> None:
    room = Room("a", "b", "c")
    async with room.followed(2):
        assert room.shown == ["b", "c"]
        room.stores("d", "e")
        await room.tells(-2)
        await room.tells()
    assert room.shown == ["b", "c", "d", "e"]
    assert room.gateway.count("sessions.timeline") == 2


async def test_no_message_is_lost_or_shown_twice_over_a_lost_connection() -> None:
    room = Room("a")
    async with room.followed():
        missed = [f"m{number}" for number in range(2 * PAGE + 5)]
        room.stores(*missed)
        await room.cut()
        await room.cut()
        await room.tells()
        room.stores("z")
        await room.tells()
    assert room.shown == ["a", *missed, "z"]
    assert room.gateway.dialled == 3


async def test_one_that_is_told_of_before_those_that_were_missed_does_not_hide_them() -> None:
    room = Room("a")
    async with room.followed():
        room.stores("missed", "told")
        await room.tells()
    assert room.shown == ["a", "missed", "told"]


async def test_where_the_last_one_was_removed_meanwhile_it_goes_on_after_those_before_it() -> None:
    room = Room("a", "b")
    async with room.followed():
        del room.rows[1]
        room.stores("c")
        await room.cut()
    assert room.shown == ["a", "b", "c"]


async def test_more_lines_than_are_remembered_are_shown_once() -> None:
    texts = [str(number) for number in range(MOST_KNOWN + PAGE)]
    room = Room(*texts, "last")
    async with room.followed(len(texts)):
        assert room.shown == [*texts[1:], "last"]
        await room.cut()
    assert room.shown == [*texts[1:], "last"]


async def test_none_of_the_last_can_be_asked_for() -> None:
    room = Room("a")
    async with room.followed(0):
        room.stores("b")
        await room.tells()
    assert room.shown == ["b"]


async def test_what_a_session_that_was_empty_holds_first_is_shown() -> None:
    room = Room()
    async with room.followed():
        room.stores("a", "b")
        await room.tells(0)
    assert room.shown == ["a", "b"]


async def test_a_gateway_that_lets_nobody_in_any_more_ends_it_with_its_reason() -> None:
    room = Room("a")
    with pytest.RaisesGroup(pytest.RaisesExc(RoostError, match="token mismatch")):
        async with room.followed():
            refusal = Refusal(code="UNAUTHORIZED", message="token mismatch", details={})
            room.gateway.replies["connect"] = lambda params: _raise(refusal)
            await room.cut()
            await anyio.sleep_forever()


async def test_a_session_that_is_gone_when_there_is_a_gateway_again_ends_it() -> None:
    room = Room("a")
    with pytest.RaisesGroup(pytest.RaisesExc(NotFound, match="no session main")):
        async with room.followed():
            gone = Refusal(code="INVALID_REQUEST", message="gone", details={"code": "not_found"})
            room.gateway.replies["sessions.timeline"] = lambda params: _raise(gone)
            await room.cut()
            await anyio.sleep_forever()


def _raise(error: Exception) -> None:
    raise error


@pytest.mark.parametrize("as_json", [False, True], ids=["for people", "for programs"])
async def test_a_conversation_is_followed_through_the_gateway_that_runs(
    served: Served, as_json: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    with anyio.fail_after(60):
        async with gateway(Where()) as client, anyio.create_task_group() as group:
            await client.ask("the first")

            async def follow() -> None:
                await tail("main", lines=1, where=Where(json=as_json))

            group.start_soon(follow)
            await to_thread.run_sync(screen.shows, "demo")
            answer = await client.ask("what is a session?")
            await to_thread.run_sync(screen.shows, answer[-20:] + ('"}]' if as_json else "\n"))
            group.cancel_scope.cancel()
    said = screen.getvalue()
    if as_json:
        roles = [json.loads(line)["role"] for line in said.splitlines()]
        assert roles == ["assistant", "user", "assistant"]
    else:
        assert said.startswith("assistant: ")
        assert said.endswith(f"\nuser: what is a session?\nassistant: {answer}\n")


def test_without_a_gateway_the_last_messages_are_shown_and_that_there_is_nothing_to_follow(
    told: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    told("agent", "--message", "the first")
    assert main(["sessions", "tail", "main", "-n", "2"]) == 3
    said = capsys.readouterr()
    assert said.out.startswith("user: the first\nassistant: ")
    assert "so nothing more is heard here" in said.err
    assert "roost gateway run" in said.err
    assert main(["sessions", "tail", "main", "-n", "1", "--json"]) == 3
    said = capsys.readouterr()
    assert json.loads(said.out)["role"] == "assistant"
    assert json.loads(said.err)["error"]["code"] == "unreachable"


def test_a_gateway_that_was_named_must_be_there_to_be_followed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "tail", "main", "--url", "ws://127.0.0.1:1", "--token", "t"]) == 3
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("wrong", "told"), [(["nope"], "no session nope"), (["main", "-n", "-1"], "0 shows")]
)
def test_what_cannot_be_followed_is_said(
    served: Served, wrong: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sessions", "tail", *wrong]) == 1
    assert told in capsys.readouterr().err
