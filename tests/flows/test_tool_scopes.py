"""Which tools a run has by its model, its chat and who speaks in it."""

import json
from pathlib import Path

import anyio
import pytest

from roost.config import load
from roost.core.addresses import Address, ChatType
from roost.core.admission import ChannelPolicy, DmPolicy, GroupPolicy
from roost.core.envelopes import Conversation, Sender
from roost.core.messages import text_of
from roost.core.principals import person
from roost.core.queuesettings import QueueMode, QueuePolicy, QueueSettings
from roost.core.runs import Run
from roost.core.sessions import Session
from roost.engine.rules import Part
from roost.testing.scripts import Say, Until, calls
from tests.flows.gateways import ADA, BOB, Bench
from tests.unit.app.given import answers
from tests.unit.engine.scenes import Doing, call

CAY = Sender(id="cay", name="Cay")
ROOM = Conversation(chat_type=ChatType.GROUP, peer="room")


@pytest.mark.requirement("D54")
async def test_the_list_of_tools_names_the_stage_that_took_each_away(tmp_path: Path) -> None:
    document = {
        "tools": {"deny": ["edit"], "byProvider": {"demo": {"deny": ["exec"]}}},
        "channels": {
            "loopback": {
                "dmPolicy": "open",
                "tools": {"deny": ["write"]},
                "toolsBySender": {"owner": {"deny": ["list"]}},
            }
        },
        "commands": {"ownerAllowFrom": ["loopback:ada"]},
    }
    (tmp_path / "roost.json").write_text(json.dumps(document))
    (told,) = await answers(load({"ROOST_HOME": str(tmp_path)}), "/tools")
    assert (
        told.splitlines()[1]
        == "Removed: exec (by provider), edit (by tools), write (by chat), list (by chat)"
    )


WORKSPACE = {"read", "write", "edit", "list", "exec"}
SEEING = {"sessions_list", "sessions_history", "sessions_send", "session_status"}
SEVEN = SEEING | {"sessions_spawn", "sessions_yield", "subagents"}
BEYOND = {"agents_list", "sessions_search"}


@pytest.mark.requirement("D54")
@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ({"profile": "minimal"}, {"session_status"}),
        ({"profile": "messaging"}, SEEING),
        ({"profile": "messaging", "alsoAllow": ["sessions_spawn"]}, {*SEEING, "sessions_spawn"}),
        ({"profile": "coding"}, WORKSPACE | SEVEN),
        ({"profile": "coding", "alsoAllow": ["group:sessions"]}, WORKSPACE | SEVEN | BEYOND),
        ({"profile": "coding", "deny": ["exec", "subagents"]}, (WORKSPACE | SEVEN) - {"exec", "subagents"}),
        ({"profile": "full"}, WORKSPACE | SEVEN | BEYOND | {"cron"}),
        ({}, WORKSPACE | SEVEN | BEYOND | {"cron"}),
    ],
)
async def test_a_session_has_exactly_the_tools_of_its_profile(
    tools: dict[str, object], expected: set[str], tmp_path: Path
) -> None:
    (tmp_path / "roost.json").write_text(json.dumps({"tools": tools}))
    (told,) = await answers(load({"ROOST_HOME": str(tmp_path)}), "/tools")
    assert set(told.splitlines()[0].partition(": ")[2].split(", ")) == expected


@pytest.mark.requirement("S15")
async def test_who_speaks_beside_another_does_not_get_the_tools_of_that_one(bench: Bench) -> None:
    acted: list[str] = []

    async def act() -> str:
        acted.append("done")
        return "done"

    def cast(session: Session, run: Run) -> Part:
        bench.tools = (Doing("act", act),) if run.cause.principal == person("loopback", "bob") else ()
        return bench.cast(session, run)

    door = ChannelPolicy(
        dm_policy=DmPolicy.OPEN,
        group_policy=GroupPolicy.OPEN,
        require_mention=False,
        owner_ids=("loopback:ada",),
    )
    collect = QueuePolicy(base=QueueSettings(mode=QueueMode.COLLECT, debounce_ms=0))
    bench.change(cast=cast, doors={"loopback": door}, queue=collect)
    go_on = anyio.Event()
    bench.model.add((Until(go_on), Say("first")), calls(call("act")), (Say("second"),))
    room = Address(channel="loopback", to="room")
    async with bench.serving():
        await bench.channel.say("begin", sender=ADA, chat=ROOM)
        await bench.channel.say("act", sender=BOB, chat=ROOM)
        await bench.channel.say("yes, act", sender=CAY, chat=ROOM)
        await bench.channel.wait_acknowledged()
        go_on.set()
        assert await bench.channel.wait_replies(room, 2) == ("first", "second")
    assert acted == []
    assert "who speaks has changed" in text_of(bench.model.requests[-1].messages[-1])
