from typing import Any

import pytest

from roost.core.errors import InvalidInput
from roost.core.jobs import AgentTurn, JobPlace, SystemEvent, Venue
from roost.core.keys import SessionKey
from roost.core.sources import cron_key
from tests.jobs import at_home, job, plan

MAIN = SessionKey.named("main", "main")
OTHER = SessionKey.named("main", "other")


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
