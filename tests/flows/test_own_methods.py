"""What only Roost can be asked, through its door."""

from pathlib import Path

import anyio
import pytest

from roost.core.keys import SessionKey
from roost.server.handlers.own import STEP
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
            found = await client.call("sessions.search", {"query": secret})
            assert (found["results"], found["hasMore"]) == ([], False)
            for offset, names, more in ((0, [f"e-{STEP}", f"e-{STEP - 1}"], True), (STEP, ["e-0"], False)):
                page = await client.call("sessions.search", {"query": "zebra", "limit": 2, "offset": offset})
                assert [row["messageId"] for row in page["results"]] == names
                assert page["hasMore"] is more


async def test_only_the_administrator_removes(tmp_path: Path) -> None:
    async with gates("memory", tmp_path) as gate, gate.client(scopes=["operator.write"]) as client:
        with pytest.raises(Refused, match="missing scope"):
            await client.call("sessions.cleanup")
