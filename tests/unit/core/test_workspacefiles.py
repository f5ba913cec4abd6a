from dataclasses import replace
from datetime import UTC, timedelta, timezone

import pytest

from roost.core.addresses import Account, Address
from roost.core.admission import ChannelPolicy, DmPolicy
from roost.core.entries import Entry
from roost.core.messages import AssistantMessage, Provenance, ProvenanceKind, Text, UserMessage
from roost.core.principals import OWNER, Principal, person
from roost.core.runs import Request, Run
from roost.core.sessions import Facts, Session, SessionKind
from roost.core.workspacefiles import (
    FileCaps,
    FileState,
    FoundFile,
    file_names,
    is_private,
    notes_file,
    personal_names,
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


def test_every_session_is_shown_the_rules_and_the_persona_and_the_owner_what_is_known_of_him() -> None:
    session = builders.session()
    assert file_names(session) == ("AGENTS.md", "SOUL.md")
    assert personal_names(session, NOON, UTC) == (
        "USER.md",
        "MEMORY.md",
        "memory/2025-06-14.md",
        "memory/2025-06-15.md",
    )


def test_a_child_is_shown_the_rules_alone() -> None:
    child = builders.session(parent=MAIN)
    assert file_names(child) == ("AGENTS.md",)
    assert personal_names(child, NOON, UTC) == ()


GUEST = person("telegram", "7")
ROOM = Address(channel="telegram", to="-100")
HERE = builders.session()._replace(route=builders.CHAT)
MINE = builders.run("r1", request=Request(reply_to=builders.CHAT))
PHONE = Address(channel="slack", to="D7", person="ada")


def doors(at: Account) -> ChannelPolicy:
    return ChannelPolicy(dm_policy=DmPolicy.OPEN, owner_ids=(f"loopback:{builders.CHAT.to}", "slack:ada"))


def telling(chat: Address, kind: ProvenanceKind = ProvenanceKind.HUMAN) -> Run:
    return replace(MINE, cause=replace(MINE.cause, kind=kind), request=Request(reply_to=chat))


def said(by: Principal) -> Entry:
    provenance = Provenance(kind=ProvenanceKind.HUMAN, principal=by)
    body = UserMessage(content=(Text("hi"),), at=NOON, provenance=provenance)
    return Entry(id="e1", session_id="gen-1", seq=1, body=body)


def by(principal: Principal, run: Run = MINE) -> Run:
    return replace(run, cause=replace(run.cause, principal=principal))


@pytest.mark.requirement("P2")
@pytest.mark.parametrize(
    ("session", "run", "entries"),
    [
        (HERE._replace(facts=Facts(kind=SessionKind.GROUP)), MINE, ()),
        (HERE._replace(facts=Facts(kind=SessionKind.HOOK)), MINE, ()),
        (HERE._replace(owner=GUEST), by(GUEST), ()),
        (HERE._replace(owner=GUEST), replace(MINE, request=Request()), ()),
        (HERE, by(GUEST), ()),
        (HERE, MINE, (said(OWNER), said(GUEST))),
        *((HERE, telling(ROOM, kind), ()) for kind in ProvenanceKind),
        (HERE, telling(replace(PHONE, person="bob"), ProvenanceKind.SUBAGENT), ()),
    ],
    ids=[
        "a group",
        "a hook",
        "a person's",
        "a person's, in which the owner speaks",
        "a guest speaks",
        "a guest has spoken",
        *(f"a room is answered: {kind}" for kind in ProvenanceKind),
        "a guest is answered",
    ],
)
def test_where_another_speaks_has_spoken_or_listens_it_is_not_private(
    session: Session, run: Run, entries: tuple[Entry, ...]
) -> None:
    assert not is_private(session, run, entries, doors)


@pytest.mark.parametrize(
    "run",
    [
        MINE,
        replace(MINE, request=Request()),
        telling(PHONE),
        telling(PHONE, ProvenanceKind.SCHEDULE),
    ],
    ids=["in his chat", "on the page", "on another phone", "by a job that tells him there"],
)
def test_where_the_owner_is_alone_it_is_private(run: Run) -> None:
    answer = said(GUEST)._replace(body=AssistantMessage(content=(Text("x"),), at=NOON))
    assert is_private(HERE, run, (said(OWNER), answer), doors)


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
