from datetime import UTC, timedelta, timezone

import pytest

from roost.core.principals import person
from roost.core.sessions import Facts, SessionKind
from roost.core.workspacefiles import (
    FileCaps,
    FileState,
    FoundFile,
    file_names,
    is_private,
    notes_file,
    shown_files,
)
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON

DAY = 86_400_000


def test_the_day_of_notes_is_the_day_where_the_owner_lives() -> None:
    midnight = NOON - NOON % DAY
    assert notes_file(midnight, UTC) == "memory/2025-06-15.md"
    assert notes_file(midnight, timezone(timedelta(hours=-5))) == "memory/2025-06-14.md"


def test_the_owner_alone_is_shown_everything() -> None:
    assert file_names(builders.session(), NOON, UTC) == (
        "AGENTS.md",
        "SOUL.md",
        "USER.md",
        "MEMORY.md",
        "memory/2025-06-14.md",
        "memory/2025-06-15.md",
    )


@pytest.mark.requirement("P2")
@pytest.mark.parametrize("kind", [SessionKind.GROUP, SessionKind.HOOK])
def test_where_others_listen_nothing_about_the_owner_is_shown(kind: SessionKind) -> None:
    listened_to = builders.session()._replace(facts=Facts(kind=kind))
    stranger = builders.session(owner=person("telegram", "7"))
    for session in (listened_to, stranger):
        assert not is_private(session)
        assert file_names(session, NOON, UTC) == ("AGENTS.md", "SOUL.md")


def test_a_child_is_shown_the_rules_alone() -> None:
    assert file_names(builders.session(parent=MAIN), NOON, UTC) == ("AGENTS.md",)


def test_a_file_that_fits_is_shown_whole_and_others_say_why_not() -> None:
    found = [
        FoundFile(name="A", text="rules"),
        FoundFile(name="B"),
        FoundFile(name="C", problem="a link leads out"),
    ]
    shown = shown_files(found, FileCaps())
    assert [(one.state, one.text, one.raw) for one in shown] == [
        (FileState.OK, "rules", 5),
        (FileState.MISSING, "", 0),
        (FileState.UNREADABLE, "", 0),
    ]


def test_a_long_file_keeps_its_beginning_and_its_end_around_a_note() -> None:
    (one,) = shown_files([FoundFile(name="A", text="a" * 900 + "z" * 900)], FileCaps(each=500))
    assert (one.state, one.raw) == (FileState.TRUNCATED, 1_800)
    assert len(one.text) <= 500
    assert one.text.startswith("aaa")
    assert one.text.endswith("zzz")
    assert "left out" in one.text


def test_what_comes_last_finds_no_room_first() -> None:
    files = [FoundFile(name=name, text=name * 400) for name in "abc"]
    shown = shown_files(files, FileCaps(each=450, total=600))
    assert len(shown[0].text) == 400
    assert sum(len(one.text) for one in shown) <= 600
    assert [one.state for one in shown] == [FileState.OK, FileState.TRUNCATED, FileState.TRUNCATED]
    assert shown[2].text == ""


def test_a_cut_with_room_for_a_few_characters_has_no_end() -> None:
    (one,) = shown_files([FoundFile(name="A", text="x" * 1_000)], FileCaps(each=101))
    assert len(one.text) <= 101


def test_a_small_window_has_room_for_little() -> None:
    assert FileCaps().within(8_000) == FileCaps(total=4_000)
    assert FileCaps().within(1_000_000) == FileCaps()
