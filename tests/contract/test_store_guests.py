"""People who are let in by pairing: kept across restarts, decided on by one at a time, told to who waits for news."""

from dataclasses import replace

import anyio
import pytest

from roost.core.devices import Devices
from roost.core.errors import NotFound
from roost.core.guests import NOBODY, TELL_AGAIN_MS, Guests, admit, knock, remove
from roost.ports import Store, Topic, TopicKind
from tests.contract.homes import Reopen
from tests.unit.core.test_guests import knocking

SEVEN, EIGHT = (replace(knocking(who), ready_at=TELL_AGAIN_MS) for who in ("7", "8"))


async def test_who_asked_and_who_was_let_in_is_known_after_a_restart(store: Store, reopen: Reopen) -> None:
    assert await store.guests() == NOBODY
    assert await store.change_guests(lambda known: knock(known, knocking())) == SEVEN
    await store.change_guests(lambda known: knock(known, knocking("8")))
    ann = await store.change_guests(lambda known: admit(known, "CODE7", 5))
    again = await reopen()
    assert await again.guests() == Guests(known=(ann,), asking=(EIGHT,))
    assert await again.devices() == Devices()
    await again.change_guests(lambda known: remove(known, ann.id))
    assert await again.guests() == Guests(asking=(EIGHT,))


async def test_a_decision_on_guests_that_is_refused_changes_nothing(store: Store) -> None:
    await store.change_guests(lambda known: knock(known, knocking()))
    with pytest.raises(NotFound):
        await store.change_guests(lambda known: admit(known, "WRONG", 5))
    assert await store.guests() == Guests(asking=(SEVEN,))


async def test_who_waits_for_news_of_guests_hears_of_each_change(store: Store) -> None:
    async def let_in() -> Guests | None:
        found = await store.guests()
        return found if found.known else None

    async with anyio.create_task_group() as group:
        group.start_soon(store.change_guests, lambda known: knock(known, knocking()))
        group.start_soon(store.change_guests, lambda known: admit(knock(known, knocking())[0], "CODE7", 5))
        with anyio.fail_after(10):
            found = await store.wait_for(Topic(TopicKind.GUESTS), let_in)
    assert [one.identity.id for one in found.known] == ["7"]
