"""The laws of paging through a conversation: whatever was said and however often it began afresh, all of it is read once."""

from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.keys import SessionKey
from roost.testing import builders
from roost.testing.wires import LocalClient
from tests.flows.served import gates
from tests.scale import examples

MAIN = SessionKey.parse("agent:main:main")
MOST_PAGES = 60

conversations = st.lists(st.integers(0, 4), min_size=1, max_size=4)


async def _pages(client: LocalClient, limit: int, most_bytes: int) -> list[list[str]]:
    """What each page holds, the newest first, as `nextOffset` leads on."""
    pages, offset = list[list[str]](), 0
    for _ in range(MOST_PAGES):
        page = await client.call(
            "chat.history", {"sessionKey": "main", "limit": limit, "offset": offset, "maxBytes": most_bytes}
        )
        rows = [row["__openclaw"] for row in page["messages"]]
        pages.append([row["id"] for row in rows if "kind" not in row])
        assert page["hasMore"] is ("nextOffset" in page)
        if not page["hasMore"]:
            return pages
        assert page["nextOffset"] > offset
        offset = page["nextOffset"]
    raise AssertionError("it goes on for ever")


@pytest.mark.requirement("P5")
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@settings(max_examples=examples(12, 400), deadline=None)
@given(said=conversations, limit=st.integers(1, 6), most_bytes=st.sampled_from((1_024, 1_000_000)))
def test_every_entry_is_on_one_page_however_often_it_began_afresh(
    kind: str, said: list[int], limit: int, most_bytes: int
) -> None:
    async def paging() -> None:
        with TemporaryDirectory() as folder, anyio.fail_after(60):
            async with gates(kind, Path(folder)) as gate, gate.client() as client:
                await client.call("sessions.create", {"key": "main"})
                names, kept = count(), list[str]()
                for number, many in enumerate(said):
                    if number:
                        await client.call("sessions.reset", {"key": "main"})
                    drafts = [builders.said(f"e-{next(names)}", "word " * 60) for _ in range(many)]
                    await gate.bench.store.append(MAIN, tuple(drafts))
                    kept += [one.id for one in drafts]
                pages = await _pages(client, limit, most_bytes)
                assert [one for page in reversed(pages) for one in page] == kept
                assert max(map(len, pages)) <= limit
                for one in kept:
                    page = await client.call(
                        "chat.history",
                        {"sessionKey": "main", "limit": limit, "messageId": one, "maxBytes": most_bytes},
                    )
                    assert one in [row["__openclaw"]["id"] for row in page["messages"]]

    anyio.run(paging)
