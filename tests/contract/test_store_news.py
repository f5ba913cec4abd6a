"""What was stored in a session since some event: the events and what they name, at one moment."""

from roost.core.effects import Pin
from roost.core.keys import SessionKey
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON
from tests.contract.scenes import change, known, opened, reset

OPS = SessionKey.named("ops", "main")


async def test_news_of_a_session_are_its_events_and_the_entries_they_name(store: Store) -> None:
    await opened(store)
    await store.append(MAIN, tuple(builders.said(f"e-{number}", "x") for number in range(1, 4)))
    before = await known(store)
    await store.append(MAIN, (builders.said("e-4", "x"), builders.said("e-5", "y")))
    await change(store, Pin(key=MAIN, at=NOON))
    news = await store.news(MAIN, after=before.events, limit=100)
    assert news.session == await known(store)
    assert news.events == await store.events(MAIN, after=before.events, limit=100)
    assert [entry.id for entry in news.entries] == ["e-4", "e-5"]
    assert await store.news(MAIN, after=news.events[-1].number, limit=100) == (news.session, (), ())
    assert await store.news(OPS, after=0, limit=100) == (None, (), ())


async def test_entries_that_others_stand_behind_are_found_also_over_a_reset(store: Store) -> None:
    await opened(store)
    first = (await known(store)).events
    for number in range(1, 8):
        await store.append(MAIN, (builders.said(f"e-{number}", "x"),))
        if number == 3:
            await reset(store, 2)
    for number in range(1, 8):
        events = [one for one in await store.events(MAIN, after=first, limit=100) if one.ref == f"e-{number}"]
        news = await store.news(MAIN, after=events[0].number - 1, limit=1)
        assert [entry.id for entry in news.entries] == [f"e-{number}"]
    both = await store.news(MAIN, after=first, limit=2)
    assert [entry.id for entry in both.entries] == ["e-1", "e-2"]
