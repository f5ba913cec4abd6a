"""A transcript file as generations."""

import json
from io import BytesIO

import pytest

from roost.core.entries import EntryDraft
from roost.core.imports import ImportedGeneration
from roost.core.messages import Notice, UserMessage
from roost.core.principals import person
from roost.core.sessions import Base
from roost.testing.clock import NOON
from roost.transfer.jsonl_files import MAX_BRANCHES, UNPARSED, Transcript, read_transcript
from roost.transfer.layout import Layout, Stretch
from roost.transfer.lines import Limits, read_lines
from roost.transfer.report import Remarks

ALICE = person("telegram", "7")
HEADER = '{"type":"session","version":4,"id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/etc"}'


def entry(name: str | None, parent: str | None = None, **more: object) -> str:
    named = {} if name is None else {"id": name, "parentId": parent}
    return json.dumps({"type": "custom", **named, "timestamp": "2025-01-02T00:00:00Z", **more})


def read(
    *lines: str | bytes, limits: Limits | None = None
) -> tuple[tuple[ImportedGeneration, ...], list[str]]:
    content = b"".join((line if isinstance(line, bytes) else line.encode()) + b"\n" for line in lines)
    remarks = Remarks()
    transcript = Transcript(session_id="s", principal=ALICE, now=NOON)
    found = read_transcript(read_lines(BytesIO(content), limits or Limits()), transcript, remarks)
    return found, list(remarks.all())


def names(generation: ImportedGeneration) -> list[str]:
    return [draft.id for draft in generation.drafts]


def only_notice(draft: EntryDraft) -> Notice:
    assert isinstance(draft.body, Notice)
    assert draft.body.kind == UNPARSED
    return draft.body


def test_a_straight_file_is_one_generation() -> None:
    (main,), remarks = read(HEADER, entry("a"), entry("b", "a"))
    assert (main.session_id, names(main), main.archived, main.base) == ("s", ["a", "b"], False, None)
    assert main.header == HEADER
    assert main.opened_at == 1735689600000
    assert remarks == []


def test_what_people_said_is_said_on_behalf_of_the_one_it_is_imported_for() -> None:
    line = {"type": "message", "id": "a", "message": {"role": "user", "content": "hi", "principal": "owner"}}
    (main,), _ = read(json.dumps(line))
    body = main.drafts[0].body
    assert isinstance(body, UserMessage)
    assert body.provenance.principal == ALICE


def test_a_file_without_a_header_begins_with_its_first_entry() -> None:
    (main,), _ = read(entry("a"))
    assert names(main) == ["a"]
    assert Layout.parse(main.header) == Layout()
    assert main.opened_at == 1735776000000


def test_a_header_that_is_not_first_is_an_entry_like_others() -> None:
    (main,), _ = read(entry("a"), HEADER)
    assert (names(main), main.drafts[1].source) == (["a", "s"], HEADER)


def test_nothing_in_a_file_opens_it_in_the_future() -> None:
    (main,), _ = read(HEADER.replace("2025", "2999"), entry("a"))
    assert main.opened_at == NOON


def test_an_empty_file_is_an_empty_generation() -> None:
    (main,), remarks = read()
    assert (main.drafts, Layout.parse(main.header), main.opened_at, remarks) == ((), Layout(), 0, [])


def test_a_branch_that_was_left_is_an_archived_generation_that_names_where_it_went_off() -> None:
    (main, left), _ = read(
        HEADER, entry("a"), entry("b", "a"), entry("x", "a"), entry("y", "x"), entry("c", "b")
    )
    assert (names(main), names(left)) == (["a", "b", "c"], ["x", "y"])
    assert (left.archived, left.base) == (True, Base(session_id="s", seq=1))
    assert Layout.parse(left.header) == Layout(branch_of="s", places=(Stretch(2, 2),))


def test_a_branch_of_a_branch_names_that_branch() -> None:
    lines = [entry("a"), entry("x", "a"), entry("y", "x"), entry("z", "x"), entry("b", "a")]
    (main, first, second), _ = read(*lines)
    assert (names(main), names(first), names(second)) == (["a", "b"], ["x", "z"], ["y"])
    assert second.base == Base(session_id=first.session_id, seq=1)


def test_a_branch_has_the_same_id_every_time_and_none_has_anothers() -> None:
    lines = [entry("a"), entry("x"), entry("y"), entry("b", "a")]
    once, _ = read(*lines)
    again, _ = read(*lines)
    assert once == again
    assert len({generation.session_id for generation in once}) == 3


def test_more_branches_than_can_be_of_use_are_kept_together() -> None:
    roots = [entry(f"root-{number}") for number in range(MAX_BRANCHES + 2)]
    (main, others), remarks = read(*roots)
    assert names(main) == [f"root-{MAX_BRANCHES + 1}"]
    assert len(others.drafts) == MAX_BRANCHES + 1
    assert remarks == [f"{MAX_BRANCHES + 1} branches were left; they are kept together"]


@pytest.mark.requirement("S25")
def test_a_circle_of_parents_ends_and_is_told() -> None:
    (main, other), remarks = read(entry("a", "b"), entry("b", "a"), entry("b", "b"), entry("a", "nowhere"))
    assert (names(main), names(other)) == (["a"], ["a", "b", "b"])
    assert remarks == [
        "line 1: its parent is not before it",
        "line 3: its id is used before",
        "line 4: its parent is not before it",
        "line 4: its id is used before",
    ]


def test_a_line_that_names_itself_as_its_parent_is_harmless() -> None:
    (main,), remarks = read(entry("a", "a"))
    assert names(main) == ["a"]
    assert remarks == ["line 1: its parent is not before it"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "not valid JSON"),
        (b"[1]", "not a JSON object"),
        (b'{"id":"a"}', "no type"),
        (b'{"type":"a","n":NaN}', "not valid JSON"),
        (b'{"type":"a","n":' + b"[" * 10_000, "nested too deeply"),
        (b'{"type":"a","n":' + b"[" * 500 + b"]" * 500 + b"}", "nested too deeply"),
        (b"\xff", "not valid UTF-8"),
        (b"\xed\xa0\x80", "not valid UTF-8"),
        (b'{"type":"a","n":"\0"}', "not valid JSON"),
    ],
)
def test_a_line_that_is_no_entry_is_told_and_kept_with_the_line_before_it(line: bytes, reason: str) -> None:
    (main,), remarks = read(HEADER, entry("a"), line, entry("b", "a"))
    assert [draft.id for draft in main.drafts] == ["a", "unnamed-line-3", "b"]
    assert only_notice(main.drafts[1]).at == main.drafts[0].body.at
    assert remarks == [f"line 3: {reason}, kept as it is"]


def test_a_line_that_no_store_can_hold_as_text_is_kept_in_another_form() -> None:
    (main,), _ = read(entry("a"), b"\xff\0")
    assert only_notice(main.drafts[1]).data["base64"] == "/wA="
    assert main.drafts[1].source is None


def test_lines_that_are_no_entries_and_follow_each_other_are_one_notice() -> None:
    (main,), remarks = read(entry("a"), "", "{", "", entry("b", "a"))
    assert only_notice(main.drafts[1]).data["lines"] == 3
    assert main.drafts[1].source == "\n{\n"
    assert remarks == ["line 3: not valid JSON, kept as it is"]


def test_a_file_of_nothing_but_line_breaks_costs_few_entries_and_no_remark() -> None:
    (main,), remarks = read(b"\n" * 200_000)
    assert 1 < len(main.drafts) < 10
    assert remarks == []


def test_lines_without_ids_stay_where_they_are() -> None:
    (main,), _ = read(HEADER, entry(None), entry(None))
    assert names(main) == ["unnamed-line-2", "unnamed-line-3"]


def test_a_line_without_an_id_goes_with_the_branch_it_follows() -> None:
    (main, left), _ = read(entry("a"), entry("x", "a"), entry(None, n=1), entry("b", "a"))
    assert (names(main), names(left)) == (["a", "b"], ["x", "unnamed-line-3"])


def test_lines_before_the_first_id_go_with_it() -> None:
    (main, left), _ = read(b"{", entry("x"), entry("b"))
    assert (names(main), names(left)) == (["b"], ["unnamed-line-1", "x"])


@pytest.mark.requirement("S25")
def test_a_line_over_the_limit_is_left_out_and_told() -> None:
    limits = Limits(line_bytes=200)
    (main,), remarks = read(HEADER, entry("a"), "x" * 201, entry("b", "a"), limits=limits)
    assert only_notice(main.drafts[1]).data == {"reason": "the line is too long", "bytes": 202}
    assert names(main) == ["a", "unnamed-line-3", "b"]
    assert remarks == ["line 3: left out, it has 202 bytes"]


@pytest.mark.parametrize("name", ["\0", "", "x" * 257, 7])
def test_an_id_that_is_not_fit_for_use_is_replaced_and_its_line_kept(name: object) -> None:
    line = json.dumps({"type": "custom", "id": name, "parentId": None})
    (main,), _ = read(line)
    assert names(main) == ["unnamed-line-1"]
    assert main.drafts[0].source == line


@pytest.mark.parametrize("parent", ["\0", "x" * 257])
def test_a_parent_that_is_not_fit_for_use_is_none(parent: str) -> None:
    line = entry("a", parent)
    (main,), _ = read(line)
    assert (main.drafts[0].parent_id, main.drafts[0].source) == (None, line)


def test_a_line_that_calls_itself_unparsed_keeps_its_own_text() -> None:
    line = (
        '{"type":"unparsed","id":"a","parentId":null,"timestamp":"1970-01-01T00:00:00.000Z","base64":"aGk="}'
    )
    (main,), _ = read(line)
    assert main.drafts[0].source == line


def test_only_the_first_entry_of_a_generation_leaves_it_open_that_it_has_no_parent() -> None:
    root = '{"type":"custom","id":"%s","parentId":null,"timestamp":"1970-01-01T00:00:00.000Z"}'
    (main,), _ = read(root % "a")
    assert main.drafts[0].source is None
    (main,), _ = read("{", root % "a")
    assert main.drafts[1].source == root % "a"


def test_a_mark_at_the_start_of_a_file_is_no_part_of_its_first_line() -> None:
    (main,), remarks = read("\ufeff" + HEADER, entry("a"))
    assert (main.header, names(main), remarks) == ("\ufeff" + HEADER, ["a"], [])
    (main,), remarks = read("\ufeff" + entry("a"))
    assert (names(main), main.drafts[0].source) == (["a"], "\ufeff" + entry("a"))
    assert remarks == []


def test_a_file_that_stops_in_the_middle_of_a_line_says_so() -> None:
    transcript = Transcript(session_id="s", principal=ALICE, now=NOON)
    content = BytesIO(f"{HEADER}\n{entry('a')}".encode())
    (main,) = read_transcript(read_lines(content, Limits()), transcript, Remarks())
    assert Layout.parse(main.header) == Layout(first=HEADER, open_end=1)
