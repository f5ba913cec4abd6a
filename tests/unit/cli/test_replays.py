"""A session is played again, from the command line."""

import json
from pathlib import Path

import pytest

from roost.cli.main import main
from roost.core.jsonl import line_of
from roost.testing import builders

Said = pytest.CaptureFixture[str]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A turn in the middle of which something was said."""
    drafts = (
        builders.said("1", "read it"),
        builders.called("2", "c1", "read"),
        builders.returned("3", "c1", "read", "words"),
        builders.said("4", "quickly"),
        builders.answered("5", "done"),
    )
    file = tmp_path / "s.jsonl"
    file.write_text("".join(f"{line_of(one)}\n" for one in drafts))
    return file


@pytest.mark.requirement("F10")
def test_what_comes_out_as_it_was_is_equal(recording: Path, capsys: Said) -> None:
    assert main(["sessions", "replay", str(recording)]) == 0
    assert "equal: 5 messages in 1 turns\n" in capsys.readouterr().out
    with recording.open("a") as out:
        out.write(f"{line_of(builders.said('6', 'and?'))}\n")
    assert main(["sessions", "replay", str(recording)]) == 0
    assert "1 that cannot be played were left out" in capsys.readouterr().out


@pytest.mark.requirement("F10")
def test_the_first_difference_is_shown_with_both_sides(recording: Path, capsys: Said) -> None:
    # As if the word in the middle were another session's, which never steers a run.
    lines = recording.read_text().splitlines(keepends=True)
    lines[3] = lines[3].replace("external_user", "inter_session")
    recording.write_text("".join(lines))
    assert main(["sessions", "replay", str(recording), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["equal"], told["difference"]["message"]) == (False, 4)
    assert main(["sessions", "replay", str(recording)]) == 1
    first, was, is_now = capsys.readouterr().out.splitlines()
    assert first == "message 4 is not as it was"
    assert (was.split()[0], is_now.split()[0]) == ("recorded", "replayed")
    assert "quickly" in was
