"""Save points, through the gateway's door."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roost.core.keys import SessionKey
from roost.core.messages import UserMessage, text_of
from roost.core.scopes import SessionScope
from roost.core.sessions import Lineage
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.scripts import Say
from roost.testing.wires import LocalClient, Refused
from tests.flows.served import Gate, gates, send

KINDS = pytest.mark.parametrize("kind", ["memory", "sqlite"])
CHILD = SessionKey.parse("agent:main:subagent:one")


async def talked(client: LocalClient, gate: Gate, text: str, key: str = "main") -> None:
    gate.bench.model.add((Say(f"{text} too"),))
    await client.call("chat.send", {**send(f"say {text}", text), "sessionKey": key})
    await client.event("chat", state="final", runId=text)


async def save(client: LocalClient, name: str) -> Any:
    return await client.call("sessions.points.save", {"key": "main", "name": name})


async def spawned(gate: Gate) -> None:
    row = builders.session(CHILD)._replace(lineage=Lineage(parent=MAIN, depth=1))
    opening = builders.opening(row, "child")
    await gate.bench.store.change_session(CHILD, lambda _: (opening,))


def words(told: Any) -> list[str]:
    return [str(one["content"]) for one in told["messages"]]


@pytest.mark.requirement("F3")
@KINDS
async def test_two_points_are_compared_in_messages_settings_model_and_children(
    kind: str, tmp_path: Path
) -> None:
    async with gates(kind, tmp_path) as gate, gate.client() as client:
        await talked(client, gate, "apple")
        saved = await save(client, "a")
        assert (saved["key"], saved["point"]["name"], saved["point"]["seq"]) == ("agent:main:main", "a", 2)
        await client.call("sessions.patch", {"key": "main", "thinkingLevel": "high", "model": "scripted/two"})
        await talked(client, gate, "pear")
        await spawned(gate)
        await save(client, "b")
        listed = await client.call("sessions.points.list", {"key": "main"})
        assert [one["name"] for one in listed["points"]] == ["a", "b"]
        assert listed["points"][1]["settings"] == {"model": "scripted/two", "thinking": "high"}

        found = await client.call("sessions.points.diff", {"key": "main", "before": "a", "after": "b"})
        assert (found["gone"], found["new"]["count"]) == ({"count": 0, "messages": []}, 2)
        assert ["pear" in one for one in words(found["new"])] == [True, True]
        assert {one["name"]: (one["before"], one["after"]) for one in found["settings"]} == {
            "model": (None, "scripted/two"),
            "thinking": (None, "high"),
        }
        assert found["model"]["after"] == "scripted/two"
        assert found["children"] == {"born": [str(CHILD)], "left": [], "moved": []}
        back = await client.call("sessions.points.diff", {"key": "main", "before": "b", "after": "a"})
        assert (back["gone"], back["new"]) == (found["new"], found["gone"])
        assert back["children"] == {"born": [], "left": [str(CHILD)], "moved": []}

        await client.call("sessions.reset", {"key": "main"})
        await talked(client, gate, "plum")
        afresh = await client.call("sessions.points.diff", {"key": "main", "before": "b", "limit": 1})
        assert (afresh["gone"]["count"], len(afresh["gone"]["messages"]), afresh["new"]["count"]) == (4, 1, 2)


@pytest.mark.requirement("F3")
@KINDS
async def test_loading_one_is_a_new_branch_with_the_settings_of_then_and_changes_nothing(
    kind: str, tmp_path: Path
) -> None:
    async with gates(kind, tmp_path) as gate, gate.client() as client:
        store = gate.bench.store
        await client.call("sessions.patch", {"key": "main", "thinkingLevel": "low"})
        await talked(client, gate, "apple")
        await save(client, "a")
        await client.call("sessions.patch", {"key": "main", "thinkingLevel": "high"})
        await talked(client, gate, "pear")
        before = (await store.session(MAIN), await client.call("chat.history", {"sessionKey": "main"}))
        loaded = await client.call("sessions.points.load", {"key": "main", "name": "a"})
        assert loaded["key"].startswith("agent:main:dashboard:")
        branch = await store.session_by_id(loaded["sessionId"])
        assert branch is not None
        assert branch.overrides.thinking == "low"
        await talked(client, gate, "plum", loaded["key"])
        asked = gate.bench.model.requests[-1].messages
        said = [text_of(one) for one in asked if isinstance(one, UserMessage)]
        assert ["say apple" in one for one in said] == [True, False]
        assert "say plum" in said[1]
        assert (
            await store.session(MAIN),
            await client.call("chat.history", {"sessionKey": "main"}),
        ) == before


async def test_a_name_is_given_once_until_it_is_deleted(tmp_path: Path) -> None:
    async with gates("memory", tmp_path) as gate, gate.client() as client:
        await talked(client, gate, "apple")
        await save(client, "a")
        with pytest.raises(Refused, match="there is a save point 'a' already"):
            await save(client, "a")
        gone = await client.call("sessions.points.delete", {"key": "main", "name": "a"})
        assert gone == {"ok": True, "key": "agent:main:main", "name": "a"}
        assert (await save(client, "a"))["ok"]
        for method in ("load", "delete"):
            with pytest.raises(Refused, match="no save point 'b'"):
                await client.call(f"sessions.points.{method}", {"key": "main", "name": "b"})
        with pytest.raises(Refused, match="No session found"):
            await client.call("sessions.points.list", {"key": "nowhere"})


async def test_a_session_of_no_agent_is_loaded_for_the_one_that_answers_in_it(tmp_path: Path) -> None:
    async with gates("memory", tmp_path) as gate, gate.client() as client:
        rules = gate.engine.rules
        shared = replace(rules, routing=replace(rules.routing, scope=SessionScope.GLOBAL))
        await gate.engine.reload(shared)
        key = SessionKey.parse("global")
        opening = builders.opening(builders.session(key), "everybody")
        await gate.bench.store.change_session(key, lambda _: (opening,))
        await client.call("sessions.points.save", {"key": "global", "name": "a"})
        loaded = await client.call("sessions.points.load", {"key": "global", "name": "a"})
        assert loaded["key"].startswith("agent:main:dashboard:")
