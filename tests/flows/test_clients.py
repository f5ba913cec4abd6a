"""What clients of the protocol live through, over each store."""

from dataclasses import replace
from typing import Any

import anyio
import pytest

from roost.core.messages import Image, Text, ToolCall, Usage, UserMessage, text_of
from roost.core.models import FailureKind, ToolSpec
from roost.core.queuesettings import DropPolicy, QueueMode, QueuePolicy, QueueSettings
from roost.core.tools import Invocation, ToolOutcome, ToolTraits
from roost.ports import Report
from roost.testing.scripts import CallTool, Fail, Hang, Say, Spend, Think, Until
from roost.testing.wires import Refused
from tests.flows.served import Opened, send

MAIN = "agent:main:main"


class Counts:
    spec = ToolSpec(name="exec", description="Counts.", parameters={})
    traits = ToolTraits()

    async def run(self, invocation: Invocation, report: Report) -> ToolOutcome:
        await report("one\n")
        return ToolOutcome(content=(Text("1"),))


async def test_a_turn_is_told_in_the_order_clients_know(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Say("Hello"), Spend(Usage(output=7))))
        await client.call("sessions.messages.subscribe", {"key": "main"})
        sent = await client.call("chat.send", send("hi", "run-1"))
        assert sent == {"runId": "run-1", "sessionKey": MAIN, "status": "started"}
        final = await client.event("chat", state="final")
        assert final["message"]["content"] == [{"type": "text", "text": "Hello"}]
        assert (final["runId"], final["sessionKey"], final["stopReason"]) == ("run-1", MAIN, "stop")
        told = [
            (
                event["event"],
                payload.get("state") or payload.get("stream"),
                (payload.get("data") or {}).get("phase"),
            )
            for event in client.events[1:]
            if (payload := event["payload"])
        ]
        assert told == [
            ("session.message", None, None),
            *[("chat", "status", None), ("agent", "run_status", "preparing_workspace")],
            *[("chat", "status", None), ("agent", "run_status", "preparing_context")],
            ("agent", "lifecycle", "start"),
            *[("chat", "status", None), ("agent", "run_status", "starting_model")],
            ("agent", "lifecycle", "model"),
            *[("agent", "assistant", None), ("chat", "delta", None)],
            ("session.message", None, None),
            ("agent", "usage", None),
            *[("agent", "lifecycle", "finishing"), ("agent", "lifecycle", "end")],
            ("chat", "final", None),
        ]
        assert [event["seq"] for event in client.events[1:]] == list(range(1, len(told) + 1))
        roles = [message["message"]["role"] for message in client.told("session.message")]
        assert roles == ["user", "assistant"]
        assert client.told("session.message")[0]["message"]["idempotencyKey"] == "run-1:user"


async def test_the_same_key_again_is_the_same_message(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Hang(),))
        await client.call("chat.send", send("hi", "run-1"))
        await gate.bench.model.asked(1)
        again = await client.call("chat.send", send("hi", "run-1"))
        assert again["status"] == "in_flight"
        aborted = await client.call("chat.abort", {"sessionKey": "main", "runId": "run-1"})
        assert aborted == {"ok": True, "aborted": True, "runIds": ["run-1"]}
        told = await client.event("chat", state="aborted")
        assert (told["runId"], told["stopReason"]) == ("run-1", "rpc")
        assert (await client.call("chat.send", send("hi", "run-1")))["status"] == "ok"
        assert (await client.call("chat.abort", {"sessionKey": "main", "runId": "nobody"}))["runIds"] == []


async def test_what_was_said_before_a_stop_is_told_with_it(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Say("Once upon"), Hang()))
        await client.call("chat.send", send("a story", "run-1"))
        await client.event("chat", state="delta")
        assert (await client.call("sessions.abort", {"runId": "run-1"}))["abortedRunId"] == "run-1"
        told = await client.event("chat", state="aborted")
        assert told["message"]["content"][0]["text"] == "Once upon"
        assert (await client.call("sessions.abort", {"key": "main"}))["status"] == "no-active-run"
        assert (await client.call("sessions.abort", {"runId": "nobody"}))["status"] == "no-active-run"
        with pytest.raises(Refused, match="one of key, runId"):
            await client.call("sessions.abort", {})


async def test_what_joins_a_run_under_way_is_told_at_once(opened: Opened) -> None:
    async with opened() as (gate, client):
        go = anyio.Event()
        gate.bench.model.add((Say("a"), Until(go)), (Say("b"),))
        await client.call("chat.send", send("first", "run-1"))
        await gate.bench.model.asked(1)
        await client.call("chat.send", send("second", "run-2", queueMode="steer"))
        joined = await client.event("chat", runId="run-2")
        assert joined["state"] == "final"
        assert "message" not in joined
        go.set()
        await client.event("chat", runId="run-1", state="final")


@pytest.mark.parametrize("text", ["second", "second /whoami"])
async def test_who_interrupts_a_run_is_told_so(text: str, opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Hang(),), (Say("b"),))
        first = await client.call("chat.send", send("first", "run-1", queueMode="interrupt"))
        assert "interruptedActiveRun" not in first
        await gate.bench.model.asked(1)
        told = await client.call("chat.send", send(text, "run-2", queueMode="interrupt"))
        assert (told["status"], told["interruptedActiveRun"]) == ("started", True)
        await client.event("chat", runId="run-1", state="aborted")
        await client.event("chat", runId="run-2", state="final")


@pytest.mark.requirement("P3")
async def test_what_fell_out_of_a_full_queue_is_told_as_lost_and_the_answer_goes_to_what_is_left(
    opened: Opened,
) -> None:
    async with opened() as (gate, client):
        settings = QueueSettings(mode=QueueMode.COLLECT, debounce_ms=0, cap=1, drop=DropPolicy.OLD)
        await gate.engine.reload(replace(gate.engine.rules, queue=QueuePolicy(base=settings)))
        go = anyio.Event()
        gate.bench.model.add((Until(go), Say("to the first")), (Say("to the last"),))
        await client.call("chat.send", send("first", "run-1"))
        await gate.bench.model.asked(1)
        for number in (2, 3, 4):
            await client.call("chat.send", send(f"number {number}", f"run-{number}"))
        go.set()
        final = await client.event("chat", runId="run-4", state="final")
        assert final["message"]["content"] == [{"type": "text", "text": "to the last"}]
        for name in ("run-2", "run-3"):
            (told,) = client.told("chat", runId=name)
            assert (told["state"], told["errorMessage"]) == ("aborted", "queue full")
            waited = await client.call("agent.wait", {"runId": name, "timeoutMs": 60_000})
            assert (waited["status"], waited["error"]) == ("error", "queue full")


@pytest.mark.requirement("D15")
async def test_a_message_that_is_stopped_before_its_turn_is_told_of(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Hang(),))
        await client.call("chat.send", send("first", "run-1"))
        await gate.bench.model.asked(1)
        await client.call("chat.send", send("second", "run-2", queueMode="followup"))
        await client.call("chat.abort", {"sessionKey": "main"})
        told = await client.event("chat", runId="run-2")
        assert told["state"] == "aborted"
        assert (await client.call("agent.wait", {"runId": "run-2", "timeoutMs": 5000}))["status"] == "error"
        assert (await client.call("agent.wait", {"runId": "run-1", "timeoutMs": 5000}))["status"] == "timeout"


async def test_a_command_is_answered_without_a_run(opened: Opened) -> None:
    async with opened() as (gate, client):
        await client.call("chat.send", send("/whoami", "run-1"))
        told = await client.event("chat", runId="run-1")
        assert told["state"] == "final"
        assert "owner" in told["message"]["content"][0]["text"]
        waited = await client.call("agent.wait", {"runId": "run-1", "timeoutMs": 1000})
        assert waited["status"] == "ok"
        assert "owner" in waited["terminalReply"]["text"]
        gate.bench.model.add((Say("just words"),))
        await client.call("chat.send", send("/whoami", "run-2", suppressCommandInterpretation=True))
        final = await client.event("chat", runId="run-2", state="final")
        assert final["message"]["content"][0]["text"] == "just words"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("how are you? /whoami", "You are the owner"),
        ("/think high how are you?", "does not think at level high"),
        ("/model scripted/one how are you?", "Model: scripted/one"),
    ],
)
async def test_a_command_inside_a_message_is_answered_beside_it(
    opened: Opened, words: str, told: str
) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Say("well"),))
        await client.call("chat.send", send(words, "run-1"))
        final = await client.event("chat", runId="run-1", state="final")
        assert final["message"]["content"][0]["text"] == "well"
        (aside,) = [chat for chat in client.told("chat") if chat["runId"] != "run-1"]
        assert aside["state"] == "final"
        assert told in aside["message"]["content"][0]["text"]
        await client.call("chat.send", send(words, "run-1"))
        assert [chat["runId"] for chat in client.told("chat") if chat["runId"] != "run-1"] == [aside["runId"]]
        (request,) = gate.bench.model.requests
        heard = request.messages[-1]
        assert isinstance(heard, UserMessage)
        assert text_of(heard) == "how are you?"


async def test_a_tool_is_shown_to_who_began_the_run_and_to_who_listens(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.tools = (Counts(),)
        call = ToolCall(id="c1", name="exec", arguments={"n": 1})
        gate.bench.model.add((Say("Counting."), CallTool(call)), (Say("Done."),))
        async with gate.client() as other, gate.client(caps=["session-scoped-events"]) as apart:
            await other.call("sessions.messages.subscribe", {"key": MAIN, "includeApprovals": True})
            await client.call("chat.send", send("count", "run-1"))
            await client.event("chat", state="final")
            await other.event("chat", state="final")
            phases = [one["data"]["phase"] for one in client.told("agent", stream="tool")]
            assert phases == ["start", "update", "result"]
            assert other.told("agent", stream="tool") == []
            assert [one["data"]["phase"] for one in other.told("session.tool")] == [
                "start",
                "update",
                "result",
            ]
            assert other.told("session.tool")[0]["data"]["args"] == {"n": 1}
            assert client.told("session.tool") == []
            items = [one["data"]["status"] for one in client.told("agent", stream="item")]
            assert items == ["running", "completed"]
            deltas = client.told("chat", state="delta")
            assert deltas[-1]["replace"] is True
            assert apart.events[1:] == []
            await other.call("sessions.messages.unsubscribe", {"key": "main"})


async def test_a_run_that_fails_is_told_with_its_reason(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Fail(FailureKind.PERMANENT, "the model is gone"),))
        await client.call("chat.send", send("hi", "run-1"))
        told = await client.event("chat", state="error")
        assert "the model is gone" in told["errorMessage"]
        waited = await client.call("agent.wait", {"runId": "run-1", "timeoutMs": 1000})
        assert waited["status"] == "error"
        assert "the model is gone" in waited["error"]


async def test_an_agent_is_answered_when_it_begins_and_when_it_ends(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add(
            (
                Think("hm"),
                Say("Hello"),
            ),
            (Fail(FailureKind.PERMANENT, "gone"),),
        )
        asked = {"message": "hi", "sessionKey": "main", "idempotencyKey": "run-1"}
        request = client.send("agent", asked)
        first, second = await client.answer(request), await client.answer(request, 2)
        assert (first["payload"]["status"], first["payload"]["runId"]) == ("accepted", "run-1")
        assert second["payload"]["result"]["payloads"] == [{"text": "Hello", "mediaUrl": None}]
        assert second["payload"]["result"]["meta"]["agentMeta"]["model"] == "one"
        again = await client.call("agent", asked)
        assert again["status"] == "ok"
        session = (await client.call("sessions.describe", {"key": "main"}))["session"]
        failing = {"message": "hi", "sessionId": session["sessionId"], "idempotencyKey": "run-2"}
        with pytest.raises(Refused) as refused:
            await client.call("agent", failing, number=2)
        assert refused.value.error["code"] == "UNAVAILABLE"
        assert (refused.value.payload or {})["status"] == "error"
        with pytest.raises(Refused, match="No session found"):
            await client.call("agent", {"message": "hi", "sessionId": "none", "idempotencyKey": "run-3"})
        with pytest.raises(Refused, match="no model"):
            await client.call("agent", {"message": "hi", "model": "none", "idempotencyKey": "run-4"})
        assert await client.call("agent.wait", {"runId": "run-9"}) == {"runId": "run-9", "status": "timeout"}


async def test_history_is_the_conversation_as_it_is_now_and_older_pages_go_on(opened: Opened) -> None:
    async with opened() as (gate, client):
        nothing = await client.call("chat.history", {"sessionKey": "fresh"})
        assert (nothing["messages"], nothing["hasMore"]) == ([], False)
        for number in (1, 2):
            gate.bench.model.add((Say(f"answer {number}"),))
            await client.call("chat.send", send(f"question {number}", f"run-{number}"))
            await client.event("chat", runId=f"run-{number}", state="final")
        newest = await client.call("chat.history", {"sessionKey": "main", "limit": 2})
        assert [row["role"] for row in newest["messages"]] == ["user", "assistant"]
        assert (newest["hasMore"], newest["nextOffset"], newest["totalMessages"]) == (True, 2, 4)
        older = await client.call("chat.history", {"sessionKey": "main", "limit": 2, "offset": 2})
        assert older["messages"][0]["content"] == "question 1"
        small = await client.call("chat.history", {"sessionKey": "main", "maxBytes": 1024, "maxChars": 4})
        assert small["messages"][-1]["content"][0]["text"].startswith("answ\n")
        assert len(small["messages"]) < 4
        before = (await client.call("sessions.describe", {"key": "main"}))["session"]["sessionId"]
        fresh = await client.call("sessions.reset", {"key": "main", "expectedSessionId": before})
        assert fresh["entry"]["previousSessionId"] == before
        begun = await client.call("chat.history", {"sessionKey": "main"})
        assert [row["__openclaw"]["kind"] for row in begun["messages"]] == ["reset"]
        assert (begun["hasMore"], begun["nextOffset"]) == (True, 1)
        older = await client.call("chat.history", {"sessionKey": "main", "limit": 2, "offset": 1})
        assert [row["content"] for row in older["messages"]][:1] == ["question 2"]
        await client.call("chat.inject", {"sessionKey": "main", "message": "by hand", "label": "Note"})
        gate.bench.model.add((Hang(),))
        await client.call("chat.send", send("third", "run-3"))
        await gate.bench.model.asked(3)
        await client.call("sessions.patch", {"key": "main", "thinkingLevel": "off"})
        now = await client.call("chat.startup", {"sessionKey": "main", "limit": 20, "maxBytes": 10_000})
        assert now["messages"][0]["__openclaw"]["kind"] == "reset"
        assert now["messages"][1]["content"][0]["text"] == "[Note]\n\nby hand"
        assert now["messages"][1]["model"] == "gateway-injected"
        assert (now["inFlightRun"]["runId"], now["thinkingLevel"]) == ("run-3", "off")
        assert {row["id"] for row in now["models"]} == {"one", "two"}
        past = await client.call("chat.history", {"sessionKey": "main", "offset": 2})
        assert [row["role"] for row in past["messages"]] == ["user", "assistant", "user", "assistant"]


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ("/new look", "look"),
        ("/new", ""),
        ("/think high look", "look"),
        ("look /think high here", "look here"),
        ("/think high", ""),
        ("/model two look", "look"),
        ("/model two", ""),
        ("/steer look", "look"),
        ("/steer", ""),
    ],
)
async def test_a_picture_goes_on_with_what_a_command_leaves_of_a_message(
    opened: Opened, words: str, asked: str
) -> None:
    picture = {"type": "image", "mimeType": "image/png", "content": "iVBORw0KGgo="}
    async with opened() as (gate, client):
        gate.bench.model.add((Say("seen"),))
        await client.call("chat.send", send(words, "run-1", attachments=[picture]))
        await client.event("chat", runId="run-1", state="final")
        (request,) = gate.bench.model.requests
        heard = request.messages[-1]
        assert isinstance(heard, UserMessage)
        assert text_of(heard) == asked
        assert [block for block in heard.content if isinstance(block, Image)] == [
            Image(mime="image/png", data="iVBORw0KGgo=")
        ]


async def test_what_a_message_must_be(opened: Opened) -> None:
    async with opened() as (gate, client):
        for params, problem in (
            (send(" ", "r"), "message or attachment required"),
            (send("hi", "r", sessionKey="agent:nobody:main"), "unknown agent id"),
            (send("hi", "r", sessionKey="cli"), "name of a client"),
            (send("hi", "r", attachments=[{"content": "x", "mimeType": "text/plain"}]), "not supported"),
            (send("hi", "r", attachments=[{"content": "!", "mimeType": "image/png"}]), "no base64"),
            (send("hi", "r", attachments=[{"content": "aGk=", "mimeType": "IMAGE/PNG"}]), "and is none"),
            (send("hi", "r", thinking="hard"), "invalid thinking: hard"),
            ({"key": "main", "message": ""}, "invalid chat.send params"),
        ):
            with pytest.raises(Refused, match=problem):
                await client.call("chat.send", params)
        with pytest.raises(Refused, match="message or attachment required"):
            await client.call("agent", {"message": "\r", "idempotencyKey": "r"})
        gate.bench.model.add((Say("seen"),))
        picture = {"type": "image", "mimeType": "image/png", "content": "data:image/png;base64,iVBORw0KGgo="}
        await client.call("chat.send", send("", "run-1", attachments=[picture], timeoutMs=60_000))
        await client.event("chat", state="final")
        rows = (await client.call("sessions.get", {"key": "main"}))["messages"]
        assert rows[0]["content"][1] == {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
        assert (await client.call("sessions.get", {"key": "nowhere"}))["messages"] == []


async def test_what_waits_for_its_turn_is_shown_with_the_conversation(opened: Opened) -> None:
    async with opened() as (gate, client):
        settings = QueueSettings(mode=QueueMode.FOLLOWUP, debounce_ms=0, cap=30)
        await gate.engine.reload(replace(gate.engine.rules, queue=QueuePolicy(base=settings)))
        gate.bench.model.add((Hang(),))
        await client.call("chat.send", send("first", "run-1"))
        await gate.bench.model.asked(1)
        secret = f"sk-{'a1' * 15}"
        for number in range(2, 24):
            await client.call("chat.send", send(f"{number} {secret}", f"run-{number}"))

        async def waiting(**more: object) -> dict[str, Any]:
            shown = await client.call("chat.history", {"sessionKey": "main", **more})
            assert [row["content"] for row in shown["messages"]] == ["first"]
            found: dict[str, Any] = shown["pendingInputs"]
            return found

        newest = await waiting()
        assert (newest["total"], newest["nextBefore"]) == (22, 3)
        assert [one["runId"] for one in newest["items"]] == [f"run-{number}" for number in range(4, 24)]
        last = newest["items"][-1]
        assert (last["state"], last["message"]["role"]) == ("queued", "user")
        assert last["message"]["content"] == "23 sk-a1a…a1a1"
        assert last["acceptedAt"] == last["message"]["timestamp"]
        older = await waiting(pendingBefore=newest["nextBefore"])
        assert [one["runId"] for one in older["items"]] == ["run-2", "run-3"]
        assert "nextBefore" not in older
        assert (await waiting(pendingBefore=99))["nextBefore"] == 3
        await client.call("chat.abort", {"sessionKey": "main"})
        await client.event("chat", runId="run-1", state="aborted")
        assert (await waiting())["items"] == []
