from dataclasses import replace
from typing import Any

import pytest

from roost.core.errors import Conflict, InvalidInput
from roost.core.jobs import (
    MOST_JOBS,
    AgentTurn,
    JobPlace,
    Setting,
    SystemEvent,
    Venue,
    hastened,
    made,
    refuse_crowd,
    replanned,
    usual_place,
)
from roost.core.keys import SessionKey
from roost.core.principals import OWNER
from roost.core.schedules import At, Cron, Every
from roost.core.sources import cron_key
from roost.testing.clock import NOON
from tests.jobs import STEP, at_home, job, plan, zones

MAIN = SessionKey.named("main", "main")
OTHER = SessionKey.named("main", "other")
SETTING = Setting(now=NOON, zones=zones, agents=("main",))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"name": " "}, "needs a name"),
        ({"name": "x" * 201}, "needs a name"),
        ({"work": AgentTurn(message="")}, "something to say"),
        ({"work": AgentTurn(message="x" * 32_001)}, "something to say"),
        ({"work": SystemEvent(text=" "), "place": JobPlace.MAIN}, "something to say"),
        ({"work": SystemEvent(text="x")}, "isolated session has none"),
        ({"key": OTHER}, "cannot be given the session"),
        ({"place": JobPlace.SESSION}, "cannot be given the session"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        plan(**changes)


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({}, Venue(work=cron_key("main", "j1"), home=MAIN)),
        ({"place": JobPlace.MAIN}, Venue(work=MAIN, home=MAIN)),
        ({"place": JobPlace.BESIDE, "key": OTHER}, Venue(work=OTHER.beat, home=OTHER)),
        ({"place": JobPlace.SESSION, "key": OTHER}, Venue(work=OTHER, home=OTHER)),
    ],
)
def test_a_job_works_where_its_plan_says(changes: dict[str, Any], where: Venue) -> None:
    assert at_home(job(**changes)) == where


def test_a_job_is_due_by_its_schedule() -> None:
    assert made("j1", OWNER, plan(), SETTING) == job(next_at=NOON + STEP)
    assert made("j1", OWNER, plan(enabled=False, schedule=At(at=1)), SETTING).next_at is None


def test_people_make_only_so_many_beside_those_of_the_configuration() -> None:
    look = job("beat", place=JobPlace.BESIDE, key=SessionKey.named("main", "main"))
    assert (look.of_people, job().of_people) == (False, True)
    refuse_crowd([*[job()] * (MOST_JOBS - 1), look], "new")
    with pytest.raises(Conflict, match="already"):
        refuse_crowd([job()] * MOST_JOBS, "new")


def test_one_that_is_there_already_makes_no_crowd() -> None:
    refuse_crowd([job("kept")] * MOST_JOBS, "kept")


@pytest.mark.parametrize(("event", "place"), [(True, JobPlace.MAIN), (False, JobPlace.ISOLATED)])
def test_a_job_that_does_not_say_where_works_where_its_work_belongs(*, event: bool, place: JobPlace) -> None:
    assert usual_place(event=event) is place


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"agent": "nobody"}, "unknown agent"),
        ({"schedule": At(at=NOON)}, "that moment is over"),
        ({"schedule": Cron(expression="0 0 */31 * 1L")}, "no day fits"),
    ],
)
def test_a_job_that_could_never_work_is_refused(wrong: dict[str, object], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        made("j1", OWNER, plan(**wrong), SETTING)


def test_a_changed_job_keeps_its_time_unless_that_changes() -> None:
    one = job(next_at=NOON + 5)
    assert replanned(one, one.plan, SETTING) is one
    later = replace(SETTING, now=NOON + 1)
    renamed = replanned(one, plan(name="sky"), later)
    assert (renamed.next_at, renamed.revision, renamed.updated_at) == (NOON + 5, 2, NOON + 1)
    moved = replanned(one, plan(schedule=Every(every_ms=60_000, anchor=NOON)), SETTING)
    assert moved.next_at == NOON + 60_000
    assert replanned(one, plan(enabled=False), SETTING).next_at is None


def test_a_job_is_hastened_once_by_each_asking() -> None:
    asked = hastened(job(next_at=NOON + 5), "a", NOON)
    assert (asked.next_at, hastened(job(next_at=None), "a", NOON).next_at) == (NOON, NOON)
    assert hastened(job(next_at=NOON - 5), "a", NOON).next_at == NOON - 5
    taken_up = replace(asked, next_at=NOON + 60_000)
    assert hastened(taken_up, "a", NOON + 1) is taken_up
    assert hastened(taken_up, "b", NOON + 1).next_at == NOON + 1
