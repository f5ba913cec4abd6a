"""Lists of sessions, a page after another, and of messages, as many as fit."""

from base64 import b64encode
from pathlib import Path

import pytest

from roost.core.keys import SessionKey
from roost.testing import builders
from roost.testing.scripts import Say
from roost.testing.wires import Refused
from tests.contract.scenes import opened as known
from tests.flows.served import Opened, gates, send


async def test_pages_by_cursor_go_on_where_one_ended_whatever_moved(opened: Opened) -> None:
    async with opened() as (gate, client):
        keys = [f"agent:main:{name}" for name in ("four", "three", "two", "one", "zero")]
        for at, key in enumerate(map(SessionKey.parse, reversed(keys)), 1):
            await known(gate.bench.store, row=builders.session(key, at=at))
        first = await client.call("sessions.list", {"limit": 2})
        await gate.bench.store.append(SessionKey.parse(keys[4]), (builders.said("e-1", "used"),))
        second = await client.call("sessions.list", {"limit": 1, "cursor": first["nextCursor"]})
        assert (second["hasMore"], second["nextOffset"], second["totalCount"] >= 2) == (True, None, True)
        third = await client.call("sessions.list", {"limit": 2, "cursor": second["nextCursor"]})
        shown = [row["key"] for page in (first, second, third) for row in page["sessions"]]
        assert shown == keys[:4]
        assert (third["hasMore"], third["nextOffset"], third["nextCursor"]) == (False, None, None)


@pytest.mark.parametrize(
    "cursor",
    ["", "x", "1.", "1.x", "1234567890123456.agent:main:one", "1.agent:main:\0", "²1.agent:main:one"],
)
async def test_a_cursor_that_no_page_gave_is_refused(tmp_path: Path, cursor: str) -> None:
    async with gates("memory", tmp_path) as gate, gate.client() as client:
        with pytest.raises(Refused, match=r"cursor|session key") as refused:
            await client.call("sessions.list", {"cursor": cursor})
        assert refused.value.error["code"] == "INVALID_REQUEST"


async def test_of_messages_that_do_not_fit_into_an_answer_the_newest_are_given(opened: Opened) -> None:
    large = b64encode(b"\x89PNG\r\n\x1a\n".ljust(2 << 20, b"x")).decode()
    picture = {"mimeType": "image/png", "content": large}
    async with opened() as (gate, client):
        assert client.hello["policy"]["attachments"]["maxImageBytes"] == 6 << 20
        for name in ("one", "two", "three"):
            gate.bench.model.add((Say(name),))
            await client.call("chat.send", send(f"say {name}", name, attachments=[picture]))
            await client.event("chat", runId=name, state="final")
        rows = (await client.call("sessions.get", {"key": "main"}))["messages"]
    assert [row["role"] for row in rows] == ["assistant", "user", "assistant", "user", "assistant"]
    assert rows[1]["content"][0]["text"] == "say two"
