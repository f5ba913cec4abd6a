import pytest

from roost.core.keys import SessionKey
from roost.testing.builders import MAIN
from tests.unit.engine.commands.rooms import Room


@pytest.mark.requirement("D57")
async def test_the_owner_is_told_where_the_files_are(room: Room) -> None:
    asked: list[tuple[SessionKey, bool]] = []

    async def export(key: SessionKey, raw: bool) -> tuple[str, ...]:
        asked.append((key, raw))
        return ("/exports/a.jsonl",)

    room.command_rules(export=export)
    await room.accepted("hello")
    assert await room.ask("/export-session") == "Exported 1 file, with secrets masked:\n/exports/a.jsonl"
    assert "with secrets as they are" in await room.ask("/export-session --raw")
    assert asked == [(MAIN, False), (MAIN, True)]
    assert "knows no 'html'" in await room.ask("/export-session html")


async def test_nothing_is_exported_from_nowhere_or_to_nowhere(room: Room) -> None:
    assert await room.ask("/export-session") == "This gateway has nowhere to export to."

    async def export(key: SessionKey, raw: bool) -> tuple[str, ...]:
        return ()

    fresh = Room()
    fresh.command_rules(export=export)
    assert await fresh.ask("/export-session") == "There is nothing to export."
