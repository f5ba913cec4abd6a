"""Agents that look into sessions, from a message on a channel to what the model was shown."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from roost.app.opening import open_engine, open_store
from roost.channels.loopback import LoopbackChannel
from roost.config import load
from roost.core.addresses import Address
from roost.core.admission import ChannelPolicy
from roost.core.envelopes import Sender
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.messages import ToolCall, ToolResult
from roost.core.messages import text_of as said_in
from roost.core.queries import HistoryQuery
from roost.core.reach import SessionReach
from roost.core.routing import RoutingRules
from roost.core.scopes import DmScope
from roost.core.sessions import Labels
from roost.core.visibility import AgentToAgent, Level
from roost.scanners.stdlib import StdlibScanner
from roost.testing import builders
from roost.testing.scripts import CallTool, Say
from roost.tools.access import Access
from roost.tools.sessions_history import SessionsHistory
from roost.tools.sessions_list import SessionsList
from roost.tools.sessions_search import SessionsSearch
from tests.flows.gateways import ADA, BOB, Bench, benches, chat

SCANNER = StdlibScanner()
MAIN = SessionKey.named("main", "main")
BOBS = SessionKey.parse("agent:main:loopback:direct:bob")


@pytest.fixture(params=["memory", "sqlite"])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    async with benches(request.param, tmp_path) as bench:
        bench.change(routing=RoutingRules(dm_scope=DmScope.OWNER_MAIN))
        see(bench, Level.TREE)
        yield bench


def see(bench: Bench, level: Level) -> None:
    everyone = AgentToAgent(enabled=True, allow=None)
    access = Access(bench.store, bench.clock, SessionReach(agent="main", level=level, a2a=everyone))
    bench.tools = (
        SessionsList(access, SCANNER, lambda session: None),
        SessionsHistory(access, SCANNER),
        SessionsSearch(access, SCANNER),
    )


def call(tool: str, **arguments: Any) -> tuple[CallTool]:
    return (CallTool(ToolCall(id=f"c-{tool}", name=tool, arguments=arguments)),)


def shown(bench: Bench) -> list[dict[str, Any]]:
    """What the tools of the newest call told the model."""
    results = [one for one in bench.model.requests[-1].messages if isinstance(one, ToolResult)]
    return [json.loads(said_in(result)) for result in results]


@pytest.mark.requirement("D01", "D02")
async def test_a_model_lists_reads_and_searches_its_own_session(bench: Bench) -> None:
    asked = (*call("sessions_list"), *call("sessions_history", sessionKey="main"))
    bench.model.add((Say("It is blue."),), (*asked, *call("sessions_search", query="blue")), (Say("There."),))
    async with bench.serving():
        await bench.say("which colour?")
        await bench.replies()
        await bench.say("look it up")
        assert (await bench.replies(at_least=2))[1] == "There."
    listed, history, found = shown(bench)
    assert [(row["key"], row["status"], row["channel"]) for row in listed["sessions"]] == [
        ("main", "running", "loopback")
    ]
    assert [message["role"] for message in history["messages"]][:2] == ["user", "assistant"]
    assert [row["snippet"] for row in found["results"]] == ["It is blue."]


@pytest.mark.requirement("P2", "P8", "S20")
async def test_what_one_person_says_is_in_no_answer_to_another(bench: Bench) -> None:
    see(bench, Level.ALL)
    looking = (
        *call("sessions_list", includeDerivedTitles=True, includeLastMessage=True, messageLimit=5),
        *call("sessions_history", sessionKey="main"),
        *call("sessions_search", query="word"),
    )
    bench.model.add((Say("Noted."),), looking, (Say("Nothing."),), looking, (Say("That."),))
    async with bench.serving():
        await bench.say("my word is canary", ADA)
        await bench.replies(ADA)
        await bench.say("what do you know?", BOB)
        await bench.replies(BOB)
        listed, history, found = shown(bench)
        assert "canary" not in json.dumps([listed, history, found])
        assert [row["key"] for row in listed["sessions"]] == [str(BOBS)]
        assert (history["status"], found["count"]) == ("error", 0)
        await bench.say("/explain denial", BOB)
        assert (await bench.replies(BOB, at_least=2))[1] == "Denials: none."
        await bench.say("and who else is there?", ADA)
        await bench.replies(ADA, at_least=2)
    listed, history, found = shown(bench)
    assert {row["key"] for row in listed["sessions"]} == {"main", str(BOBS)}
    assert found["results"][0]["snippet"] == "my word is canary"
    denials = await bench.store.denials(10)
    assert [(one.operation, one.rule, one.caller) for one in denials] == [
        ("history", "other_principal", BOBS)
    ]


OWNER = Sender(id="ada")
OWNER_DOOR = ChannelPolicy(owner_ids=("loopback:ada",))


async def talk(folder: Path, lines: tuple[str, ...]) -> list[str]:
    """What the configured engine answers to the owner, line by line."""
    channel = LoopbackChannel()
    loaded = load({"ROOST_HOME": str(folder)})
    async with (
        open_engine(loaded, [channel], {"loopback": OWNER_DOOR}) as engine,
        engine.serving(Gateway(name="t", holder="t")),
    ):
        for number, line in enumerate(lines):
            await channel.say(line, sender=OWNER, chat=chat(OWNER), external_id=str(uuid4()))
            replies = await channel.wait_replies(Address(channel="loopback", to="ada"), number + 1)
    return list(replies)


@pytest.mark.requirement("D01")
async def test_plain_requests_to_the_demo_model_work_without_any_configuration(tmp_path: Path) -> None:
    lines = (
        "hello there",
        "list my sessions",
        "search for hello",
        "what did we say in main?",
        "show the status of main",
        "show the history of nowhere",
    )
    _, listed, found, history, status, nowhere = await talk(tmp_path, lines)
    assert "- main (hello there)" in listed
    assert "tools.sessions.visibility" in listed
    assert found.splitlines()[-1] == "- main: hello there"
    assert "- user: hello there" in history
    assert "Model: demo/demo (no model is configured)" in status
    assert "There is no such session" in nowhere


@pytest.mark.requirement("D01", "D13")
async def test_the_demo_model_tells_a_session_by_its_label_and_has_its_reply(tmp_path: Path) -> None:
    (tmp_path / "roost.json").write_text('{tools: {sessions: {visibility: "agent"}}}')
    research = SessionKey.named("main", "desk")
    async with open_store(load({"ROOST_HOME": str(tmp_path)})) as store:
        lease = await store.acquire_lease(Gateway(name="t", holder="setup"))
        row = builders.session(research)._replace(labels=Labels(label="research"))
        await store.change_session(research, lambda _: (builders.opening(row, "desk-1"),))
        await store.release_lease(lease)
    (told,) = await talk(tmp_path, ("tell the research session to count to 5",))
    assert told == f"{research} replies: 1, 2, 3, 4, 5"


@pytest.mark.requirement("D09")
async def test_a_row_tells_where_its_transcript_lies_if_it_lies_anywhere(tmp_path: Path) -> None:
    await talk(tmp_path, ("list my sessions",))
    assert (await listed_row(tmp_path))["transcriptPath"] is None
    (tmp_path / "roost.json").write_text('{session: {store: "files/{agentId}/sessions.json"}}')
    await talk(tmp_path, ("list my sessions",))
    row = await listed_row(tmp_path)
    assert row["transcriptPath"] == str(tmp_path / "files" / "main" / f"{row['sessionId']}.jsonl")


async def listed_row(folder: Path) -> dict[str, Any]:
    """The one row of the newest list that is stored."""
    async with open_store(load({"ROOST_HOME": str(folder)})) as store:
        page = await store.history(HistoryQuery(key=MAIN))
    newest = [entry.body for entry in page.entries if isinstance(entry.body, ToolResult)][-1]
    (row,) = json.loads(said_in(newest))["sessions"]
    assert isinstance(row, dict)
    return row


@pytest.mark.requirement("D54")
@pytest.mark.parametrize(
    ("profile", "lists", "searches"),
    [("minimal", False, False), ("messaging", True, False), ("coding", True, False), ("full", True, True)],
)
async def test_a_profile_says_which_session_tools_there_are(
    tmp_path: Path, profile: str, lists: bool, searches: bool
) -> None:
    (tmp_path / "roost.json").write_text(f'{{tools: {{profile: "{profile}"}}}}')
    listed, found = await talk(tmp_path, ("list my sessions", "search for sessions"))
    assert ("does not have it" not in listed) is lists
    assert ("does not have it" not in found) is searches


@pytest.mark.requirement("D05")
async def test_under_the_global_scope_the_default_agent_answers_and_the_session_is_called_main(
    tmp_path: Path,
) -> None:
    (tmp_path / "roost.json").write_text('{session: {scope: "global"}}')
    _, listed, history = await talk(tmp_path, ("hello", "list my sessions", "history of main"))
    assert "- main (hello)" in listed
    assert "global" not in listed + history
    assert "- user: hello" in history


@pytest.mark.requirement("D01", "D26", "D27")
async def test_a_helper_counts_to_five_without_any_configuration(tmp_path: Path) -> None:
    channel = LoopbackChannel()
    loaded = load({"ROOST_HOME": str(tmp_path)})
    async with (
        open_engine(loaded, [channel], {"loopback": OWNER_DOOR}) as engine,
        engine.serving(Gateway(name="t", holder="t")),
    ):
        await channel.say("spawn a helper to count to 5", sender=OWNER, chat=chat(OWNER), external_id="1")
        first, announced = await channel.wait_replies(Address(channel="loopback", to="ada"), 2)
    assert first.startswith("A helper has started in agent:main:subagent:")
    assert announced.startswith("Status: success\nResult: 1, 2, 3, 4, 5\n")
    assert "Stats: runtime" in announced
