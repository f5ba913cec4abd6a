import logging

import anyio
import pytest

from roost.core.fleet import SAME, Fleet
from roost.core.leases import Gateway, Lease
from roost.engine.comparing import LOOK_MS, compare
from roost.stores.memory import MemoryStore
from roost.testing.clock import FakeClock
from tests.waiting import until_all_wait


class Crowd(MemoryStore):
    """A store that others work on as a test says."""

    others: tuple[Lease, ...] = ()

    async def fleet(self) -> Fleet:
        own = await super().fleet()
        return Fleet(now=own.now, leases=(*own.leases, *self.others))


async def test_a_difference_is_told_and_logged_once_and_its_end_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = FakeClock()
    store = Crowd(clock)
    lease = await store.acquire_lease(Gateway(name="one", holder="1", config_hash="a"))
    other = Lease(gateway=Gateway(name="two", holder="2", config_hash="b"), epoch=2, expires_at=10**15)
    told: list[tuple[str, str | None]] = []
    with caplog.at_level(logging.WARNING):
        async with anyio.create_task_group() as group:
            group.start_soon(compare, store, clock, lease, lambda *said: told.append(said))
            await until_all_wait()
            store.others = (other,)
            for _ in range(2):
                clock.advance(LOOK_MS)
                await until_all_wait()
            store.others = ()
            clock.advance(LOOK_MS)
            await until_all_wait()
            group.cancel_scope.cancel()
    words = "gateway one goes by another configuration than two"
    assert told == [(SAME, None), (SAME, words), (SAME, None)]
    assert [record.message for record in caplog.records] == [words]
