"""A store that every gateway writes: all serve, nothing is done twice, and one hears of another's work."""

import asyncio
from functools import partial

import pytest

from roost.core.errors import Fenced
from roost.core.keys import SessionKey
from roost.core.leases import LEASE_MS, Gateway, Lease
from roost.core.runs import Lane, Run, RunState
from roost.core.topics import Topic, TopicKind
from roost.core.turntaking import Limits, choose
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import FakeClock
from tests.contract.homes import FIRST, Home
from tests.contract.scenes import everything, known_run, opened, queued

SECOND = Gateway(name="second", holder="process-2")
THIRD = Gateway(name="third", holder="process-3")


async def crowd(home: Home) -> list[tuple[Store, Lease]]:
    found = [(home.store, home.lease)]
    for gateway in (SECOND, THIRD):
        store = await home.beside()
        found.append((store, await store.acquire_lease(gateway)))
    return found


async def test_all_gateways_hold_a_lease_at_once(shared: Home) -> None:
    for store, lease in await crowd(shared):
        await store.renew_lease(lease)
    assert [lease.gateway for lease in await shared.store.gateways()] == [FIRST, SECOND, THIRD]


async def test_every_run_is_started_once_and_one_a_session(shared: Home) -> None:
    gateways = await crowd(shared)
    keys = [SessionKey.named("main", f"busy-{number}") for number in range(12)]
    for number, key in enumerate(keys):
        store = gateways[number % 3][0]
        for turn in (1, 2):
            message = builders.inbound(f"m-{number}-{turn}", key)
            await store.accept_inbound(message, builders.accept(message, f"r-{number}-{turn}", f"s-{number}"))
    claimed: list[Run] = []

    async def claim(store: Store, lease: Lease) -> None:
        for _ in range(50):
            claimed.extend(await store.claim_runs(lease, partial(choose, limits=Limits(ceiling=2))))
            if len(claimed) >= len(keys):
                return

    await asyncio.gather(*(claim(store, lease) for store, lease in gateways))
    assert sorted(run.id for run in claimed) == sorted(f"r-{number}-1" for number in range(12))


async def test_limits_hold_over_all_gateways(shared: Home) -> None:
    gateways = await crowd(shared)
    for number in range(9):
        key = SessionKey.named("main", f"busy-{number}")
        message = builders.inbound(f"m-{number}", key)
        await shared.store.accept_inbound(message, builders.accept(message, f"r-{number}", f"s-{number}"))
    pick = partial(choose, limits=Limits(ceiling=9, lanes={Lane.MAIN: 4}))
    found = await asyncio.gather(*(store.claim_runs(lease, pick) for store, lease in gateways))
    assert sum(map(len, found)) == 4


@pytest.mark.requirement("P30")
async def test_a_gateway_that_slept_past_its_lease_loses_its_runs_and_nothing_else(
    shared: Home, clock: FakeClock
) -> None:
    other = await shared.beside()
    lease = await other.acquire_lease(SECOND)
    await opened(shared.store)
    await queued(shared.store, "r-1")
    (run,) = await shared.store.claim_runs(shared.lease, everything)
    clock.advance(LEASE_MS - 1)
    lease = await other.renew_lease(lease)
    assert await other.reap_runs(lease, lambda snapshot: ()) == ()
    clock.advance(1)
    (after,) = await other.reap_runs(lease, lambda snapshot: (builders.done(snapshot.run.id),))
    assert after.state is RunState.DONE
    assert run.claim is not None
    with pytest.raises(Fenced):
        await shared.store.append(MAIN, (builders.said("e-1", "late"),), claim=run.claim)
    with pytest.raises(Fenced):
        await shared.store.renew_lease(shared.lease)
    # Any gateway accepts any message, also one that runs nothing any more.
    await shared.store.append(MAIN, (builders.said("e-2", "from outside"),))
    assert (await known_run(other, "r-1")).state is RunState.DONE


async def test_news_of_one_gateway_reaches_those_who_wait_and_watch_at_another(shared: Home) -> None:
    other = await shared.beside()
    told: list[SessionKey] = []

    async def there() -> bool | None:
        return True if await other.session(MAIN) else None

    with other.watch(None, told.append):
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            waiting = group.create_task(other.wait_for(Topic(TopicKind.SESSION, str(MAIN)), there))
            await asyncio.sleep(0)
            await opened(shared.store)
            assert await waiting
