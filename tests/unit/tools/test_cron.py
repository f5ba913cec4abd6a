import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roost.core.errors import Conflict
from roost.core.firings import Firing, FiringState, PutFiring
from roost.core.jobs import MOST_JOBS, Announce, Job, JobPlace, SystemEvent
from roost.core.jsonvalue import JsonValue
from roost.core.principals import OWNER
from roost.core.schedules import Cron as Expression
from roost.core.tools import ToolTraits
from roost.stores.memory import MemoryStore
from roost.testing.builders import MAIN, opening, session
from roost.testing.clock import NOON, FakeClock
from roost.tools.cron import Cron
from tests.jobs import job, zones
from tests.unit.tools.calls import error_of, invocation, nowhere, place, text_of

DAILY: dict[str, JsonValue] = {"name": "weather", "cron": "@daily", "tz": "Europe/Berlin", "message": "rain?"}


class House:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = MemoryStore(self.clock)
        self.tool = Cron(self.store, self.clock, zones, ("main",))

    async def call(self, action: JsonValue, **arguments: JsonValue) -> Any:
        asked = invocation(place(Path("/w")), {"action": action, **arguments})
        return await self.tool.run(asked, nowhere)

    async def ask(self, action: str, **arguments: JsonValue) -> Any:
        outcome = await self.call(action, **arguments)
        assert not outcome.is_error, text_of(outcome)
        return json.loads(text_of(outcome))

    async def keep(self, one: Job) -> None:
        await self.store.change_job(one.id, lambda known: one)

    async def refused(self, action: str, **arguments: JsonValue) -> str:
        return error_of(await self.call(action, **arguments))


def test_only_the_owners_own_word_makes_it() -> None:
    assert Cron.traits == ToolTraits(reenterable=True, privileged=True)


async def test_a_timer_is_set_once_however_often_the_call_is_made() -> None:
    house = House()
    added = (await house.ask("add", **DAILY, announce=True))["added"]
    assert await house.ask("add", **DAILY) == {"added": added}
    (kept,) = await house.store.jobs()
    assert (kept.id, kept.owner, kept.plan.agent) == (added["jobId"], OWNER, "main")
    assert kept.plan.schedule == Expression(expression="@daily", zone="Europe/Berlin")
    assert (kept.plan.place, kept.plan.telling) == (JobPlace.ISOLATED, Announce())
    assert added["nextRun"] == "2025-06-15T22:00:00Z"
    listed = await house.ask("list")
    assert (listed["total"], listed["jobs"]) == (1, [added])


async def test_there_are_only_so_many() -> None:
    house = House()
    added = (await house.ask("add", **DAILY))["added"]
    for number in range(1, MOST_JOBS):
        await house.keep(job(f"j{number}"))
    assert await house.ask("add", **DAILY) == {"added": added}
    await house.ask("remove", jobId=added["jobId"])
    await house.keep(job("last"))
    with pytest.raises(Conflict, match="already"):
        await house.call("add", **DAILY)


async def test_an_event_waits_in_the_main_session_and_a_turn_may_be_for_this_one() -> None:
    house = House()
    await house.ask("add", name="tea", at="20m", event="the tea is ready")
    (tea,) = await house.store.jobs()
    assert (tea.plan.work, tea.plan.place) == (SystemEvent(text="the tea is ready"), JobPlace.MAIN)
    assert tea.next_at == NOON + 1_200_000
    other = House()
    await other.ask("add", name="here", every="1h", message="go on", target="current")
    (here,) = await other.store.jobs()
    assert (here.plan.place, here.plan.key) == (JobPlace.SESSION, MAIN)


async def test_a_timer_rests_goes_on_is_run_and_removed() -> None:
    house = House()
    name = (await house.ask("add", **DAILY))["added"]["jobId"]
    assert (await house.ask("pause", jobId=name))["changed"]["nextRun"] is None
    assert (await house.ask("resume", jobId=name))["changed"]["nextRun"] is not None
    assert (await house.ask("run", jobId=name))["changed"]["nextRun"] == "2025-06-15T15:06:40Z"
    # The gateway takes it up, and the call is made again after a crash.
    await house.store.change_job(name, lambda job: job and replace(job, next_at=None))
    assert (await house.ask("run", jobId=name))["changed"]["nextRun"] is None
    assert await house.ask("remove", jobId=name) == {"removed": name}
    assert "no such job" in await house.refused("remove", jobId=name)


async def test_what_came_of_it_is_told() -> None:
    house = House()
    await house.keep(job())
    row = Firing(id="f", job_id="j1", due_at=NOON, at=NOON, state=FiringState.OK, key=MAIN, summary="sunny")
    await house.store.change_session(MAIN, lambda known: (opening(session(), "g"), PutFiring(firing=row)))
    runs = await house.ask("runs", jobId="j1")
    assert runs["runs"] == [{"at": "2025-06-15T15:06:40Z", "status": "ok", "what": "sunny"}]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"action": "fly"}, "no action"),
        ({"action": "add", "name": "x", "message": "y"}, "one schedule"),
        ({"action": "add", "name": "x", "every": "1h"}, "`message` is missing"),
        ({"action": "add", **DAILY, "target": "session:main"}, "no session"),
        ({"action": "runs", "jobId": "beat"}, "no such job"),
        ({"action": "run"}, "`jobId` is missing"),
    ],
)
async def test_what_cannot_be_done_is_told_with_what_to_do(
    arguments: dict[str, JsonValue], told: str
) -> None:
    house = House()
    await house.keep(job("beat", place=JobPlace.BESIDE, key=MAIN))
    outcome = await house.call(**arguments)
    assert told in error_of(outcome)
    assert len(await house.store.jobs()) == 1
    assert (await house.ask("list"))["total"] == 0
