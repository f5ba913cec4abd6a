import json

import pytest

from roost.core.workspacefiles import FileState, WorkspaceFile
from tests.unit.engine.commands.rooms import Room
from tests.unit.engine.scenes import Doing


@pytest.fixture
def room() -> Room:
    async def act() -> str:
        return ""

    room = Room()
    room.scene.tools = (Doing("read", act), Doing("write_much", act))
    return room


@pytest.mark.requirement("D50")
async def test_context_is_explained_listed_and_detailed(room: Room) -> None:
    assert "/context list" in await room.ask("/context")
    listed = await room.ask("/context list")
    assert "Workspace: /nonexistent (rw, no sandbox)" in listed
    assert "System text: 15 chars (~3 tokens)" in listed
    assert "Tool names: read, write_much" in listed
    detailed = await room.ask("/context detail")
    assert detailed.startswith(listed)
    assert "read: schema 2, text 8, 0 parameters" in detailed


@pytest.mark.requirement("D50")
async def test_files_are_listed_with_what_is_shown_of_them(room: Room) -> None:
    room.scene.files = (
        WorkspaceFile(name="AGENTS.md", state=FileState.TRUNCATED, text="x" * 10, raw=2_000),
        WorkspaceFile(name="SOUL.md", state=FileState.MISSING),
    )
    listed = (await room.ask("/context list")).splitlines()
    assert listed[2:4] == ["File AGENTS.md: TRUNCATED 10 of 2k chars", "File SOUL.md: MISSING"]
    figures = json.loads(await room.ask("/context json"))
    assert [(file["rawChars"], file["injectedChars"]) for file in figures["files"]] == [(2_000, 10), (0, 0)]


async def test_context_as_figures(room: Room) -> None:
    figures = json.loads(await room.ask("/context json"))
    assert figures["model"] == "scripted/one"
    assert [tool["name"] for tool in figures["tools"]] == ["read", "write_much"]


async def test_a_form_there_is_not(room: Room) -> None:
    assert await room.ask("/context map") == "/context knows no 'map'. Say list, detail or json."
