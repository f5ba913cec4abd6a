"""Sessions as clients of the protocol find, change and end them, and who may."""

import json
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from roost.core.keys import SessionKey
from roost.core.messages import Usage, UserMessage, text_of
from roost.core.queries import HistoryQuery
from roost.engine.rules import Housekeeping, TimerRules
from roost.testing.scripts import Hang, Say, Spend
from roost.testing.wires import Refused, visiting
from tests.flows.gateways import benches
from tests.flows.served import Opened, gate_of, send
from tests.flows.test_heartbeats import LOOK, beaten

MAIN = "agent:main:main"


async def test_what_is_set_on_a_session_stays_until_it_is_set_again(opened: Opened) -> None:
    async with opened() as (_, client):
        await client.call("sessions.subscribe", {})
        made = await client.call("sessions.create", {"key": "trip", "label": "Trip"})
        key = made["key"]
        changes = {
            "expectedSessionId": made["sessionId"],
            "label": None,
            "pinned": True,
            "archived": True,
            "unread": False,
            "model": None,
            "verboseLevel": "on",
            "reasoningLevel": "on",
            "responseUsage": "tokens",
            "sendPolicy": "deny",
            "groupActivation": "always",
        }
        row = (await client.call("sessions.patch", {"key": key, **changes}))["entry"]
        assert (row["pinned"], row["archived"]) == (True, True)
        assert (row["verboseLevel"], row["sendPolicy"]) == ("on", "deny")
        assert "label" not in row
        # How it stands is told, not each way to it: what is set again at once may never be.
        await client.event("sessions.changed", sessionKey=key, pinned=True)
        again = {"key": key, "pinned": None, "archived": None, "sendPolicy": None}
        row = (await client.call("sessions.patch", again))["entry"]
        assert (row["pinned"], row["archived"], row.get("sendPolicy")) == (False, False, None)
        for wrong, problem in (
            ({"thinkingLevel": "loud"}, "invalid thinkingLevel"),
            ({"model": "none"}, "no model"),
            ({"unread": True}, "unread"),
            ({"colour": "red"}, "at root: unexpected property 'colour'"),
            ({"expectedSessionId": "old", "pinned": True}, "another one now"),
        ):
            with pytest.raises(Refused, match=problem):
                await client.call("sessions.patch", {"key": key, **wrong})


async def test_a_session_that_is_removed_is_gone_for_all(opened: Opened) -> None:
    async with opened() as (_, client):
        await client.call("sessions.subscribe", {})
        key = (await client.call("sessions.create", {"key": "trip"}))["key"]
        await client.call("sessions.messages.subscribe", {"key": key})
        with pytest.raises(Refused, match="not archived"):
            await client.call("sessions.delete", {"key": key, "archivedOnly": True})
        gone = await client.call("sessions.delete", {"key": key})
        assert gone == {"ok": True, "key": key, "deleted": True, "archived": []}
        await client.event("sessions.changed", reason="delete")
        assert (await client.call("sessions.delete", {"key": key}))["deleted"] is False
        with pytest.raises(Refused, match="Cannot delete the main session"):
            await client.call("sessions.delete", {"key": "main"})
        with pytest.raises(Refused, match="No session found"):
            await client.call("sessions.reset", {"key": key})
        assert (await client.call("chat.abort", {"sessionKey": key}))["aborted"] is False


async def test_a_change_is_told_with_what_happened(opened: Opened) -> None:
    async with opened() as (_, client):
        await client.call("sessions.subscribe", {})
        key = (await client.call("sessions.create", {"key": "trip"}))["key"]
        await client.event("sessions.changed", sessionKey=key, reason="create")
        await client.call("sessions.patch", {"key": key, "label": "Trip"})
        await client.event("sessions.changed", sessionKey=key, reason="patch")
        await client.call("sessions.reset", {"key": key})
        await client.event("sessions.changed", sessionKey=key, reason="reset")
        await client.call("wake", {"sessionKey": key, "mode": "next-heartbeat", "text": "tea"})
        await client.event("sessions.changed", sessionKey=key, reason="send")


async def test_a_label_is_looked_for_as_it_is_spelled_when_it_is_given(opened: Opened) -> None:
    async with opened() as (_, client):
        key = (await client.call("sessions.create", {"key": "trip", "label": "To  Rome "}))["key"]
        for label in ("To Rome", " To   Rome"):
            assert (await client.call("sessions.resolve", {"label": label}))["key"] == key
            found = (await client.call("sessions.list", {"label": label}))["sessions"]
            assert [row["key"] for row in found] == [key]
        for method in ("sessions.list", "sessions.resolve"):
            with pytest.raises(Refused, match="more than spaces"):
                await client.call(method, {"label": " "})


async def test_a_session_with_work_is_stopped_before_it_is_removed_or_reset(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Hang(),), (Hang(),))
        made = await client.call("sessions.create", {"message": "think", "idempotencyKey": "run-1"})
        assert (made["runStarted"], made["runId"]) == (True, "run-1")
        await gate.bench.model.asked(1)
        await client.call("sessions.reset", {"key": made["key"], "reason": "new"})
        await client.event("chat", runId="run-1", state="aborted")
        await client.call(
            "sessions.send", {"key": made["key"], "message": "again", "idempotencyKey": "run-2"}
        )
        await gate.bench.model.asked(2)
        assert (await client.call("sessions.delete", {"key": made["key"]}))["deleted"] is True
        await client.event("chat", runId="run-2", state="aborted")


async def test_a_session_is_created_once_by_a_request_with_a_name(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Say("booked"),), (Say("booked another"),))
        asked = {"message": "book the flight", "idempotencyKey": "run-1"}
        first = await client.call("sessions.create", asked)
        await client.event("chat", runId="run-1", state="final")
        assert (await client.call("sessions.create", asked))["key"] == first["key"]
        other = await client.call("sessions.create", {**asked, "idempotencyKey": "run-2"})
        assert other["key"] != first["key"]
        await client.event("chat", runId="run-2", state="final")
        assert len(gate.bench.model.requests) == 2


async def test_sessions_are_listed_by_what_is_asked(opened: Opened) -> None:
    async with opened() as (gate, client):
        for name in ("one", "two", "three"):
            await client.call("sessions.create", {"key": name})
        await client.call("sessions.create", {"key": "agent:helper:main"})
        listed = await client.call("sessions.list", {"limit": 2})
        assert (listed["count"], listed["hasMore"], listed["nextOffset"]) == (2, True, 2)
        assert listed["totalCount"] >= 3
        rest = await client.call("sessions.list", {"limit": 2, "offset": 2})
        assert (rest["totalCount"], rest["nextOffset"], rest["hasMore"]) == (4, None, False)
        helper = await client.call("sessions.list", {"agentId": "Helper", "includeDerivedTitles": True})
        assert [row["key"] for row in helper["sessions"]] == ["agent:helper:main"]
        assert helper["sessions"][0]["derivedTitle"] == "agent:helper:main"
        gate.bench.model.add((Say("words"),))
        await client.call("chat.send", send("hello there", "run-1"))
        await client.event("chat", state="final")
        found = await client.call(
            "sessions.subscribe",
            {
                "search": "hello",
                "includeLastMessage": True,
                "activeMinutes": 5,
                "excludeSubagents": True,
                "excludeCron": True,
            },
        )
        assert found["list"]["sessions"][0]["lastMessagePreview"] == "words"
        assert (await client.call("sessions.list", {"spawnedBy": "main", "archived": "all"}))["count"] == 0
        shown = await client.call("sessions.preview", {"keys": ["main", "one", "nowhere", "cli"]})
        assert [one["status"] for one in shown["previews"]] == ["ok", "empty", "missing", "missing"]
        assert shown["previews"][0]["items"][1] == {"role": "assistant", "text": "words"}
        assert await client.call("sessions.describe", {"key": "nowhere"}) == {"session": None}


@pytest.mark.requirement("D56")
async def test_a_preview_shows_what_was_meant_for_people(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Say("<think>how?</think>Like this."),), (Say("NO_REPLY"),))
        for name in ("run-1", "run-2"):
            await client.call("chat.send", send("<think> is a tag", name))
            await client.event("chat", runId=name, state="final")
        (shown,) = (await client.call("sessions.preview", {"keys": ["main"]}))["previews"]
        said = [one["text"] for one in shown["items"]]
        assert said == ["<think> is a tag", "Like this.", "<think> is a tag"]


async def test_condensing_is_asked_for_like_anything_else(opened: Opened) -> None:
    async with opened() as (gate, client):
        await client.call("sessions.create", {"key": "main"})
        empty = await client.call("sessions.compact", {"key": "main"})
        assert (empty["compacted"], empty["reason"]) == (False, "nothing to condense")
        gate.bench.model.add((Say("words"),), (Say("a summary"),))
        await client.call("chat.send", send("hello", "run-1"))
        await client.event("chat", state="final")
        done = await client.call("sessions.compact", {"key": "main"})
        assert (done["compacted"], done["reason"]) == (False, "the conversation is short enough already")
        with pytest.raises(Refused, match="nothing is cut off a transcript"):
            await client.call("sessions.compact", {"key": "main", "maxLines": 5})


NOTHING = {
    **dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "totalTokens", "calls"), 0),
    "totalCost": 0.0,
}


async def test_what_the_sessions_cost_adds_up_with_those_that_are_gone_or_too_many(opened: Opened) -> None:
    async with opened() as (gate, client):
        for number, name in enumerate(("main", "agent:main:dear", "agent:main:gone"), 1):
            usage = Usage(input=number, output=1, total=number + 1, cost_micros=number * 1_000_000)
            gate.bench.model.add((Say("words"), Spend(usage)))
            await client.call("chat.send", send("hello", f"run-{number}", sessionKey=name))
            await client.event("chat", state="final", runId=f"run-{number}")
        await client.call("sessions.delete", {"key": "agent:main:gone"})
        told = await client.call("sessions.usage", {"range": "all"})
        apart = told["aggregates"]
        assert [(one["key"], one["totals"]["totalCost"]) for one in apart["bySession"]] == [
            ("agent:main:dear", 2.0),
            ("agent:main:main", 1.0),
        ]
        assert (apart["otherSessions"]["sessions"], apart["otherSessions"]["totals"]["totalCost"]) == (1, 3.0)
        assert (told["totals"]["totalCost"], apart["byModel"][0]["totals"]["totalCost"]) == (6.0, 6.0)
        few = (await client.call("sessions.usage", {"limit": 1}))["aggregates"]
        assert ([one["key"] for one in few["bySession"]], few["otherSessions"]["sessions"]) == (
            ["agent:main:dear"],
            2,
        )


async def test_usage_is_told_by_day(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Say("words"), Spend(Usage(input=5, output=7, total=12))))
        await client.call("chat.send", send("hello", "run-1"))
        await client.event("chat", state="final")
        for params in ({}, {"range": "7d"}, {"range": "all"}, {"key": "main"}, {"startDate": "2020-01-01"}):
            told = await client.call("sessions.usage", params)
            assert told["totals"]["output"] == 7
            assert told["sessions"][0]["usage"]["input"] == 5
            apart = told["aggregates"]
            (session,) = apart["bySession"]
            assert (session["key"], session["totals"]) == ("agent:main:main", told["totals"])
            assert apart["otherSessions"] == {"sessions": 0, "count": 0, "totals": NOTHING}
        past = await client.call("sessions.usage", {"startDate": "2020-01-01", "endDate": "2020-01-02"})
        assert past["totals"]["output"] == 0
        with pytest.raises(Refused, match="is no day"):
            await client.call("sessions.usage", {"endDate": "yesterday"})


async def test_how_the_gateway_does_is_told_to_who_asks(opened: Opened, tmp_path: Path) -> None:
    async with opened() as (gate, client):
        health = await client.call("health")
        assert (health["ok"], health["failing"]) == (True, [])
        greeted = client.hello["snapshot"]["health"]
        assert greeted.keys() == {"ok", "ts", "durationMs", "plugins", "defaultAgentId"}, "a closed schema"
        await client.call("sessions.create", {"key": "agent:helper:side"})
        status = await client.call("status", {})
        assert [
            (one["agentId"], one["count"], [row["key"] for row in one["recent"]])
            for one in status["sessions"]["byAgent"]
        ] == [("main", 0, []), ("helper", 1, ["agent:helper:side"])]
        assert [one["enabled"] for one in status["heartbeat"]["agents"]] == [False, False]
        gate.engine.tell("outbox", "the disk is full")
        health = await client.call("health")
        assert (health["ok"], health["failing"]) == (False, ["outbox"])
        assert [one["mode"] for one in await client.call("system-presence")] == ["gateway", "cli"]
        channels = await client.call("channels.status", {"probe": False})
        assert channels["channelAccounts"]["loopback"][0]["accountId"] == "default"
        assert (await client.call("channels.status", {"channel": "matrix"}))["channelOrder"] == []
        assert await client.call("last-heartbeat") is None
        assert (await client.call("agents.list", {}))["agents"][0]["model"]["primary"] == "scripted/one"
        assert (await client.call("agent.identity.get", {}))["name"] == "Main"
        helper = await client.call("agent.identity.get", {"sessionKey": "agent:helper:main"})
        assert helper["name"] == "helper"
        with pytest.raises(Refused, match="unknown agent"):
            await client.call("agent.identity.get", {"agentId": "nobody"})
        assert len((await client.call("models.list", {}))["models"]) == 2
        assert (await client.call("models.list", {"provider": "nobody"}))["models"] == []
        assert "stop" in {one["name"] for one in (await client.call("commands.list", {}))["commands"]}
        assert (await client.call("commands.list", {"scope": "native"}))["commands"] == []
        assert (await client.call("config.get", {}))["hash"] == "f"
        assert set(await client.call("chat.metadata", {})) == {"models", "commands"}


async def test_look_arounds_are_told_as_they_are(tmp_path: Path) -> None:
    with anyio.fail_after(60):
        async with benches("memory", tmp_path) as bench:
            bench.change(house=Housekeeping(timers=TimerRules(beats={"main": LOOK})))
            async with gate_of(bench, tmp_path) as gate, gate.client() as client:
                agents = (await client.call("status", {}))["heartbeat"]["agents"]
                assert agents == [
                    {"agentId": "main", "enabled": True, "every": "1440m", "everyMs": 86_400_000},
                    {"agentId": "helper", "enabled": False, "every": "0m", "everyMs": None},
                ]
                assert await client.call("last-heartbeat") is None
                gate.bench.model.add((Say("hello"),), (Say("HEARTBEAT_OK"),))
                await client.call("chat.send", send("hi", "run-1"))
                await client.event("chat", state="final", runId="run-1")
                await gate.engine.settled()
                await beaten(bench, gate.engine, 1)
                last = await client.call("last-heartbeat")
                assert (last["agentId"], last["status"]) == ("main", "ok")
                async with gate.client(auth={"token": "alice-token"}) as alice:
                    assert await alice.call("last-heartbeat") is None


async def test_the_log_is_read_from_its_end_and_on(opened: Opened, tmp_path: Path) -> None:
    async with opened() as (_, client):
        nothing = await client.call("logs.tail", {})
        assert (nothing["lines"], nothing["size"]) == ([], 0)
        (tmp_path / "log").write_text("one\ntwo\nthree\n")
        end = await client.call("logs.tail", {"limit": 2})
        assert (end["lines"], end["cursor"], end["truncated"]) == (["two", "three"], 14, True)
        assert (await client.call("logs.tail", {"cursor": 8}))["lines"] == ["three"]
        assert (await client.call("logs.tail", {"cursor": 99}))["reset"] is True
        cut = await client.call("logs.tail", {"maxBytes": 8})
        assert (cut["lines"], cut["truncated"]) == (["three"], True)
        (tmp_path / "log").write_text('{"message": "a\u2028b\x85c"}\n{"message": "next"}\n', encoding="utf-8")
        lines = (await client.call("logs.tail", {}))["lines"]
        assert [json.loads(line)["message"] for line in lines] == ["a\u2028b\x85c", "next"]


async def test_nothing_is_done_without_the_scope_for_it(opened: Opened) -> None:
    async with opened() as (gate, _):
        async with gate.client(scopes=["operator.read"]) as reader:
            assert reader.hello["auth"]["scopes"] == ["operator.read"]
            assert "authMode" not in reader.hello["snapshot"]
            with pytest.raises(Refused) as refused:
                await reader.call("chat.send", send("hi", "run-1"))
            assert refused.value.error["details"]["missingScope"] == "operator.write"
            await reader.call("sessions.list")
        async with gate.client(scopes=["operator.write"]) as writer:
            await writer.call("sessions.patch", {"key": "main", "label": "Mine"})
            for method, params in (
                ("sessions.patch", {"key": "main", "sendPolicy": "deny"}),
                ("agent", {"message": "hi", "model": "scripted/two", "idempotencyKey": "run-1"}),
                ("sessions.delete", {"key": "x"}),
            ):
                with pytest.raises(Refused, match="MISSING_SCOPE"):
                    await writer.call(method, params)
            assert (await writer.call("sessions.delete", {"key": "x", "archivedOnly": True}))[
                "deleted"
            ] is False
        async with gate.client(scopes=[]) as nobody, gate.client() as owner:
            assert (await nobody.call("health"))["ok"] is True
            assert nobody.hello["snapshot"]["presence"] == []
            gate.bench.model.add((Say("words"),))
            await owner.call("chat.send", send("hello", "run-1"))
            await owner.event("chat", state="final")
            assert nobody.events[1:] == []


async def test_a_request_that_cannot_be_served_is_answered_with_why(opened: Opened) -> None:
    async with opened() as (_, client):
        with pytest.raises(Refused, match="unknown method: nothing"):
            await client.call("nothing")
        client.wire.to_gateway.send_nowait("no json")
        client.wire.to_gateway.send_nowait('{"type":"req","id":"x"}')
        assert (await client.answer("invalid"))["error"]["message"].startswith("invalid request frame")
        with pytest.raises(Refused, match="only valid as the first"):
            await client.connect()


async def test_a_client_that_hangs_up_is_forgotten(opened: Opened) -> None:
    async with opened() as (gate, _):
        async with gate.client() as client:
            await client.call("sessions.messages.subscribe", {"key": "main"})
            assert len(gate.house.clients) == 2
        assert len(gate.house.clients) == 1
        assert not gate.house.clients.listeners(SessionKey.parse(MAIN))


async def test_who_may_not_come_in_is_told_why(opened: Opened) -> None:
    async with opened() as (gate, _):
        async with visiting(gate.door) as stranger:
            with pytest.raises(Refused, match="AUTH_TOKEN_MISMATCH"):
                await stranger.connect(auth={"token": "wrong"})
            await stranger.wire.ended.wait()
            assert stranger.wire.closed == (1008, "unauthorized: gateway token mismatch")
        assert len(gate.house.clients) == 1


async def test_who_asks_after_a_message_whose_session_was_deleted_is_told_that_it_is_gone(
    opened: Opened,
) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Say("words"),))
        await client.call("chat.send", send("hello", "run-1", sessionKey="agent:main:short"))
        await client.event("chat", state="final")
        await client.call("sessions.delete", {"key": "agent:main:short"})
        waited = await client.call("agent.wait", {"runId": "run-1", "timeoutMs": 60_000})
        assert (waited["status"], waited["error"]) == (
            "error",
            "the message was taken, and its session is gone",
        )


async def test_condensing_does_not_depend_on_commands_being_read_from_words(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Say("words"),), (Say("a summary"),))
        await client.call("chat.send", send("hello", "run-1"))
        await client.event("chat", state="final")
        commands = gate.bench.rules.commands
        gate.bench.change(commands=replace(commands, policy=replace(commands.policy, text=False)))
        await gate.engine.reload(gate.bench.rules)
        done = await client.call("sessions.compact", {"key": "main"})
        assert (done["compacted"], done["reason"]) == (False, "the conversation is short enough already")
        page = await gate.bench.store.history(HistoryQuery(key=SessionKey.named("main", "main")))
        assert [text_of(e.body) for e in page.entries if isinstance(e.body, UserMessage)] == ["hello"]
