"""Those who hear what a client is told."""

from roost.client.events import Event, Feed, Gap, Heard


def event(number: int) -> Event:
    return Event(name="tick", payload={"ts": number})


async def heard_after(feed: Feed, most: int, *told: Heard) -> list[Heard]:
    with feed.listening(most) as listener:
        for one in told:
            feed.tell(one)
        feed.end()
        return [item async for item in listener]


async def test_everything_is_heard_in_order_until_the_end() -> None:
    assert await heard_after(Feed(), 10, event(1), Gap(), event(2)) == [event(1), Gap(), event(2)]


async def test_what_does_not_fit_becomes_one_gap() -> None:
    assert await heard_after(Feed(), 2, *map(event, range(9))) == [event(0), event(1), Gap()]


async def test_what_is_not_wanted_takes_no_room_and_hides_no_gap() -> None:
    feed = Feed()
    with feed.listening(1, wanted=lambda one: one.payload["ts"] == 3) as listener:
        for told in (event(1), event(2), event(3), event(4)):
            feed.tell(told)
        feed.tell(Gap())
        feed.end()
        assert [item async for item in listener] == [event(3), Gap()]


async def test_a_gap_that_waits_already_is_not_doubled() -> None:
    assert await heard_after(Feed(), 2, event(1), Gap(), event(2)) == [event(1), Gap()]


async def test_who_comes_after_the_end_hears_only_that() -> None:
    feed = Feed()
    feed.end()
    assert await heard_after(feed, 2) == []


async def test_who_has_left_is_told_nothing() -> None:
    feed = Feed()
    with feed.listening():
        pass
    feed.tell(event(1))
