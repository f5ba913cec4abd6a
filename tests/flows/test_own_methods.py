"""What only Roost can be asked, through its door."""

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from roost.core.figures import DAY_MS
from roost.core.keys import SessionKey
from roost.core.retention import Retention
from roost.server.handlers.searching import STEP
from roost.testing import builders
from roost.testing.builders import said
from roost.testing.scripts import Say
from roost.testing.wires import Refused
from tests.credentials import mixed
from tests.flows.served import gates, send


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_what_was_said_is_searched_and_the_tree_is_shown(kind: str, tmp_path: Path) -> None:
    async with gates(kind, tmp_path) as gate, gate.client() as client:
        gate.bench.model.add((Say("the zebra sleeps"),))
        await client.call("chat.send", send("where is the zebra?", "one"))
        await client.event("chat", state="final")
        found = await client.call("roost.search", {"query": "zebra", "limit": 1})
        assert found["hasMore"] is True
        assert found["results"][0]["role"] == "assistant"
        both = await client.call("roost.search", {"query": "zebra", "key": "main"})
        assert [row["role"] for row in both["results"]] == ["assistant", "user"]
        tree = await client.call("sessions.tree", {"key": "main"})
        assert (tree["tree"]["key"], tree["tree"]["children"]) == ("agent:main:main", [])
        for method in ("sessions.tree", "roost.search"):
            with pytest.raises(Refused, match="No session found"):
                await client.call(
                    method, {"key": "nowhere", **({"query": "x"} if "search" in method else {})}
                )
        cleaned = await client.call("roost.cleanup", {"dryRun": True})
        assert cleaned["removed"] == []


@pytest.mark.requirement("S24")
async def test_no_secret_is_found_by_its_words_and_what_may_be_read_is_found_beyond_it(
    tmp_path: Path,
) -> None:
    key = SessionKey.parse("agent:main:main")
    secret = "sk-" + mixed(30)
    with anyio.fail_after(60):
        async with gates("memory", tmp_path) as gate, gate.client() as client:
            await client.call("sessions.create", {"key": "main"})
            texts = [f"{words} {number}" for words in ("zebra", secret) for number in range(STEP + 1)]
            drafts = [said(f"e-{place}", text) for place, text in enumerate(texts)]
            await gate.bench.store.append(key, tuple(drafts))
            found = await client.call("roost.search", {"query": secret})
            assert (found["results"], found["hasMore"]) == ([], False)
            for offset, names, more in ((0, [f"e-{STEP}", f"e-{STEP - 1}"], True), (STEP, ["e-0"], False)):
                page = await client.call("roost.search", {"query": "zebra", "limit": 2, "offset": offset})
                assert [row["messageId"] for row in page["results"]] == names
                assert page["hasMore"] is more


async def test_only_the_administrator_removes(tmp_path: Path) -> None:
    async with gates("memory", tmp_path) as gate, gate.client(scopes=["operator.write"]) as client:
        with pytest.raises(Refused, match="missing scope"):
            await client.call("roost.cleanup")
        with pytest.raises(Refused, match="missing scope"):
            await client.call("roost.export", {"key": "main"})


async def test_a_gateway_without_stores_of_its_own_exports_nothing(tmp_path: Path) -> None:
    async with gates("memory", tmp_path) as gate, gate.client() as client:
        await client.call("sessions.create", {"key": "main"})
        with pytest.raises(Refused, match="nothing to export with"):
            await client.call("roost.export", {"key": "main"})
        with pytest.raises(Refused, match="No session found"):
            await client.call("roost.export", {"key": "nowhere"})


@pytest.mark.requirement("P22")
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_cleanup_that_enforces_removes_what_the_policy_only_warns_of(
    kind: str, tmp_path: Path
) -> None:
    key = SessionKey.parse("agent:main:hook:old")
    async with gates(kind, tmp_path) as gate, gate.client() as client:
        old = builders.session(key, at=gate.bench.clock.now() - 60 * DAY_MS)
        opening = builders.opening(old, "0190aaaa-0000-7000-8000-000000000001")
        await gate.bench.store.change_session(key, lambda snapshot: (opening,))
        house = replace(gate.engine.rules.house, retention=Retention(enforce=False))
        await gate.engine.reload(replace(gate.engine.rules, house=house))
        for unable in ({"agent": "main"}, {"fixDmScope": True}):
            with pytest.raises(Refused, match="not supported"):
                await client.call("sessions.cleanup", unable)
        for enforce, mode, pruned, left in ((False, "warn", 0, 1), (True, "enforce", 1, 0)):
            asked = {"allAgents": True, "fixMissing": True, "enforce": enforce}
            cleaned = await client.call("sessions.cleanup", asked)
            (store,) = cleaned["stores"]
            assert (cleaned["mode"], store["pruned"], store["appliedCount"]) == (mode, pruned, left)


@pytest.mark.requirement("P22")
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_session_that_is_named_as_active_is_not_cleaned_away(kind: str, tmp_path: Path) -> None:
    async with gates(kind, tmp_path) as gate, gate.client() as client:

        async def begun_long_ago(name: str, session_id: str) -> None:
            key = SessionKey.parse(f"agent:main:hook:{name}")
            old = builders.session(key, at=gate.bench.clock.now() - 60 * DAY_MS)
            opening = builders.opening(old, session_id)
            await gate.bench.store.change_session(key, lambda snapshot: (opening,))

        await begun_long_ago("old", "0190aaaa-0000-7000-8000-000000000001")
        await begun_long_ago("active", "0190aaaa-0000-7000-8000-000000000002")
        active = {"activeKey": "agent:main:hook:active"}
        with pytest.raises(Refused, match="No session found"):
            await client.call("roost.cleanup", {"activeKey": "nowhere"})
        would = await client.call("roost.cleanup", {**active, "dryRun": True})
        assert (would["removed"], would["stores"][0]["applied"]) == (["agent:main:hook:old"], False)
        done = await client.call("roost.cleanup", active)
        assert (done["removed"], done["mode"]) == (["agent:main:hook:old"], "enforce")
        for found in (would, done):
            (store,) = found["stores"]
            counted = [store[name] for name in ("beforeCount", "afterCount", "pruned", "missing")]
            assert counted == [2, 1, 1, 0]
        (store,) = (await client.call("sessions.cleanup", active))["stores"]
        assert store["appliedCount"] == 1
