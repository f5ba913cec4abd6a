"""`roost.Client`."""

from typing import Any

import anyio
import pytest

from roost.client import Answer, Client, Delta, Piece, Refused
from roost.client.client import WAIT_MS
from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonObject
from roost.protocol.families.sessions import LIST
from tests.unit.client.gateways import FakeGateway, Refusal


async def test_a_method_of_the_table_or_a_name_is_answered_alike() -> None:
    gateway = FakeGateway(sessions_list=lambda params: {"sessions": [params]})
    async with Client(gateway.dial, token="t") as client:
        assert (await client.call(LIST, {"limit": 1}))["sessions"] == [{"limit": 1}]
        assert await client.call("sessions.list") == {"sessions": [{}]}
    assert gateway.asked[0][1]["auth"] == {"token": "t"}


async def test_a_client_outside_of_its_block_says_so_instead_of_waiting() -> None:
    client = Client(FakeGateway(health=lambda params: {}).dial)
    with pytest.raises(InvalidInput, match="no connection") as told, anyio.fail_after(5):
        await client.call("health")
    assert "async with" in (told.value.hint or "")


async def test_what_goes_wrong_in_the_block_leaves_it_as_it_is() -> None:
    def refuse(params: object) -> None:
        raise Refusal(code="FORBIDDEN", message="missing scope")

    gateway = FakeGateway(health=refuse)
    with pytest.raises(Refused, match="missing scope"):
        async with Client(gateway.dial, password="p") as client:
            await client.call("health")


async def test_a_turn_is_followed_to_its_answer() -> None:
    gateway = FakeGateway(chat_send=lambda params: {"status": "started"})
    message = {"content": [{"type": "text", "text": "hi"}]}

    async def speak() -> None:
        while not gateway.count("chat.send"):
            await anyio.lowlevel.checkpoint()
        run = gateway.asked[-1][1]["idempotencyKey"]
        await gateway.tell("tick", {})
        await gateway.tell("chat", {"runId": run, "state": "delta", "deltaText": "hi", "message": message})
        await gateway.tell("chat", {"runId": run, "state": "final", "message": message})

    with anyio.fail_after(60):
        async with Client(gateway.dial) as client, anyio.create_task_group() as group:
            group.start_soon(speak)
            pieces = [piece async for piece in client.chat("hello", more={"thinking": "low"})]
    assert pieces == [Delta(text="hi", added="hi"), Answer(text="hi")]
    assert gateway.asked[-1][1]["thinking"] == "low"


async def test_what_joins_another_turn_is_answered_with_that() -> None:
    gateway = FakeGateway(chat_send=lambda params: {"status": "started"})
    answers = iter([{"status": "timeout"}, {"status": "ok", "terminalReply": {"text": "to both"}}])
    gateway.replies["agent.wait"] = lambda params: next(answers)

    async def join() -> None:
        while not gateway.count("chat.send"):
            await anyio.lowlevel.checkpoint()
        await gateway.tell("chat", {"runId": gateway.asked[-1][1]["idempotencyKey"], "state": "final"})

    with anyio.fail_after(60):
        async with Client(gateway.dial, sleep=gateway.sleep) as client, anyio.create_task_group() as group:
            group.start_soon(join)
            assert await client.ask("hello") == "to both"


async def test_a_turn_whose_connection_is_lost_is_waited_for_on_the_next() -> None:
    gateway = FakeGateway(chat_send=lambda params: {"status": "started"})
    answers = iter([{"status": "timeout"}, {"status": "ok", "terminalReply": {"text": "late"}}])
    gateway.replies["agent.wait"] = lambda params: next(answers)

    async def cut() -> None:
        while not gateway.count("chat.send"):
            await anyio.lowlevel.checkpoint()
        gateway.hang_up()

    with anyio.fail_after(60):
        async with Client(gateway.dial, sleep=gateway.sleep) as client, anyio.create_task_group() as group:
            group.start_soon(cut)
            assert await client.ask("hello") == "late"


async def test_what_was_said_before_is_answered_from_what_is_known() -> None:
    gateway = FakeGateway(chat_send=lambda params: {"status": "ok"})
    gateway.replies["agent.wait"] = lambda params: {
        "status": "ok",
        "terminalReply": {"text": params["runId"]},
    }
    async with Client(gateway.dial) as client:
        assert [piece async for piece in client.chat("hello", name="mine")] == [Answer(text="mine")]


async def test_messages_of_one_name_to_two_sessions_are_answered_each_with_its_own() -> None:
    def send(params: dict[str, Any]) -> object:
        return {"status": "started", "sessionKey": f"agent:main:{params['sessionKey']}"}

    gateway, heard = FakeGateway(chat_send=send), dict[str, list[Piece]]()

    async def speak() -> None:
        while gateway.count("chat.send") < 2:
            await anyio.lowlevel.checkpoint()
        for key in ("two", "one"):
            told = {"runId": "same", "sessionKey": f"agent:main:{key}", "state": "final"}
            await gateway.tell("chat", {**told, "message": {"content": f"words of {key}"}})

    async def ask(client: Client, session: str) -> None:
        heard[session] = [piece async for piece in client.chat("hello", session, name="same")]

    with anyio.fail_after(60):
        async with Client(gateway.dial) as client, anyio.create_task_group() as group:
            group.start_soon(speak)
            group.start_soon(ask, client, "one")
            group.start_soon(ask, client, "two")
    assert heard == {key: [Answer(text=f"words of {key}")] for key in ("one", "two")}


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ({"sessionKey": "agent:helper:main"}, {"sessionKey": "agent:helper:main"}),
        ({}, {"sessionKey": "main", "agentId": "helper"}),
    ],
)
async def test_what_was_said_before_is_asked_for_in_its_session(said: JsonObject, asked: JsonObject) -> None:
    gateway = FakeGateway(agent=lambda params: {"status": "ok", **said})
    gateway.replies["agent.wait"] = lambda params: {"status": "ok"}
    async with Client(gateway.dial) as client:
        pieces = [piece async for piece in client.run("hello", name="mine", more={"agentId": "helper"})]
    assert pieces == [Answer(text=None)]
    assert gateway.asked[-1] == ("agent.wait", {"runId": "mine", "timeoutMs": WAIT_MS, **asked})
