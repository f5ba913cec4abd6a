"""What only Roost can be asked, through its door."""

from pathlib import Path

import pytest

from roost.testing.scripts import Say
from roost.testing.wires import Refused
from tests.flows.served import gates, send


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_what_was_said_is_searched_and_the_tree_is_shown(kind: str, tmp_path: Path) -> None:
    async with gates(kind, tmp_path) as gate, gate.client() as client:
        gate.bench.model.add((Say("the zebra sleeps"),))
        await client.call("chat.send", send("where is the zebra?", "one"))
        await client.event("chat", state="final")
        found = await client.call("sessions.search", {"query": "zebra", "limit": 1})
        assert found["hasMore"] is True
        assert found["results"][0]["role"] == "assistant"
        both = await client.call("sessions.search", {"query": "zebra", "key": "main"})
        assert [row["role"] for row in both["results"]] == ["assistant", "user"]
        tree = await client.call("sessions.tree", {"key": "main"})
        assert (tree["tree"]["key"], tree["tree"]["children"]) == ("agent:main:main", [])
        for method in ("sessions.tree", "sessions.search"):
            with pytest.raises(Refused, match="No session found"):
                await client.call(
                    method, {"key": "nowhere", **({"query": "x"} if "search" in method else {})}
                )
        cleaned = await client.call("sessions.cleanup", {"dryRun": True})
        assert cleaned["removed"] == []


async def test_only_the_administrator_removes(tmp_path: Path) -> None:
    async with gates("memory", tmp_path) as gate, gate.client(scopes=["operator.write"]) as client:
        with pytest.raises(Refused, match="missing scope"):
            await client.call("sessions.cleanup")
