import pytest

from roost.core.figures import HOUR_MS
from roost.core.room import Full, Room
from roost.engine.census import COUNTED_EVERY_MS, Census
from roost.engine.rulebook import Rulebook
from roost.engine.rules import Housekeeping, Rules
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import FakeClock


def never(*_: object) -> None:
    raise AssertionError("nothing runs here")


@pytest.mark.requirement("S23")
async def test_between_two_counts_what_was_let_in_counts_too() -> None:
    clock = FakeClock()
    store = MemoryStore(clock)
    rules = Rules(cast=never, house=Housekeeping(room=Room(sessions=2)))  # type: ignore[arg-type]
    census = Census(store, clock, Rulebook(rules))
    await census.make_room()
    await census.make_room()
    with pytest.raises(Full):
        await census.make_room()
    # Of those none was opened.
    clock.advance(COUNTED_EVERY_MS)
    await census.make_room()
    await store.change_session(MAIN, lambda _: (builders.opening(builders.session(MAIN), "s"),))
    assert await census.shown() == 1
    clock.advance(COUNTED_EVERY_MS)
    assert await census.shown() == 1
    await census.make_room()
    with pytest.raises(Full):
        await census.make_room()


async def test_a_clock_that_was_set_back_does_not_keep_an_old_count() -> None:
    clock = FakeClock()
    store = MemoryStore(clock)
    census = Census(store, clock, Rulebook(Rules(cast=never)))  # type: ignore[arg-type]
    assert await census.shown() == 0
    await store.change_session(MAIN, lambda _: (builders.opening(builders.session(MAIN), "s"),))
    clock.advance(-HOUR_MS)
    assert await census.shown() == 1
