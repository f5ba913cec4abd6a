from dataclasses import replace

import pytest
from pydantic import ValidationError

from roost.core.addresses import Address
from roost.core.errors import InvalidInput
from roost.core.firings import Firing, FiringState
from roost.core.jobs import (
    SILENT,
    AgentTurn,
    Announce,
    Job,
    JobPlace,
    Missed,
    Overlap,
    Plan,
    SystemEvent,
    Telling,
    Venue,
    Wake,
    Webhook,
)
from roost.core.jsonvalue import JsonObject
from roost.core.principals import OWNER
from roost.core.schedules import LONGEST_MS, At, Every
from roost.protocol.convert.jobs import (
    Aim,
    firing_row,
    job_row,
    patched,
    preview,
    read_telling,
    read_work,
    telling_row,
)
from roost.protocol.families import cron
from roost.scanners.stdlib import StdlibScanner
from roost.testing.builders import MAIN
from roost.testing.clock import NOON

PLAN = Plan(
    name="tea", agent="main", schedule=Every(every_ms=60_000, anchor=0), work=AgentTurn(message="now")
)
JOB = Job(id="j1", owner=OWNER, plan=PLAN, created_at=1, updated_at=2)
WHERE = Venue(work=MAIN, home=MAIN)
CHAT = Address(channel="telegram", to="7", thread="3")


def delivery(row: JsonObject) -> cron.DeliveryParams:
    return cron.DeliveryParams.model_validate(row)


@pytest.mark.parametrize(
    ("telling", "label"),
    [
        (SILENT, "nowhere"),
        (Announce(), "last chat"),
        (Announce(to=CHAT), "telegram"),
        (Announce(to=replace(CHAT, thread=None)), "telegram"),
        (Webhook(url="https://there.example/x"), "webhook"),
    ],
)
def test_where_a_job_tells_is_read_as_it_was_written(telling: Telling, label: str) -> None:
    assert read_telling(delivery(telling_row(telling))) == telling
    assert preview(replace(JOB, plan=replace(PLAN, telling=telling)), WHERE)["label"] == label


@pytest.mark.parametrize(
    "row", [{"mode": "webhook"}, {"mode": "announce", "to": "7"}, {"mode": "announce", "channel": "telegram"}]
)
def test_a_place_that_is_half_named_is_refused(row: JsonObject) -> None:
    with pytest.raises(InvalidInput):
        read_telling(delivery(row))


def test_a_patch_of_the_moment_alone_leaves_the_words_of_an_event() -> None:
    plan = replace(PLAN, work=SystemEvent(text="look", wake=Wake.NOW), place=JobPlace.MAIN)
    patch = cron.PatchParams.model_validate({"wakeMode": "next-heartbeat"})
    changed = patched(plan, patch, Aim(agent="main", place=JobPlace.MAIN), NOON)
    assert changed.work == SystemEvent(text="look", wake=Wake.NEXT)


@pytest.mark.parametrize(
    ("seconds", "limit"), [(None, None), (0, None), (2.5, 2_500), (1e20, LONGEST_MS), (1e308, LONGEST_MS)]
)
def test_a_turn_of_a_job_has_a_limit_however_large_the_number(
    seconds: float | None, limit: int | None
) -> None:
    row = {"kind": "agentTurn", "message": "now", "timeoutSeconds": seconds}
    work = read_work(cron.TurnParams.model_validate(row), Wake.NOW)
    assert isinstance(work, AgentTurn)
    assert work.timeout_ms == limit


@pytest.mark.parametrize("seconds", [-1, "nan", "inf"])
def test_a_limit_that_is_no_time_is_refused(seconds: object) -> None:
    with pytest.raises(ValidationError):
        cron.TurnParams.model_validate({"kind": "agentTurn", "message": "now", "timeoutSeconds": seconds})


def test_a_job_says_what_sets_it_apart() -> None:
    plan = replace(PLAN, forget=True, description="each hour", missed=Missed.SKIP, overlap=Overlap.WAIT)
    row = job_row(replace(JOB, plan=plan), None)
    assert (row["deleteAfterRun"], row["description"]) == (True, "each hour")
    assert (row["missed"], row["overlap"]) == ("skip", "wait")
    at_once = job_row(replace(JOB, plan=replace(PLAN, schedule=At(at=NOON))), None)
    assert at_once["schedule"]["kind"] == "at"


def test_what_came_of_a_job_is_told_with_the_job_and_by_itself() -> None:
    going = Firing(id="f1", job_id="j1", due_at=5, at=6, state=FiringState.STARTED, key=MAIN)
    failed = replace(going, state=FiringState.ERROR, ended_at=16, error="no model")
    assert job_row(JOB, going)["state"] == {"lastRunAtMs": 6, "runningAtMs": 6}
    state = job_row(JOB, failed)["state"]
    assert (state["lastRunStatus"], state["lastDurationMs"], state["lastError"]) == ("error", 10, "no model")
    assert "status" not in firing_row(going, JOB, StdlibScanner())
    told = firing_row(failed, JOB, StdlibScanner())
    assert (told["action"], told["status"], told["durationMs"]) == ("finished", "error", 10)
