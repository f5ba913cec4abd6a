"""By which names clients reach a session."""

import pytest

from roost.testing.scripts import Hang, Say
from roost.testing.wires import Refused
from tests.flows.served import Opened, send


async def test_a_session_is_changed_talked_in_stopped_and_removed_by_its_id_too(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Hang(),))
        made = await client.call("sessions.create", {"key": "plans"})
        key, name = made["key"], made["sessionId"]
        sent = {"sessionKey": name, "message": "hi", "idempotencyKey": "run-1"}
        assert (await client.call("chat.send", sent))["sessionKey"] == key
        await gate.bench.model.asked(1)
        assert (await client.call("sessions.patch", {"key": name, "label": "Plans"}))["key"] == key
        assert (await client.call("chat.abort", {"sessionKey": name}))["runIds"] == ["run-1"]
        await client.event("chat", runId="run-1", state="aborted")
        await client.call("chat.inject", {"sessionKey": name, "message": "note"})
        assert [row["key"] for row in (await client.call("sessions.list", {}))["sessions"]] == [key]
        gone = await client.call("sessions.delete", {"key": name})
        assert (gone["key"], gone["deleted"]) == (key, True)


async def test_who_knows_a_conversation_by_an_earlier_id_goes_on_in_the_one_of_now(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Say("one"),), (Say("two"),))
        await client.call("chat.send", send("hi", "run-1"))
        await client.event("chat", state="final", runId="run-1")
        before = (await client.call("chat.history", {"sessionKey": "main"}))["sessionId"]
        other = (await client.call("sessions.create", {"key": "other"}))["sessionId"]
        now = (await client.call("sessions.reset", {"key": "main"}))["entry"]["sessionId"]
        await client.call("chat.send", send("again", "run-2", sessionId=before))
        await client.event("chat", state="final", runId="run-2")
        after = await client.call("chat.history", {"sessionKey": "main"})
        assert after["sessionId"] == now
        assert [row["content"] for row in after["messages"] if row["role"] == "user"] == ["again"]
        with pytest.raises(Refused, match="has no id"):
            await client.call("chat.send", send("hi", "run-3", sessionId=other))
