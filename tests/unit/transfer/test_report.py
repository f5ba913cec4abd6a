"""What an import tells about itself."""

import pytest

from roost.core.imports import ImportOutcome
from roost.testing.builders import MAIN
from roost.transfer.report import REMARKS, SHOWN_CHARS, ImportReport, Item, Remarks, Result, shown


def item(result: Result, entries: int = 0) -> Item:
    return Item(source="s.jsonl", result=result, entries=entries)


def test_a_report_counts_its_items_and_their_entries() -> None:
    report = ImportReport((item(Result.IMPORTED, 3), item(Result.IMPORTED, 4), item(Result.SKIPPED)))
    assert (report.count(Result.IMPORTED), report.count(Result.FAILED), report.entries) == (2, 0, 7)
    assert report.complete


def test_a_report_with_a_failure_is_not_complete() -> None:
    assert not ImportReport((item(Result.IMPORTED), item(Result.FAILED))).complete


def test_a_report_reads_as_lines_with_the_counts_last() -> None:
    report = ImportReport(
        (
            Item(source="main", result=Result.IMPORTED, key=MAIN, remarks=("line 2: not valid JSON",)),
            Item(source=str(MAIN), result=Result.PRESENT, key=MAIN),
            Item(source="x", result=Result.SKIPPED, reason="a link"),
        )
    )
    assert report.lines() == (
        "imported main → agent:main:main",
        "  line 2: not valid JSON",
        "already there agent:main:main",
        "skipped x: a link",
        "1 imported, 1 already there, 1 skipped",
    )


def test_an_import_that_kept_nothing_says_what_it_would_do() -> None:
    report = ImportReport(
        (
            Item(source="main", result=Result.IMPORTED, key=MAIN),
            Item(source="x", result=Result.SKIPPED, reason="a link"),
        )
    )
    assert report.dry_lines() == (
        "would import main → agent:main:main",
        "skipped x: a link",
        "would import 1, 1 skipped",
    )


def test_an_empty_report_says_so() -> None:
    assert ImportReport(()).lines() == ImportReport(()).dry_lines() == ("nothing to import",)


def test_every_outcome_of_a_store_is_a_result() -> None:
    assert [Result.of(outcome) for outcome in ImportOutcome] == [
        Result.IMPORTED,
        Result.RESUMED,
        Result.PRESENT,
        Result.TAKEN,
    ]


def test_remarks_beyond_the_first_few_are_a_number() -> None:
    remarks = Remarks(["first"])
    for number in range(REMARKS + 2):
        remarks.add(f"line {number}")
    assert len(remarks.all()) == REMARKS + 1
    assert remarks.all()[0] == "first"
    assert remarks.all()[-1] == "and 3 more"


def test_a_remark_is_made_once() -> None:
    assert Remarks(["same", "same"]).all() == ("same",)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("agent:main:main", "agent:main:main"),
        ("家族", "家族"),
        ("a\nb\x1b[31m", "a\\nb\\x1b[31m"),
        ("half \udce9", "half \\udce9"),
    ],
)
def test_a_text_from_outside_is_shown_as_one_safe_line(text: str, line: str) -> None:
    assert shown(text) == line


def test_a_long_text_from_outside_is_cut() -> None:
    assert shown("x" * SHOWN_CHARS) == "x" * SHOWN_CHARS
    assert shown("x" * 10_000_000) == "x" * SHOWN_CHARS + "…"
