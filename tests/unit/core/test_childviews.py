"""The children of a session as it is shown them, and which one a name means."""

from dataclasses import replace

import pytest

from roost.core.childviews import (
    RECENT_MS,
    ChildView,
    ReadableChild,
    chosen,
    left_out,
    newest_of,
    numbered,
    readable,
    shown,
)
from roost.core.errors import InvalidInput, NotFound
from roost.core.exchanges import CompletionStatus
from roost.core.redaction import mask
from roost.core.runs import Outcome, Run, RunState
from roost.core.sessions import Labels, Lineage
from roost.core.sources import child_key
from roost.core.terms import Terms
from roost.core.visibility import VisibleScope
from roost.scanners.stdlib import StdlibScanner
from tests import samples
from tests.credentials import mixed
from tests.samples import MAIN, NOON

PENDING = samples.completion()


def ended(name: str, at: int = NOON, state: RunState = RunState.DONE) -> Run:
    return replace(samples.run(name, state=state), started_at=at - 2_000, outcome=Outcome(state=state, at=at))


def view(number: int, *, label: str | None = None, name: str | None = None, at: int = NOON) -> ReadableChild:
    key = child_key("main", f"u{number}")
    row = samples.session(key)._replace(
        session_id=f"s{number}",
        labels=Labels(label=label),
        lineage=Lineage(parent=MAIN, depth=1, terms=Terms(task=f"task {number}", task_name=name)),
    )
    return readable(ChildView(number=number, session=row, run=ended(f"run{number}-x", at)), StdlibScanner())


@pytest.mark.requirement("D64")
def test_a_child_keeps_its_place_among_all_that_were_spawned_and_those_no_longer_owed_come_last() -> None:
    one, gone, three, old, older = (child_key("main", name) for name in ("z", "gone", "a", "b", "c"))
    spawned = [replace(PENDING, child_run=f"r-{key}", child=key).counted for key in (one, gone, three)]
    rows = [samples.session(key) for key in (old, three, one)]
    rows.append(rows[0]._replace(key=older, times=rows[0].times._replace(created=rows[0].times.created - 1)))
    found = numbered(spawned, rows)
    assert [(number, row.key) for number, row in found.items()] == [
        (1, one),
        (3, three),
        (4, older),
        (5, old),
    ]


@pytest.mark.requirement("D64")
def test_those_at_work_that_were_not_found_are_looked_for_by_name() -> None:
    query = newest_of(MAIN, VisibleScope())
    done = replace(PENDING, child_run="r-2", child=child_key("main", "b"), status=CompletionStatus.OK)
    further = left_out(query, [PENDING.counted, done.counted], [])
    assert further == replace(query, keys=frozenset({PENDING.child}))
    assert left_out(query, [PENDING.counted, done.counted], [samples.session(PENDING.child)]) is None


@pytest.mark.parametrize(
    ("state", "word"),
    [
        (RunState.DONE, "done"),
        (RunState.FAILED, "failed"),
        (RunState.INTERRUPTED, "failed"),
        (RunState.TIMEOUT, "timeout"),
        (RunState.KILLED, "killed"),
    ],
)
def test_a_child_that_ended_says_how(state: RunState, word: str) -> None:
    assert replace(view(1), run=ended("r", state=state)).status == word


def test_a_child_at_work_says_at_what() -> None:
    running, queued = samples.run("a"), samples.run("b", state=RunState.QUEUED)
    one = replace(view(1), task=PENDING)
    assert replace(one, active=running).status == "running"
    assert replace(one, active=queued).status == "queued"
    assert replace(one, active=running, below=2).status == "active (waiting on 2 children)"
    assert replace(one, below=1).status == "waiting on 1 child"
    assert one.status == "waiting for external continuation"


@pytest.mark.requirement("P24")
def test_a_child_is_shown_without_the_secrets_in_its_words() -> None:
    key = "sk-" + mixed(30)
    one = view(1, label=f"with {key}", name=key)
    lost = Outcome(state=RunState.FAILED, at=NOON, error=f"wrong key {key}")
    terms = Terms(task=f"use {key}", task_name=key)
    one = replace(
        one,
        session=one.session._replace(
            labels=Labels(label=f"with {key}"), lineage=Lineage(parent=MAIN, depth=1, terms=terms)
        ),
        run=replace(one.run, outcome=lost),
        task=replace(PENDING, status=CompletionStatus.ERROR, error=f"wrong key {key}"),
    )
    told = readable(one, StdlibScanner())
    assert told.error == f"wrong key {mask(key)}"
    assert replace(told, task=None).error == told.error
    row = shown(told, "KEY", NOON)
    assert (row["label"], row["task"], row["taskName"]) == (
        f"with {mask(key)}",
        f"use {mask(key)}",
        mask(key),
    )


def test_a_view_has_all_that_a_list_shows() -> None:
    row = shown(view(1, label="x" * 60, name="t"), "KEY", NOON + 5)
    assert row == {
        "index": 1,
        "runId": "run1-x",
        "sessionKey": "KEY",
        "label": "x" * 48,
        "task": "task 1",
        "status": "done",
        "pendingDescendants": 0,
        "runtime": "2s",
        "runtimeMs": 2_000,
        "model": None,
        "totalTokens": 0,
        "startedAt": NOON - 2_000,
        "taskName": "t",
        "endedAt": NOON,
        "deliveryStatus": "delivered",
    }
    settled = replace(PENDING, status=CompletionStatus.OK, settled_at=NOON)
    assert shown(replace(view(2), task=settled), "KEY", NOON)["deliveryStatus"] == "pending"
    known = replace(settled, acknowledged_at=NOON)
    assert shown(replace(view(2), task=known), "KEY", NOON)["deliveryStatus"] == "delivered"


@pytest.mark.parametrize(
    ("status", "word"),
    [
        (CompletionStatus.OK, "done"),
        (CompletionStatus.ERROR, "failed"),
        (CompletionStatus.TIMEOUT, "timeout"),
        (CompletionStatus.KILLED, "killed"),
        (CompletionStatus.INTERRUPTED, "failed"),
    ],
)
def test_a_task_that_went_on_ended_as_its_last_run_did(status: CompletionStatus, word: str) -> None:
    later = NOON + 60_000
    settled = replace(PENDING, status=status, settled_at=later, error="it broke")
    one = replace(view(1), task=settled)
    row = shown(one, "KEY", later + 5)
    assert (row["status"], row["endedAt"], row["runtimeMs"]) == (word, later, 62_000)
    assert one.error == "it broke"
    assert (one.recent(later, 1_000), replace(one, task=None).recent(later, 1_000)) == (True, False)


def test_what_went_wrong_is_told_by_the_run_where_nothing_else_knows_and_not_before_the_end() -> None:
    failed = replace(ended("r"), outcome=Outcome(state=RunState.FAILED, at=NOON, error="it broke"))
    one = replace(view(1), run=failed)
    assert (one.error, replace(one, task=PENDING).error) == ("it broke", None)
    assert replace(one, run=samples.run("r")).error is None


def test_a_task_that_goes_on_is_known_by_both_its_runs() -> None:
    one = replace(view(1), task=PENDING, active=samples.run("next-y"))
    row = shown(one, "KEY", NOON)
    assert (row["runId"], row["currentRunId"], row["status"]) == ("run1-x", "next-y", "running")
    for name in ("run1-x", "next-y", "next"):
        assert chosen(name, (one,), NOON) == (one,)
    assert "currentRunId" not in shown(replace(one, active=one.run), "KEY", NOON)


def test_a_child_at_work_has_no_end_yet() -> None:
    unstarted = replace(view(1), run=samples.run("r", state=RunState.QUEUED), task=PENDING)
    row = shown(unstarted, "KEY", NOON)
    assert "endedAt" not in row
    assert row["label"] == "task 1"
    assert replace(unstarted, task=None).ended_at(NOON) == NOON
    legacy = replace(unstarted, session=unstarted.session._replace(lineage=Lineage(parent=MAIN, depth=1)))
    assert legacy.terms == Terms()


ONE = view(1, label="first")
TWO = replace(view(2, name="second"), task=PENDING)
OLD = view(3, label="old", at=NOON - RECENT_MS - 1)
LONG = "what it is called goes on for more characters than a list shows"
BY_YEAR = view(6, label="2026")
BY_DIGITS = replace(view(7), run=ended("01986ac2-run"))
ALL = (view(4, label="a long name"), view(5, label=LONG), BY_YEAR, BY_DIGITS, ONE, TWO, OLD)


@pytest.mark.parametrize(
    ("target", "numbers"),
    [
        ("1", [1]),
        ("#2", [2]),
        ("run1-x", [1]),
        ("run2", [2]),
        (str(TWO.session.key), [2]),
        ("s1", [1]),
        ("first", [1]),
        (" second ", [2]),
        ("a  long\nname", [4]),
        (LONG[:48], [5]),
        ("last", [2]),
        ("all", [2]),
        ("*", [2]),
        ("2026", [6]),
        ("0198", [7]),
    ],
)
def test_a_child_is_named_in_many_ways(target: str, numbers: list[int]) -> None:
    assert [one.number for one in chosen(target, ALL, NOON)] == numbers


@pytest.mark.parametrize("target", ["9", "old", "3", "nobody", "9" * 5_000, "#", "²"])
def test_what_is_not_there_or_long_over_is_not_found(target: str) -> None:
    with pytest.raises(NotFound, match="no sub-agent"):
        chosen(target, ALL, NOON)


def test_a_name_of_several_means_none_of_them() -> None:
    with pytest.raises(NotFound, match="#1, #2"):
        chosen("run", ALL, NOON)
    with pytest.raises(InvalidInput, match="target"):
        chosen(" ", ALL, NOON)
    with pytest.raises(NotFound):
        chosen("last", (), NOON)


@pytest.mark.requirement("D64")
@pytest.mark.parametrize("number", ["1", "#1", "12"])
def test_the_number_of_a_child_that_is_gone_is_not_the_beginning_of_anothers_id(number: str) -> None:
    other = replace(view(2), run=ended("12ab-34"))
    with pytest.raises(NotFound):
        chosen(number, (other,), NOON)
    assert chosen("12a", (other,), NOON) == (other,)
