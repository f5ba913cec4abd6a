"""From the configuration file to the wire: the files of a workspace in the system text, and notes that come back."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from zoneinfo import ZoneInfo

import pytest

from roost.app.bundling import bundle_session
from roost.app.importing import import_packed
from roost.app.opening import open_engine
from roost.channels.loopback import LoopbackChannel
from roost.config import Loaded, load
from roost.core.addresses import Address, ChatType
from roost.core.admission import ChannelPolicy, DmPolicy, GroupPolicy
from roost.core.envelopes import Conversation, Sender
from roost.core.leases import Gateway
from roost.core.messages import ToolCall, Usage
from roost.engine.gateway import Engine
from roost.testing.fake_http import Asked, Reply
from roost.testing.fake_openai import FakeOpenAI, reply_of
from roost.testing.scripts import CallTool, Say, Spend
from tests.flows.gateways import ADA, BOB, chat, place

ZONE = "Pacific/Auckland"
APART = MappingProxyType({"dmScope": "per-channel-peer"})
ROOM = Conversation(chat_type=ChatType.GROUP, peer="room")
SPAWN = ToolCall(id="spawn_1", name="sessions_spawn", arguments={"task": "count"})
IN_ROOM = Address(channel="loopback", to="room")


@dataclass
class Home:
    """A configured gateway in a folder, and the endpoint its model is reached at."""

    folder: Path
    endpoint: FakeOpenAI
    channel: LoopbackChannel = field(default_factory=LoopbackChannel)

    @property
    def loaded(self) -> Loaded:
        return load({"ROOST_HOME": str(self.folder)})

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace" / "main"

    def write(self, **files: str) -> None:
        self.workspace.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (self.workspace / f"{name}.md").write_text(text)

    def configure(self, session: Mapping[str, str] = APART, /, **defaults: object) -> None:
        model = {"id": "small", "contextWindow": 4000, "maxTokens": 400}
        document = {
            "session": dict(session),
            "models": {"providers": {"local": {"baseUrl": self.endpoint.base_url, "models": [model]}}},
            "agents": {"defaults": {"model": "local/small", "userTimezone": ZONE, **defaults}},
        }
        (self.folder / "roost.json").write_text(json.dumps(document))

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Engine]:
        door = ChannelPolicy(
            dm_policy=DmPolicy.OPEN,
            owner_ids=("loopback:ada",),
            group_policy=GroupPolicy.OPEN,
            require_mention=False,
        )
        async with (
            open_engine(self.loaded, [self.channel], {"loopback": door}) as engine,
            engine.serving(Gateway(name="flow", holder="flow")),
        ):
            yield engine

    def system(self, number: int) -> str:
        messages = self.endpoint.requests[number].body["messages"]
        assert isinstance(messages, list)
        return str(messages[0]["content"])


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    async with FakeOpenAI(otherwise=reply_of((Say("NO_REPLY"),))) as endpoint:
        home = Home(tmp_path, endpoint)
        home.configure()
        yield home


@pytest.mark.requirement("P2")
async def test_the_owner_is_met_with_all_files_and_another_person_with_none_about_the_owner(
    home: Home,
) -> None:
    home.write(AGENTS="Be brief.", SOUL="Be kind.", USER="Ada is 40.", MEMORY="Ada likes tea.")
    async with home.serving() as engine:
        for sender in (ADA, BOB):
            await home.channel.say("hi", sender=sender, chat=chat(sender))
            await home.channel.wait_acknowledged()
            await engine.settled()
    mine, theirs = home.system(0), home.system(1)
    assert all(text in mine for text in ("Be brief.", "Be kind.", "Ada is 40.", "Ada likes tea."))
    assert "Be brief." in theirs
    assert "Ada" not in theirs


async def _systems(home: Home, *said: tuple[Sender, Conversation]) -> list[str]:
    """The system text of each turn, one after the other."""
    home.write(SOUL="Be kind.", USER="Ada is 40.")
    async with home.serving() as engine:
        for sender, where in said:
            await home.channel.say("hi", sender=sender, chat=where)
            await home.channel.wait_acknowledged()
            await engine.settled()
    systems = [home.system(number) for number in range(len(said))]
    assert all("Be kind." in one for one in systems)
    return systems


@pytest.mark.requirement("P2")
@pytest.mark.parametrize("thread", [None, "7"])
async def test_in_a_shared_conversation_no_turn_after_a_guest_spoke_is_shown_what_is_personal(
    home: Home, thread: str | None
) -> None:
    home.configure({"dmScope": "main"})
    mine, theirs = (replace(chat(one), thread=thread) for one in (ADA, BOB))
    systems = await _systems(home, (ADA, mine), (BOB, theirs), (ADA, mine))
    assert ["Ada is 40." in one for one in systems] == [True, False, False]


@pytest.mark.requirement("P2")
async def test_the_owner_himself_is_not_shown_what_is_personal_where_a_group_listens(home: Home) -> None:
    home.configure({"scope": "global"})
    systems = await _systems(home, (ADA, chat(ADA)), (ADA, ROOM), (ADA, chat(ADA)))
    assert ["Ada is 40." in one for one in systems] == [True, False, True]


def _spawning(request: Asked) -> Reply:
    """Whoever has the persona spawns a child, waits for it and answers; the child answers at once."""
    asked = json.dumps(request.body["messages"])
    if "Be kind." not in asked or "counted" in asked:
        return reply_of((Say("counted"),))
    if SPAWN.id in asked:
        return reply_of((CallTool(ToolCall(id="n2", name="sessions_yield", arguments={})),))
    return reply_of((CallTool(SPAWN),))


@pytest.mark.requirement("P2")
async def test_a_turn_that_goes_on_for_a_group_is_not_shown_what_is_personal(tmp_path: Path) -> None:
    async with FakeOpenAI(otherwise=_spawning) as endpoint:
        home = Home(tmp_path, endpoint)
        home.configure({"scope": "global"})
        home.write(SOUL="Be kind.", USER="Ada is 40.")
        async with home.serving() as engine:
            await home.channel.say("hi", sender=ADA, chat=ROOM)
            await home.channel.wait_replies(IN_ROOM, 1)
            await engine.settled()
    systems = [home.system(number) for number in range(len(home.endpoint.requests))]
    assert sum("Be kind." in one for one in systems) == 3
    assert not any("Ada is 40." in one for one in systems)


@pytest.mark.requirement("P2")
async def test_the_owner_keeps_his_files_in_a_chat_that_has_an_id_of_its_own(home: Home) -> None:
    room = Conversation(chat_type=ChatType.DIRECT, peer="D024BE7LH")
    systems = await _systems(home, (ADA, room), (BOB, replace(room, peer="D0BOB")), (ADA, room))
    assert ["Ada is 40." in one for one in systems] == [True, False, True]


@pytest.mark.requirement("P2")
@pytest.mark.parametrize(("speaker", "personal"), [(ADA, True), (BOB, False)])
async def test_a_shared_conversation_that_was_taken_elsewhere_knows_that_a_guest_spoke_in_it(
    home: Home, tmp_path: Path, speaker: Sender, personal: bool
) -> None:
    home.configure({"dmScope": "main"})
    await _systems(home, (speaker, chat(speaker)))
    await bundle_session(home.loaded, "main", tmp_path / "bundle")
    there = Home(tmp_path / "there", home.endpoint)
    there.folder.mkdir()
    there.configure({"dmScope": "main"})
    await import_packed(there.loaded, tmp_path / "bundle", agent=None, fork=False, dry_run=False)
    await _systems(there, (ADA, chat(ADA)))
    messages = home.endpoint.requests[-1].body["messages"]
    assert str(messages).count("'user'") == 2
    assert ("Ada is 40." in home.system(-1)) is personal


@pytest.mark.requirement("P2")
async def test_what_a_guest_said_is_not_saved_among_the_owners_notes(home: Home) -> None:
    home.configure({"dmScope": "main"})
    full = Spend(Usage(input=2_400, output=10, total=2_410))
    home.endpoint.add(reply_of((Say("hello"), full)), reply_of((Say("hello"), full)))
    await _systems(home, (BOB, chat(BOB)), (ADA, chat(ADA)))
    assert not any("memory/" in str(one.body) for one in home.endpoint.requests)
    assert not (home.workspace / "memory").exists()


async def test_a_large_file_is_cut_to_its_cap(home: Home) -> None:
    home.configure(bootstrapMaxChars=500)
    home.write(AGENTS="begin " + "x" * 9_000 + " end")
    async with home.serving() as engine:
        await home.channel.say("hi", sender=ADA, chat=chat(ADA))
        await home.channel.wait_acknowledged()
        await engine.settled()
    system = home.system(0)
    assert "begin xxx" in system
    assert system.endswith("xxx end")
    assert len(system) < 2_000


@pytest.mark.requirement("D40")
async def test_notes_are_added_to_the_day_of_the_configured_zone_and_shown_in_the_next_turn(
    home: Home,
) -> None:
    note = ToolCall(id="n1", name="write", arguments={"content": "- Ada moved to Ghent"})
    full = Spend(Usage(input=2_400, output=10, total=2_410))
    home.endpoint.add(
        reply_of((Say("hello"), full)), reply_of((CallTool(note),)), reply_of((Say("NO_REPLY"),))
    )
    async with home.serving() as engine:
        await home.channel.say("hi", sender=ADA, chat=chat(ADA))
        await home.channel.wait_acknowledged()
        await engine.settled()
        await home.channel.say("again", sender=ADA, chat=chat(ADA))
        await home.channel.wait_acknowledged()
        await engine.settled()
    today = datetime.now(ZoneInfo(ZONE)).date()  # noqa: TID251 — the running gateway's own day
    notes = list((home.workspace / "memory").glob("*.md"))
    assert [file.read_text() for file in notes] == ["- Ada moved to Ghent\n"]
    assert abs((datetime.fromisoformat(notes[0].stem).date() - today).days) <= 1
    assert home.channel.replies(place(ADA)) == ("hello",)
    tools = home.endpoint.requests[1].body["tools"]
    assert isinstance(tools, list)
    assert [tool["function"]["name"] for tool in tools] == ["read", "write"]
    assert "- Ada moved to Ghent" in home.system(3)
