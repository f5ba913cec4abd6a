"""What a client makes a condition of is kept, or refused with what to do instead."""

import pytest

from roost.core.keys import SessionKey
from roost.testing.builders import answered, said
from roost.testing.scripts import Hang, Say
from roost.testing.wires import Refused
from tests.flows.served import Opened, send

MAIN = "agent:main:main"


async def test_what_came_of_condensing_is_told_when_it_has_ended(opened: Opened) -> None:
    async with opened() as (gate, client):
        await client.call("sessions.create", {"key": "main"})
        pairs = [
            (said(f"q-{number}", "word " * 2_000), answered(f"a-{number}", "word " * 2_000))
            for number in range(30)
        ]
        await gate.bench.store.append(SessionKey.parse(MAIN), tuple(one for pair in pairs for one in pair))
        gate.bench.model.otherwise = lambda request: (Say("a summary"),)
        done = await client.call("sessions.compact", {"key": "main"})
        assert done == {"ok": True, "key": MAIN, "compacted": True}
        page = await client.call("chat.history", {"sessionKey": "main"})
        kinds = [row["__openclaw"].get("kind") for row in page["messages"]]
        assert (kinds.count("compaction"), len(kinds)) == (1, 61)
        gate.bench.model.otherwise = None
        more = (said("q", "word " * 30_000), answered("a", "word " * 30_000), said("r", "word"))
        await gate.bench.store.append(SessionKey.parse(MAIN), more)
        gate.bench.model.add((Hang(),))
        asked = client.send("sessions.compact", {"key": "main"})
        await gate.bench.model.asked(len(gate.bench.model.requests) + 1)
        await client.call("sessions.abort", {"key": "main"})
        ended = (await client.answer(asked))["payload"]
        assert (ended["compacted"], ended["reason"]) == (False, "stopped by the operator")


async def test_a_session_that_was_touched_since_it_was_seen_is_not_deleted(opened: Opened) -> None:
    async with opened() as (gate, client):
        key = (await client.call("sessions.create", {}))["key"]
        seen = (await client.call("sessions.describe", {"key": key}))["session"]
        gate.bench.model.add((Say("words"),))
        await client.call("chat.send", send("precious", "run-1", sessionKey=key))
        await client.event("chat", runId="run-1", state="final")
        for unable, told in (
            ({"expectedSessionUpdatedAt": seen["updatedAt"] - 1}, "touched meanwhile"),
            ({"expectedSessionId": seen["sessionId"], "expectedLifecycleRevision": "old"}, "another one now"),
            ({"deleteTranscript": False}, "always goes with its session"),
        ):
            with pytest.raises(Refused, match=told):
                await client.call("sessions.delete", {"key": key, **unable})
        assert len((await client.call("chat.history", {"sessionKey": key}))["messages"]) == 2
        now = (await client.call("sessions.describe", {"key": key}))["session"]["updatedAt"]
        gone = {"key": key, "expectedSessionUpdatedAt": now, "expectedSessionId": seen["sessionId"]}
        assert (await client.call("sessions.delete", gone))["deleted"] is True


async def test_what_waits_is_dropped_only_by_who_stops_everything(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Hang(),))
        await client.call("chat.send", send("think", "run-1"))
        await gate.bench.model.asked(1)
        with pytest.raises(Refused, match="name one run"):
            await client.call("sessions.abort", {"key": "main", "clearQueued": False})
        with pytest.raises(Refused, match="leave `runId` out"):
            await client.call("sessions.abort", {"runId": "run-1", "clearQueued": True})
        stopped = await client.call("sessions.abort", {"key": "main", "clearQueued": True})
        assert (stopped["status"], stopped["abortedRunId"]) == ("aborted", "run-1")


async def test_a_session_is_said_to_come_from_one_that_is_there(opened: Opened) -> None:
    async with opened() as (_, client):
        with pytest.raises(Refused, match="No session found: main"):
            await client.call("sessions.create", {"key": "next", "parentSessionKey": "main"})
        assert (await client.call("sessions.list"))["sessions"] == []
        await client.call("sessions.create", {"key": "main"})
        opened_next = await client.call("sessions.create", {"key": "next", "parentSessionKey": "main"})
        assert opened_next["entry"].get("parentSessionKey") is None
