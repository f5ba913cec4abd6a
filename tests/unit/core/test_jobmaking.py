from dataclasses import replace

import pytest

from roost.core.errors import Conflict, InvalidInput
from roost.core.jobmaking import MOST_JOBS, Setting, hastened, made, of_people, refuse_crowd, replanned
from roost.core.jobs import JobPlace
from roost.core.keys import SessionKey
from roost.core.principals import OWNER
from roost.core.schedules import At, Cron, Every
from roost.testing.clock import NOON
from tests.jobs import STEP, job, plan, zones

SETTING = Setting(now=NOON, zones=zones, agents=("main",))


def test_a_job_is_due_by_its_schedule() -> None:
    assert made("j1", OWNER, plan(), SETTING) == job(next_at=NOON + STEP)
    assert made("j1", OWNER, plan(enabled=False, schedule=At(at=1)), SETTING).next_at is None


def test_people_make_only_so_many_beside_those_of_the_configuration() -> None:
    look = job("beat", place=JobPlace.BESIDE, key=SessionKey.named("main", "main"))
    assert (of_people(look), of_people(job())) == (False, True)
    refuse_crowd([*[job()] * (MOST_JOBS - 1), look])
    with pytest.raises(Conflict, match="already"):
        refuse_crowd([job()] * MOST_JOBS)


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
