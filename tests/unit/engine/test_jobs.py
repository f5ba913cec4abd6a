"""Jobs as people handle them."""

from dataclasses import replace

import pytest

from roost.core.addresses import Address
from roost.core.admission import ChannelPolicy
from roost.core.errors import Conflict, Forbidden, InvalidInput, NotFound, StoreUnavailable
from roost.core.jobs import MOST_JOBS, Announce, JobPlace
from roost.core.keys import SessionKey
from roost.core.principals import OWNER, person
from roost.core.schedules import At, Cron, Every
from roost.testing.clock import NOON
from tests.jobs import STEP, job, plan
from tests.unit.engine.timing import Watch

ADA = person("telegram", "7")


async def test_a_job_is_due_by_its_schedule_unless_it_is_paused() -> None:
    watch = Watch()
    made = await watch.jobs.add(OWNER, plan())
    assert (made.owner, made.next_at, made.revision) == (OWNER, NOON + STEP, 1)
    paused = await watch.jobs.change(OWNER, made.id, lambda known: replace(known, enabled=False))
    assert (paused.next_at, paused.revision) == (None, 2)
    on = await watch.jobs.change(OWNER, made.id, lambda known: replace(known, enabled=True))
    assert on.next_at == NOON + STEP
    assert await watch.jobs.every(OWNER) == (on,)


async def test_a_change_of_other_things_leaves_its_time() -> None:
    watch = Watch()
    made = await watch.jobs.add(OWNER, plan(schedule=Every(every_ms=10_000, anchor=NOON)))
    watch.clock.advance(9_000)
    renamed = await watch.jobs.change(OWNER, made.id, lambda known: replace(known, name="sky"))
    assert (renamed.next_at, renamed.updated_at) == (made.next_at, NOON + 9_000)
    assert await watch.jobs.change(OWNER, made.id, lambda known: known) == renamed
    moved = await watch.jobs.change(
        OWNER, made.id, lambda known: replace(known, schedule=Every(every_ms=60_000, anchor=NOON))
    )
    assert moved.next_at == NOON + 60_000


async def test_a_job_that_would_never_be_due_is_refused() -> None:
    watch = Watch()
    with pytest.raises(InvalidInput, match="that moment is over"):
        await watch.jobs.add(OWNER, plan(schedule=At(at=NOON)))
    with pytest.raises(InvalidInput, match="no day fits"):
        await watch.jobs.add(OWNER, plan(schedule=Cron(expression="0 0 */31 * 1L")))
    resting = await watch.jobs.add(OWNER, plan(schedule=At(at=NOON), enabled=False))
    assert resting.next_at is None
    with pytest.raises(InvalidInput, match="unknown agent"):
        await watch.jobs.add(OWNER, plan(agent="nobody"))


async def test_there_are_only_so_many() -> None:
    watch = Watch()
    for number in range(MOST_JOBS):
        await watch.keep(job(f"j{number}"))
    with pytest.raises(Conflict, match="already"):
        await watch.jobs.add(OWNER, plan())


async def test_timers_of_others_do_not_exist() -> None:
    watch = Watch()
    made = await watch.jobs.add(OWNER, plan())
    look = await watch.keep(job("beat", place=JobPlace.BESIDE, key=SessionKey.named("main", "main")))
    assert await watch.jobs.every(ADA) == ()
    for caller, job_id in ((ADA, made.id), (OWNER, look.id), (OWNER, "none")):
        with pytest.raises(NotFound):
            await watch.jobs.one(caller, job_id)
    for act in (
        watch.jobs.add(ADA, plan()),
        watch.jobs.change(ADA, made.id, lambda known: known),
        watch.jobs.remove(ADA, made.id),
        watch.jobs.run(ADA, made.id),
    ):
        with pytest.raises(Forbidden):
            await act
    with pytest.raises(NotFound):
        await watch.jobs.remove(OWNER, look.id)
    assert await watch.jobs.every(OWNER) == (made,)


async def test_a_job_is_run_by_hand_by_a_gateway_that_serves() -> None:
    watch = Watch()
    made = await watch.jobs.add(OWNER, plan())
    with pytest.raises(StoreUnavailable):
        await watch.jobs.run(OWNER, made.id)
    await watch.hold()
    assert await watch.jobs.run(OWNER, made.id, force=False) is None
    name = await watch.jobs.run(OWNER, made.id)
    assert name is not None
    assert name.startswith(f"manual:{made.id}:{NOON}:")
    page, total = await watch.jobs.history(OWNER, made.id, limit=5, offset=0)
    assert (len(page.rows), total) == (1, 1)
    watch.clock.advance(STEP)
    assert await watch.jobs.run(OWNER, made.id, force=False) is not None


async def test_what_a_job_says_is_told_on_a_channel_that_there_is() -> None:
    watch = Watch()
    there = Announce(to=Address(channel="telegram", to="7"))
    nowhere = Announce(to=Address(channel="telegram", to="7", account="work"))
    with pytest.raises(InvalidInput, match=r"no channel telegram/work \(name one; there are: telegram\b"):
        await watch.jobs.add(OWNER, plan(telling=nowhere))
    made = await watch.jobs.add(OWNER, plan(telling=there))
    with pytest.raises(InvalidInput, match="no channel"):
        await watch.jobs.change(OWNER, made.id, lambda known: replace(known, telling=nowhere))
    left = job("left", telling=nowhere)
    await watch.keep(left)
    renamed = await watch.jobs.change(OWNER, left.id, lambda known: replace(known, name="sky"))
    assert (renamed.plan.name, renamed.plan.telling) == ("sky", nowhere)


async def test_a_job_may_tell_on_a_channel_that_is_configured_and_served_elsewhere() -> None:
    watch = Watch()
    watch.book.replace(replace(watch.book.current, doors={"matrix": ChannelPolicy()}))
    elsewhere = Announce(to=Address(channel="matrix", to="7"))
    assert (await watch.jobs.add(OWNER, plan(telling=elsewhere))).plan.telling == elsewhere
