"""By which names clients reach a session, and which sessions they may not lose."""

from dataclasses import replace

import pytest

from roost.core.keys import SessionKey
from roost.core.scopes import SessionScope
from roost.core.sessions import Labels
from roost.testing import builders
from roost.testing.scripts import Hang, Say
from roost.testing.wires import LocalClient, Refused
from tests.contract.scenes import opened as open_session
from tests.flows.served import PEOPLE, Gate, Opened, send


async def test_a_session_of_an_agent_that_is_gone_is_told_as_such(opened: Opened) -> None:
    async with opened() as (gate, client):
        for key in ("agent:main:one", "agent:helper:two"):
            await client.call("sessions.create", {"key": key})
        store, gone = gate.bench.store, SessionKey.parse("agent:gone:three")
        for named in (gone, SessionKey.parse("agent:main:four")):
            twin = builders.session(named)._replace(labels=Labels(label="Twin"))
            await open_session(store, row=twin)
        with pytest.raises(Refused, match="unknown agent id 'gone'"):
            await client.call("sessions.resolve", {"key": str(gone)})
        with pytest.raises(Refused, match=r"label: Twin \(agent:gone:three, agent:main:four\)"):
            await client.call("sessions.resolve", {"label": "Twin"})
        assert (await client.call("sessions.resolve", {"label": "Twin", "agentId": "main"}))["ok"]
        rows = (await client.call("sessions.list", {"configuredAgentsOnly": True}))["sessions"]
        assert {row["key"] for row in rows} == {"agent:main:one", "agent:helper:two", "agent:main:four"}
        assert (await client.call("sessions.list"))["count"] == 4


async def test_of_two_messages_of_one_name_that_of_the_session_is_waited_for(opened: Opened) -> None:
    async with opened() as (gate, client):
        for key in ("one", "two"):
            gate.bench.model.add((Say(f"words of {key}"),))
            await client.call("chat.send", send("hi", "same", sessionKey=key))
            await client.event("chat", sessionKey=f"agent:main:{key}", state="final")
        for named, said in (
            ({"sessionKey": "one"}, "words of one"),
            ({"sessionKey": "agent:main:two"}, "words of two"),
            ({"sessionKey": "one", "agentId": "main"}, "words of one"),
            ({}, "words of two"),
        ):
            waited = await client.call("agent.wait", {"runId": "same", "timeoutMs": 0, **named})
            assert waited["terminalReply"]["text"] == said
        elsewhere = {"runId": "same", "timeoutMs": 0, "sessionKey": "three"}
        assert (await client.call("agent.wait", elsewhere))["status"] == "timeout"


async def test_an_id_leads_no_further_than_a_key_where_the_agent_is_gone(opened: Opened) -> None:
    async with opened() as (gate, client):
        made = await client.call("sessions.create", {"key": "agent:helper:two"})
        await _forget_helper(gate)
        name = made["sessionId"]
        said = {"message": "hi", "idempotencyKey": "run-1"}
        for method, params in (
            ("chat.send", {"sessionKey": name, **said}),
            ("agent", {"sessionId": name, **said}),
            ("sessions.create", {"key": name}),
        ):
            with pytest.raises(Refused, match="unknown agent id 'helper'"):
                await client.call(method, params)
        assert await gate.bench.store.pending_inputs(SessionKey.parse(made["key"])) == ()


async def test_nothing_begins_where_nobody_answers_any_more(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Say("words"),))
        key = "agent:helper:two"
        await client.call("chat.send", send("hi", "run-1", sessionKey=key))
        await client.event("chat", runId="run-1", state="final")
        (said, _) = (await client.call("chat.history", {"sessionKey": key}))["messages"]
        await _forget_helper(gate)
        hello = {"message": "hello", "idempotencyKey": "run-2"}
        job = {
            "name": "tidy",
            "schedule": {"kind": "every", "everyMs": 3_600_000},
            "payload": {"kind": "agentTurn", "message": "tidy up"},
            "sessionTarget": f"session:{key}",
        }
        for method, params in (
            ("chat.send", {"sessionKey": key, **hello}),
            ("chat.send", {"sessionKey": key, **hello, "message": "/new hello"}),
            ("chat.send", {"sessionKey": key, **hello, "suppressCommandInterpretation": True}),
            ("sessions.send", {"key": key, **hello}),
            ("agent", {"sessionKey": key, **hello}),
            ("sessions.create", {"key": "agent:helper:three", **hello}),
            ("sessions.compact", {"key": key}),
            ("roost.fork", {"key": key, "messageId": said["__openclaw"]["id"]}),
            ("sessions.fork", {"sessionKey": key, "entryId": said["__openclaw"]["id"]}),
            ("wake", {"mode": "now", "text": "it rains", "sessionKey": key}),
            ("cron.add", job),
        ):
            with pytest.raises(Refused, match=r"unknown agent id 'helper' \(there are: main\."):
                await client.call(method, params)
        told = await _command(client, "/compact", key)
        assert told.startswith("Unknown agent id 'helper'. There are: main.")
        assert [row["key"] for row in (await client.call("sessions.list"))["sessions"]] == [key]
        assert len(gate.bench.model.requests) == 1


async def test_what_an_agent_that_is_gone_has_left_can_be_read_stopped_put_away_and_removed(
    opened: Opened,
) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Say("words"),), (Hang(),))
        key, main = "agent:helper:two", "agent:helper:main"
        await client.call("sessions.create", {"key": main})
        await client.call("chat.send", send("hi", "run-1", sessionKey=key))
        await client.event("chat", runId="run-1", state="final")
        await client.call("chat.send", send("think", "run-2", sessionKey=key))
        await gate.bench.model.asked(2)
        await _forget_helper(gate)
        assert (await client.call("sessions.messages.subscribe", {"key": key}))["key"] == key
        assert len((await client.call("chat.history", {"sessionKey": key}))["messages"]) == 3
        assert (await client.call("sessions.usage", {"key": key}))["sessions"][0]["key"] == key
        assert (await client.call("sessions.list", {"spawnedBy": key}))["count"] == 0
        assert (await client.call("chat.abort", {"sessionKey": key}))["runIds"] == ["run-2"]
        await client.event("chat", runId="run-2", state="aborted")
        assert "Nothing was running" in await _command(client, "/stop", key)
        patched = await client.call("sessions.patch", {"key": key, "archived": True})
        assert patched["entry"]["archived"]
        assert (await client.call("sessions.reset", {"key": key}))["key"] == key
        for one in (key, main):
            assert (await client.call("sessions.delete", {"key": one}))["deleted"]
        assert (await client.call("sessions.list", {"archived": "all"}))["sessions"] == []
        with pytest.raises(Refused, match="unknown agent id 'helper'"):
            await client.call("sessions.delete", {"key": key})


async def test_what_is_another_persons_is_not_known_by_its_agent_being_gone(opened: Opened) -> None:
    async with opened() as (gate, client):
        await client.call("sessions.create", {"key": "agent:helper:two"})
        await _forget_helper(gate)
        async with gate.client(auth={"token": "alice-token"}) as alice:
            told = set()
            for name in ("two", "six"):
                with pytest.raises(Refused) as refused:
                    await alice.call("sessions.delete", {"key": f"agent:helper:{name}"})
                told.add(str(refused.value))
        assert len(told) == 1


async def test_a_session_is_found_by_how_its_id_begins(opened: Opened) -> None:
    ids = ("0190aaaa-bbbb-7000-8000-000000000001", "0190aaaa-bbcc-7000-8000-000000000002")
    async with opened() as (_, client):
        for one in ids:
            await client.call(
                "sessions.create", {"key": f"agent:main:dashboard:{one}", "label": f"l {one[9:13]}"}
            )
        named = {"key": "agent:main:explicit:named", "label": ids[0]}
        await client.call("sessions.create", named)
        for begin in ("0190aaaabbbb", "0190AAAABBBB7000", ids[0].replace("-", "")):
            found = await client.call("sessions.resolve", {"shortId": begin})
            assert found["key"] == f"agent:main:dashboard:{ids[0]}"
        with pytest.raises(Refused, match="give more of it"):
            await client.call("sessions.resolve", {"shortId": "0190aaaabb"})
        with pytest.raises(Refused, match="No session found: ffffffff"):
            await client.call("sessions.resolve", {"shortId": "ffffffff"})
        missing = await client.call("sessions.resolve", {"shortId": "ffffffff", "allowMissing": True})
        assert missing == {"ok": False}
        with pytest.raises(Refused, match="shortId"):
            await client.call("sessions.resolve", {"shortId": "0190"})


@pytest.mark.parametrize(
    ("method", "named"),
    [
        ("chat.send", "sessionKey"),
        ("chat.history", "sessionKey"),
        ("chat.abort", "sessionKey"),
        ("agent", "sessionKey"),
        ("agent", "sessionId"),
        ("sessions.send", "key"),
        ("sessions.create", "key"),
        ("sessions.patch", "key"),
        ("sessions.reset", "key"),
        ("sessions.delete", "key"),
        ("sessions.resolve", "key"),
        ("sessions.resolve", "sessionId"),
        ("sessions.usage", "key"),
        ("agent.identity.get", "sessionKey"),
    ],
)
async def test_a_session_of_another_agent_than_the_one_named_is_refused(
    opened: Opened, method: str, named: str
) -> None:
    async with opened() as (gate, client):
        made = await client.call("sessions.create", {"key": "agent:helper:two"})
        said = {"message": "hi", "idempotencyKey": "run-1"}
        speaks = method in ("chat.send", "agent", "sessions.send", "sessions.create")
        meant = made["sessionId"] if named == "sessionId" else made["key"]
        params = {named: meant, "agentId": "Main", **(said if speaks else {})}
        with pytest.raises(
            Refused, match=r"agent:helper:two is a session of agent 'helper', not of 'main' \(leave out"
        ) as refused:
            await client.call(method, params)
        assert refused.value.error["code"] == "INVALID_REQUEST"
        (row,) = (await client.call("sessions.list"))["sessions"]
        assert (row["key"], row["sessionId"]) == (made["key"], made["sessionId"])
        assert await gate.bench.store.pending_inputs(SessionKey.parse(made["key"])) == ()


async def test_a_session_is_the_named_agents_where_it_is_its_own_or_shared_by_all(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.otherwise = (Say("words"),)
        for name, key in (("run-1", "two"), ("run-2", "agent:helper:two")):
            sent = send("hi", name, sessionKey=key, agentId="helper")
            assert (await client.call("chat.send", sent))["sessionKey"] == "agent:helper:two"
            await client.event("chat", runId=name, state="final")
        rules = gate.engine.rules
        await gate.engine.reload(replace(rules, routing=replace(rules.routing, scope=SessionScope.GLOBAL)))
        sent = send("hi", "run-3", sessionKey="main", agentId="helper")
        assert (await client.call("chat.send", sent))["sessionKey"] == "global"


async def test_a_job_is_not_given_a_session_of_another_agent_than_its_own(opened: Opened) -> None:
    async with opened() as (_, client):
        job = {
            "name": "tidy",
            "schedule": {"kind": "every", "everyMs": 3_600_000},
            "payload": {"kind": "agentTurn", "message": "tidy up"},
            "agentId": "helper",
        }
        with pytest.raises(Refused, match="session of agent 'main', not of 'helper'"):
            await client.call("cron.add", {**job, "sessionTarget": "session:agent:main:two"})
        made = await client.call("cron.add", {**job, "sessionTarget": "session:two"})
        assert made["sessionTarget"] == "session:agent:helper:two"
        moved = {"id": made["id"], "patch": {"sessionTarget": "session:three"}}
        assert (await client.call("cron.update", moved))["sessionTarget"] == "session:agent:helper:three"
        moved = {"id": made["id"], "patch": {"sessionTarget": "session:agent:main:two"}}
        assert (await client.call("cron.update", moved))["agentId"] == "main"


async def _command(client: LocalClient, command: str, key: str) -> str:
    """The answer to a command, which is the only message of its name."""
    await client.call("chat.send", send(command, command, sessionKey=key))
    told = await client.event("chat", runId=command, state="final")
    return str(told["message"]["content"][0]["text"])


async def _forget_helper(gate: Gate) -> None:
    """As when the owner takes an agent out of the configuration."""
    rules = gate.engine.rules
    await gate.engine.reload(replace(rules, commands=replace(rules.commands, agents=("main",))))


async def test_what_opens_or_wakes_a_session_knows_it_by_its_id_too(opened: Opened) -> None:
    async with opened() as (gate, client):
        made = await client.call("sessions.create", {"key": "plans"})
        key, name = made["key"], made["sessionId"]
        again = await client.call("sessions.create", {"key": name})
        assert (again["key"], again["sessionId"]) == (key, name)
        job = {
            "name": "tidy",
            "schedule": {"kind": "every", "everyMs": 3_600_000},
            "payload": {"kind": "agentTurn", "message": "tidy up"},
            "sessionTarget": f"session:{name}",
        }
        assert (await client.call("cron.add", job))["sessionTarget"] == f"session:{key}"
        await client.call("wake", {"mode": "next-heartbeat", "text": "it rains", "sessionKey": name})
        assert len(await gate.bench.store.pending_inputs(SessionKey.parse(key))) == 1
        assert [row["key"] for row in (await client.call("sessions.list", {}))["sessions"]] == [key]


async def test_the_main_session_is_neither_archived_nor_deleted(opened: Opened) -> None:
    async with opened() as (_, client):
        await client.call("sessions.create", {"key": "main"})
        for method, what in (("sessions.patch", {"archived": True}), ("sessions.delete", {})):
            with pytest.raises(Refused, match=r"Cannot (archive|delete) the main session"):
                await client.call(method, {"key": "main", **what})
        shown = await client.call("sessions.patch", {"key": "main", "archived": False, "pinned": True})
        assert shown["entry"]["pinned"]


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


async def test_an_id_from_before_a_reset_means_the_session_as_it_is(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.otherwise = (Say("seen"),)
        await client.call("chat.send", send("hi", "run-1", sessionId="nobody has it yet"))
        await client.event("chat", runId="run-1", state="final")
        held = (await client.call("sessions.describe", {"key": "main"}))["session"]["sessionId"]
        other = await client.call("sessions.create", {"key": "other"})
        await client.call("sessions.reset", {"key": "main"})
        await client.call("chat.send", send("still here", "run-2", sessionId=held))
        await client.event("chat", runId="run-2", state="final")
        for strange in ("old", other["sessionId"]):
            with pytest.raises(Refused, match="never had that sessionId"):
                await client.call("chat.send", send("hi", f"to-{strange}", sessionId=strange))
        with pytest.raises(Refused, match="another one now"):
            await client.call("sessions.reset", {"key": "main", "expectedSessionId": held})
        shown = (await client.call("sessions.get", {"key": "main"}))["messages"]
        assert [row["role"] for row in shown] == ["user", "assistant"]
        assert shown[0]["content"] == "still here"


@pytest.mark.requirement("S20")
async def test_a_label_is_each_owners_own_and_means_nobody_elses_session(opened: Opened) -> None:
    his, other = (SessionKey.named("main", name) for name in ("his", "other"))
    async with opened() as (gate, client), gate.client(auth={"token": "bob-token"}) as bob:
        for key in (his, other):
            await open_session(gate.bench.store, row=builders.session(key, owner=PEOPLE["bob-token"]))
        await bob.call("sessions.patch", {"key": str(his), "label": "Trip"})
        with pytest.raises(Refused, match="No session found"):
            await client.call("sessions.resolve", {"label": "Trip"})
        made = (await client.call("sessions.create", {"label": "Plan"}))["key"]
        await client.call("sessions.patch", {"key": made, "label": "Trip"})
        assert (await client.call("sessions.resolve", {"label": "Trip"}))["key"] == made
        assert (await bob.call("sessions.resolve", {"label": "Trip"}))["key"] == str(his)
        listed = await client.call("sessions.list", {"label": "Trip"})
        assert {row["key"] for row in listed["sessions"]} == {made, str(his)}
        for caller in (bob, client):
            with pytest.raises(Refused, match="label already in use: Trip"):
                await caller.call("sessions.patch", {"key": str(other), "label": "Trip"})


async def test_a_session_is_opened_and_found_by_any_of_its_names(opened: Opened) -> None:
    async with opened() as (_, client):
        made = await client.call(
            "sessions.create", {"label": "Trip", "displayName": "My trip", "model": "two"}
        )
        key, session_id = made["key"], made["sessionId"]
        assert key.startswith("agent:main:dashboard:")
        assert made["resolved"] == {"modelProvider": "scripted", "model": "two"}
        assert (await client.call("sessions.create", {"key": key}))["sessionId"] == session_id
        for taken in ("Trip", " Trip\n"):
            with pytest.raises(Refused, match="label already in use: Trip"):
                await client.call("sessions.create", {"label": taken})
        with pytest.raises(Refused, match="at most 512"):
            await client.call("sessions.create", {"label": "x" * 513})
        for named in (
            {"label": "Trip"},
            {"key": key},
            {"sessionId": session_id},
            {"key": session_id},
            {"reference": {"key": key}},
        ):
            assert await client.call("sessions.resolve", named) == {"ok": True, "key": key, "agentId": "main"}
        missing = {"label": "none", "allowMissing": True}
        assert await client.call("sessions.resolve", missing) == {"ok": False}
        for nobody in ({"label": "none"}, {"sessionId": "none"}, {"key": "none"}):
            with pytest.raises(Refused, match="No session found"):
                await client.call("sessions.resolve", nobody)
        for several in (
            {},
            {"key": key, "label": "Trip"},
            {"sessionId": session_id, "reference": {"key": key}},
        ):
            with pytest.raises(Refused, match="exactly one of key"):
                await client.call("sessions.resolve", several)
        with pytest.raises(Refused, match="No session found"):
            await client.call("sessions.resolve", {"key": key, "spawnedBy": "main"})


async def test_who_opens_or_reads_a_session_is_told_the_model_of_its_agent(opened: Opened) -> None:
    async with opened() as (gate, client):
        rules = gate.engine.rules
        main, helper = rules.house.shown.agents
        shown = replace(rules.house.shown, agents=(main, replace(helper, model="scripted/two")))
        await gate.engine.reload(replace(rules, house=replace(rules.house, shown=shown)))
        for agent, model in (("main", "one"), ("helper", "two")):
            key = f"agent:{agent}:side"
            read = [await client.call("chat.history", {"sessionKey": key})]
            told = [
                await client.call("sessions.create", {"key": key}),
                await client.call("sessions.patch", {"key": key, "pinned": True}),
                await client.call("sessions.reset", {"key": key}),
            ]
            read += [
                await client.call("chat.history", {"sessionKey": key}),
                await client.call("chat.startup", {"sessionKey": key}),
                await client.call("sessions.list", {"agentId": agent}),
            ]
            for found in (*(one["resolved"] for one in told), *(one["defaults"] for one in read)):
                assert (found["modelProvider"], found["model"]) == ("scripted", model)
        assert (await client.call("sessions.list"))["defaults"]["model"] == "one"
        gone = await client.call("sessions.list", {"agentId": "gone"})
        assert gone["defaults"]["model"] is None
