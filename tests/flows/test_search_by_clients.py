"""Search as clients of protocol 4 ask for it."""

from pathlib import Path

import pytest

from roost.core.keys import SessionKey
from roost.testing import builders
from roost.testing.wires import Refused
from tests.flows.served import gates

KINDS = pytest.mark.parametrize("kind", ["memory", "sqlite"])
MAIN, OTHER = SessionKey.parse("agent:main:main"), SessionKey.parse("agent:main:dashboard:other")


@KINDS
async def test_a_search_finds_words_and_not_what_tools_answered(kind: str, tmp_path: Path) -> None:
    async with gates(kind, tmp_path) as gate, gate.client() as client:
        for key, label in ((MAIN, "first"), (OTHER, "second")):
            await client.call("sessions.create", {"key": str(key), "label": label})
        drafts = (
            builders.said("e-1", "where is the zebra?", at=1),
            builders.called("e-2", "c-1", "exec", at=2),
            builders.returned("e-3", "c-1", "exec", "a zebra", at=3),
            builders.answered("e-4", "the zebra sleeps", at=4),
        )
        await gate.bench.store.append(MAIN, drafts)
        await gate.bench.store.append(OTHER, (builders.said("o-1", "a zebra again", at=5),))
        found = await client.call("sessions.search", {"query": "zebra"})
        assert set(found) == {"results"}
        assert [set(row) for row in found["results"]] == [
            {"sessionKey", "sessionId", "messageId", "role", "timestamp", "snippet", "score"}
        ] * 3
        told = [(row["sessionKey"], row["messageId"], row["role"]) for row in found["results"]]
        assert told == [
            (str(OTHER), "o-1", "user"),
            (str(MAIN), "e-4", "assistant"),
            (str(MAIN), "e-1", "user"),
        ]
        scores = [row["score"] for row in found["results"]]
        assert scores == sorted(set(scores), reverse=True)
        one = await client.call("sessions.search", {"query": "zebra", "limit": 1})
        assert ([row["messageId"] for row in one["results"]], one["truncated"]) == (["o-1"], True)
        several = {"query": "zebra", "sessionKeys": ["main", "nowhere", str(MAIN)]}
        named = await client.call("sessions.search", several)
        assert [row["messageId"] for row in named["results"]] == ["e-4", "e-1"]
        listed = await client.call("sessions.search", {"query": "zebra", "scope": {"label": "second"}})
        assert [row["messageId"] for row in listed["results"]] == ["o-1"]
        assert [row["key"] for row in listed["sessions"]] == [str(OTHER)]
        nobody = await client.call("sessions.search", {"query": "zebra", "agentId": "helper"})
        assert nobody["results"] == []
        with pytest.raises(Refused, match="leave one of them out"):
            await client.call("sessions.search", {"query": "zebra", "scope": {}, "agentId": "main"})
