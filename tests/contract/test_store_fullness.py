"""How much there is, as retention weighs it."""

import pytest

from roost.config.policies import retention
from roost.core.effects import Archive, DeleteSession
from roost.core.keys import SessionKey
from roost.core.retention import Swept
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON, FakeClock
from tests.contract.homes import Reopen
from tests.contract.scenes import change, opened
from tests.unit.config.given import settings

SIDE = SessionKey.named("main", "side")
MUCH = 400_000


async def shown(store: Store) -> int:
    return (await store.fullness()).sessions


async def used(store: Store) -> int:
    return (await store.fullness()).bytes


@pytest.mark.requirement("P22")
async def test_sessions_are_counted_until_they_are_archived_or_gone(store: Store, reopen: Reopen) -> None:
    assert await shown(store) == 0
    await opened(store)
    await opened(store, SIDE)
    assert await shown(await reopen()) == 2
    store = await reopen()
    await change(store, Archive(key=SIDE, at=NOON), key=SIDE)
    assert await shown(store) == 1
    await change(store, Archive(key=SIDE, at=None), key=SIDE)
    assert await shown(store) == 2
    await change(store, DeleteSession(key=SIDE), key=SIDE)
    assert await shown(store) == 1


@pytest.mark.requirement("P22")
async def test_what_was_said_takes_its_bytes(store: Store) -> None:
    await opened(store)
    before = await used(store)
    text = "".join(f"{number} " for number in range(MUCH // 6))
    await store.append(MAIN, (builders.said("e-1", text),))
    assert await used(store) >= before + len(text) // 2
    full = await used(store)
    await change(store, DeleteSession(key=MAIN))
    assert await used(store) <= full - len(text) // 2


async def test_the_longest_times_that_can_be_configured_keep_everything(
    store: Store, clock: FakeClock
) -> None:
    await opened(store, SessionKey.parse("agent:main:subagent:one"))
    long = "53375995583d"
    longest = settings(
        {
            "session": {
                "maintenance": {
                    "pruneAfter": long,
                    "archiveDashboardAfter": long,
                    "resetArchiveRetention": long,
                    "maxEntries": 10**11,
                    "maxDiskBytes": "4194303tb",
                }
            },
            "cron": {"sessionRetention": long},
            "agents": {"defaults": {"subagents": {"archiveAfterMinutes": 10**11}}},
        }
    )
    assert await store.sweep(retention(longest).at(clock.now())) == Swept()
