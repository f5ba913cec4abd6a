"""Timers, with time that passes when a test says so."""

from dataclasses import replace

import pytest

from roost.core.errors import Fenced
from roost.core.heartbeats import Beat, Beating
from roost.core.jobs import JobPlace, Overlap, SystemEvent, Wake
from roost.core.keys import SessionKey
from roost.core.schedules import At, Cron, Every
from roost.core.sources import cron_key
from roost.engine.rules import TimerRules
from roost.engine.timers import beat_id
from roost.testing.clock import NOON
from tests.jobs import job, plan
from tests.unit.engine.timing import Watch

MAIN = SessionKey.named("main", "main")
DAY = 86_400_000
LOOK = Beating(
    plan=plan(place=JobPlace.BESIDE, key=MAIN, schedule=Every(every_ms=1_800_000, anchor=0)),
    beat=Beat(pause_ms=DAY),
)


async def test_a_job_is_taken_up_when_its_time_comes_and_not_before() -> None:
    watch = Watch()
    await watch.keep(job(next_at=NOON + 5_000))
    async with watch.serving():
        await watch.passing(lambda: reached(watch, NOON + 4_500))
        assert await watch.fired() == 0
        await watch.passing(lambda: is_fired(watch))
    (firing,) = (await watch.store.firings("j1", limit=5)).rows
    assert firing.due_at == NOON + 5_000
    assert len(await watch.store.active_runs(cron_key("main", "j1"))) == 1


async def is_fired(watch: Watch, times: int = 1) -> bool:
    return await watch.fired() >= times


async def reached(watch: Watch, moment: int) -> bool:
    return watch.clock.now() >= moment


async def test_a_job_that_is_set_while_nothing_is_due_is_heard_of() -> None:
    watch = Watch()
    async with watch.serving():
        await watch.keep(job(schedule=At(at=NOON + 1_000), next_at=NOON + 1_000))
        await watch.passing(lambda: is_fired(watch))


async def test_a_job_that_waits_for_its_last_time_is_looked_at_again() -> None:
    watch = Watch()
    await watch.keep(job(overlap=Overlap.WAIT))
    async with watch.serving():
        await watch.passing(lambda: is_fired(watch))
        await watch.passing(lambda: reached(watch, NOON + 5_000))
        assert await watch.fired() == 1
        kept = await watch.store.job("j1")
        assert kept is not None
        assert kept.next_at == NOON + 1_000


async def test_a_job_that_cannot_be_taken_up_holds_up_no_other_and_is_put_off(
    caplog: pytest.LogCaptureFixture,
) -> None:
    watch = Watch()
    nowhere = Cron(expression="0 * * * *", zone="Mars/Base")
    await watch.keep(job("bad", schedule=nowhere, next_at=NOON - 1))
    await watch.keep(job())
    async with watch.serving():
        await watch.passing(lambda: is_fired(watch))
    bad = await watch.store.job("bad")
    assert bad is not None
    assert bad.next_at is None
    assert "bad (weather) could not be taken up" in caplog.text


async def test_jobs_rest_while_they_are_switched_off() -> None:
    watch = Watch()
    watch.change(TimerRules(enabled=False))
    await watch.keep(job())
    async with watch.serving():
        await watch.passing(lambda: reached(watch, NOON + 5_000))
        assert await watch.fired() == 0
        watch.change(TimerRules())
        await watch.passing(lambda: is_fired(watch))


async def test_a_gateway_that_lost_its_lease_takes_up_nothing_more() -> None:
    watch = Watch()
    lease = await watch.hold()
    await watch.keep(job())
    with pytest.raises(Fenced):
        await watch.timers.serve(replace(lease, epoch=0))


async def test_look_arounds_follow_the_configuration() -> None:
    watch = Watch()
    watch.change(TimerRules(beats={"main": LOOK}))
    async with watch.serving():
        await watch.passing(lambda: has(watch, beat_id("main")))
        (kept,) = await watch.store.jobs()
        assert (kept.plan, kept.next_at) == (LOOK.plan, (NOON // 1_800_000 + 1) * 1_800_000)
        other = replace(LOOK, plan=replace(LOOK.plan, schedule=Every(every_ms=60_000, anchor=0)))
        watch.change(TimerRules(beats={"main": other, "helper": LOOK}))
        await watch.passing(lambda: has(watch, beat_id("helper")))
        assert {one.plan.schedule for one in await watch.store.jobs()} == {
            other.plan.schedule,
            LOOK.plan.schedule,
        }
        watch.change(TimerRules())
        await watch.passing(lambda: has_none(watch), step=500)


async def has(watch: Watch, name: str) -> bool:
    return await watch.store.job(name) is not None


async def has_none(watch: Watch) -> bool:
    return await watch.store.jobs() == ()


async def test_an_event_may_make_the_agent_look_around_at_once() -> None:
    watch = Watch()
    lease = await watch.hold()
    beat = await watch.keep(job(beat_id("main"), next_at=NOON + DAY, place=JobPlace.BESIDE, key=MAIN))
    for wake, expected in ((Wake.NEXT, NOON + DAY), (Wake.NOW, NOON)):
        one = job(f"e-{wake}", work=SystemEvent(text="tea", wake=wake), place=JobPlace.MAIN)
        await watch.timers.fire(lease, await watch.keep(one))
        kept = await watch.store.job(beat.id)
        assert kept is not None
        assert kept.next_at == expected


async def test_an_agent_that_does_not_look_around_is_not_woken() -> None:
    watch = Watch()
    await watch.timers.wake("main")
    assert await watch.store.jobs() == ()


async def test_look_arounds_rest_until_they_are_switched_on_again() -> None:
    watch = Watch()
    watch.change(TimerRules(beats={"main": LOOK}))
    async with watch.serving():
        await watch.passing(lambda: has(watch, beat_id("main")))
        await watch.timers.switch(enabled=False)
        resting = await watch.store.job(beat_id("main"))
        assert resting is not None
        assert (resting.plan.enabled, resting.next_at) == (False, None)
        await watch.timers.wake("main")
        assert await watch.store.job(beat_id("main")) == resting
        await watch.timers.switch(enabled=True)
        going = await watch.store.job(beat_id("main"))
        assert going is not None
        assert going.next_at == (watch.clock.now() // 1_800_000 + 1) * 1_800_000


async def test_what_is_configured_while_look_arounds_rest_rests_too() -> None:
    watch = Watch()
    watch.change(TimerRules(beats={"main": LOOK}))
    other = replace(LOOK, plan=replace(LOOK.plan, schedule=Every(every_ms=60_000, anchor=0)))
    async with watch.serving():
        await watch.passing(lambda: has(watch, beat_id("main")))
        await watch.timers.switch(enabled=False)
        watch.change(TimerRules(beats={"main": other, "helper": LOOK}))
        await watch.passing(lambda: has(watch, beat_id("helper")))
        kept = await watch.store.jobs()
        assert {one.plan.schedule for one in kept} == {other.plan.schedule, LOOK.plan.schedule}
        assert {(one.plan.enabled, one.next_at) for one in kept} == {(False, None)}
