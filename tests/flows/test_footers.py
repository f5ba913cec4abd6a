"""What is shown with an answer, as the clients of a session are told it."""

from typing import Any

from roost.core.messages import Usage
from roost.core.queries import LedgerQuery
from roost.testing.scripts import Say, Spend, Think
from roost.testing.wires import LocalClient
from tests.flows.served import Gate, Opened, send

USAGE = Usage(input=1_200, output=3, total=1_203, cost_micros=5_000)


async def answered(gate: Gate, client: LocalClient, name: str) -> tuple[dict[str, Any], list[str]]:
    """The message of a turn as its end tells it, and what was thought and said, in the order it was told."""
    gate.bench.model.add((Think("two "), Think("and two"), Say("four"), Spend(USAGE)))
    await client.call("chat.send", send("two and two?", name))
    message = (await client.event("chat", runId=name, state="final"))["message"]
    streams = (event["payload"] for event in client.events if event["payload"].get("runId") == name)
    told = [
        f"{one['stream']}: {one['data']['text']}"
        for one in streams
        if one.get("stream") in ("thinking", "assistant")
    ]
    return message, told


async def set_(client: LocalClient, command: str) -> None:
    await client.call("chat.send", send(command, command))
    await client.event("chat", runId=command, state="final")


async def test_nothing_is_told_beside_an_answer_unless_it_was_asked_for(opened: Opened) -> None:
    async with opened() as (gate, client):
        message, told = await answered(gate, client, "run-1")
        assert (message["content"], told) == ([{"type": "text", "text": "four"}], ["assistant: four"])
        assert message.keys() == {"role", "content", "timestamp"}


async def test_reasoning_is_told_before_the_answer_and_stands_with_it(opened: Opened) -> None:
    async with opened() as (gate, client):
        await set_(client, "/reasoning on")
        message, told = await answered(gate, client, "run-1")
        assert message["content"] == [
            {"type": "thinking", "thinking": "two and two"},
            {"type": "text", "text": "four"},
        ]
        assert told == ["thinking: two and two", "assistant: four"]
        row = (await client.call("sessions.describe", {"key": "main"}))["session"]
        assert row["reasoningLevel"] == "on"


async def test_figures_that_the_provider_did_not_count_are_told_as_estimated(opened: Opened) -> None:
    async with opened() as (gate, client):
        await set_(client, "/usage tokens")
        gate.bench.model.add((Say("four"),))
        await client.call("chat.send", send("two and two?", "run-1"))
        message = (await client.event("chat", runId="run-1", state="final"))["message"]
        (row,) = await gate.bench.store.ledger(LedgerQuery(), offset=0, limit=9)
        assert message["usage"]["estimated"] is True
        assert (message["usage"]["input"], message["usage"]["output"]) == (row.usage.input, row.usage.output)


async def test_figures_stand_with_the_answer_as_far_as_they_were_asked_for(opened: Opened) -> None:
    async with opened() as (gate, client):
        await set_(client, "/usage tokens")
        message, _ = await answered(gate, client, "run-1")
        assert (message["usage"]["input"], message["usage"]["output"]) == (1_200, 3)
        assert "cost" not in message["usage"]
        assert "model" not in message
        await client.call("sessions.patch", {"key": "main", "responseUsage": "full"})
        message, _ = await answered(gate, client, "run-2")
        assert (message["provider"], message["model"]) == ("scripted", "one")
        assert message["usage"]["cost"] == {"total": 0.005}
        row = (await client.call("sessions.describe", {"key": "main"}))["session"]
        assert row["responseUsage"] == "full"
        read = await client.call("chat.history", {"sessionKey": "main"})
        assert read["messages"][-1]["content"][-1] == {"type": "text", "text": "four"}
