"""How much there is, as retention weighs it."""

import pytest

from roost.core.effects import Archive, DeleteSession
from roost.core.keys import SessionKey
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON
from tests.contract.homes import Reopen
from tests.contract.scenes import change, opened

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
