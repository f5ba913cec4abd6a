"""Sessions that clients may not find, and those they may not lose."""

import pytest

from roost.core.keys import SessionKey
from roost.core.sessions import Labels
from roost.testing import builders
from roost.testing.wires import Refused
from tests.contract.scenes import opened as open_session
from tests.flows.served import Opened


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


async def test_the_main_session_is_neither_archived_nor_deleted(opened: Opened) -> None:
    async with opened() as (_, client):
        await client.call("sessions.create", {"key": "main"})
        for method, what in (("sessions.patch", {"archived": True}), ("sessions.delete", {})):
            with pytest.raises(Refused, match=r"Cannot (archive|delete) the main session"):
                await client.call(method, {"key": "main", **what})
        shown = await client.call("sessions.patch", {"key": "main", "archived": False, "pinned": True})
        assert shown["entry"]["pinned"]
