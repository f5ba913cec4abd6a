"""Recordings are read from files, and played."""

from pathlib import Path

import pytest

import roost
from roost.app.replaying import replay
from roost.core.errors import InvalidInput
from roost.core.jsonl import Header, header_to_json, line_of
from roost.core.jsonvalue import compact
from roost.core.messages import Text
from roost.core.models import ToolSpec
from roost.core.tools import Invocation, ToolOutcome, ToolTraits
from roost.ports import Report
from roost.testing import builders
from roost.testing.clock import NOON

DAY = 86_400_000
HEADER = compact(header_to_json(Header(id="s-1", at=NOON)))


class Now:
    """A tool as it is today."""

    spec = ToolSpec(name="read", description="", parameters={"type": "object"})
    traits = ToolTraits()

    async def run(self, invocation: Invocation, report: Report) -> ToolOutcome:
        return ToolOutcome(content=(Text("new words"),))


def transcript(folder: Path, *lines: str) -> Path:
    file = folder / "s-1.jsonl"
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


@pytest.fixture
def days(tmp_path: Path) -> Path:
    """Two turns with days between them, the second with a tool and a word in between."""
    drafts = (
        builders.said("1", "hello"),
        builders.answered("2", "hi", at=NOON + 1),
        builders.said("3", "read it", at=NOON + 3 * DAY),
        builders.called("4", "c1", "read", at=NOON + 3 * DAY + 1),
        builders.returned("5", "c1", "read", "old words", at=NOON + 3 * DAY + 2),
        builders.said("6", "quick", at=NOON + 3 * DAY + 2),
        builders.answered("7", "done", at=NOON + 4 * DAY),
    )
    return transcript(tmp_path, HEADER, *map(line_of, drafts))


@pytest.mark.requirement("F10")
async def test_a_recording_comes_out_as_it_was(days: Path) -> None:
    found = await roost.replay(days)
    assert (found.difference, len(found.recording.turns), found.recording.left_out) == (None, 2, 0)


@pytest.mark.requirement("F10")
async def test_a_tool_that_does_something_else_today_is_the_first_difference(days: Path) -> None:
    found = await replay(days, (Now(),))
    assert found.difference is not None
    assert found.difference.number == 5
    assert "old words" in (found.difference.recorded or "")
    assert "new words" in (found.difference.replayed or "")


async def test_a_turn_that_ended_with_a_yield_ends_so_again(tmp_path: Path) -> None:
    drafts = (
        builders.said("1", "wait for them"),
        builders.called("2", "c1", "sessions_yield"),
        builders.returned("3", "c1", "sessions_yield", "ended"),
        builders.said("4", "all done"),
        builders.answered("5", "good"),
    )
    assert (await replay(transcript(tmp_path, HEADER, *map(line_of, drafts)))).difference is None


async def test_a_gateway_that_asks_once_more_than_it_did_is_a_difference(tmp_path: Path) -> None:
    class GoesOn(Now):
        spec = ToolSpec(name="sessions_yield", description="", parameters={"type": "object"})

        async def run(self, invocation: Invocation, report: Report) -> ToolOutcome:
            return ToolOutcome(content=(Text("ended"),))

    drafts = (
        builders.said("1", "go"),
        builders.called("2", "c1", "sessions_yield"),
        builders.returned("3", "c1", "sessions_yield", "ended"),
    )
    file = transcript(tmp_path, HEADER, *map(line_of, drafts))
    assert (await replay(file)).difference is None
    other = (await replay(file, (GoesOn(),))).difference
    assert other is not None
    assert (other.number, other.recorded, other.replayed) == (4, None, "the model was asked once more")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ((), "no whole turn"),
        ((HEADER, line_of(builders.said("1", "hello"))), "no whole turn"),
        ((HEADER, "no json"), "line 2"),
    ],
)
async def test_what_is_no_recording_is_refused(tmp_path: Path, lines: tuple[str, ...], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        await replay(transcript(tmp_path, *lines))


async def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        await replay(tmp_path / "absent.jsonl")
