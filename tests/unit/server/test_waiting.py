"""Those who are connected and not yet in."""

from dataclasses import dataclass

import pytest

from roost.server.waiting import WaitingRoom


@dataclass(eq=False)
class One:
    address: str = "a"
    silent: bool = True
    sent_away: bool = False

    def send_away(self) -> None:
        self.sent_away = True


@pytest.mark.requirement("S23")
def test_who_has_been_silent_longest_makes_room() -> None:
    room = WaitingRoom(most=10, most_of_one=2)
    asks, first, second = One(silent=False), One(), One()
    assert room.enter(asks)
    assert room.enter(first)
    assert room.enter(second)
    assert (asks.sent_away, first.sent_away, second.sent_away, len(room)) == (False, True, False, 2)
    assert room.enter(One(address="b"))


def test_nobody_who_asks_is_sent_away() -> None:
    room = WaitingRoom(most=2, most_of_one=1)
    assert room.enter(One(silent=False))
    assert not room.enter(One())
    assert room.enter(One(address="b", silent=False))
    assert not room.enter(One(address="c"))


def test_the_largest_crowd_makes_room_for_one_from_elsewhere() -> None:
    room = WaitingRoom(most=3, most_of_one=3)
    crowd = [One() for _ in range(2)]
    for one in (*crowd, One(address="b")):
        assert room.enter(one)
    assert room.enter(One(address="c"))
    assert [one.sent_away for one in crowd] == [True, False]


def test_who_left_takes_no_room() -> None:
    room, one = WaitingRoom(most=1, most_of_one=1), One()
    assert room.enter(one)
    room.leave(one)
    room.leave(one)
    assert len(room) == 0
    assert room.enter(One(silent=False))
