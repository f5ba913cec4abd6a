from collections.abc import Iterator

import anyio
import pytest

from roost.core.events import EventKind
from roost.core.feeds import Anchor, Shown
from roost.core.messages import ToolCall
from roost.core.previews import Piece, Preview, RunBegan, SpokenText, ToolBegan, ToolPrinted
from roost.engine.ears import MOST_CHARACTERS, MOST_WAITING, PACE_MS, Ears
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import FakeClock
from tests.waiting import until_all_wait

ANCHOR = Anchor(EventKind.RUN_STARTED, "r")
MARK = ToolBegan(key=MAIN, run_id="r", call=ToolCall(id="c", name="exec", arguments={}))


def piece(text: str, offset: int = 0, *, run_id: str = "r") -> SpokenText:
    return SpokenText(key=MAIN, run_id=run_id, answer=1, offset=offset, text=text)


def printed(text: str, call_id: str) -> ToolPrinted:
    return ToolPrinted(key=MAIN, run_id="r", call_id=call_id, offset=0, text=text)


class Listener:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.ears = Ears(self.clock)

    def hear(self, *previews: Preview) -> None:
        for preview in previews:
            self.ears.hear(preview, ANCHOR)

    def texts(self) -> list[str]:
        return [one.text for one in self.taken() if isinstance(one, Piece)]

    def taken(self) -> Iterator[Preview]:
        while (shown := self.ears.take()) is not None:
            yield shown.preview


def test_pieces_are_joined_while_they_wait_for_their_time() -> None:
    listener = Listener()
    listener.hear(piece("a"))
    assert listener.texts() == ["a"]
    listener.hear(piece("b", 1), piece("c", 2), piece("d", 3))
    assert listener.texts() == []
    listener.clock.advance(PACE_MS - 1)
    assert listener.texts() == []
    listener.clock.advance(1)
    assert list(listener.taken()) == [piece("bcd", 1)]


def test_what_follows_a_piece_lets_it_go_at_once_and_never_overtakes_it() -> None:
    listener = Listener()
    listener.hear(piece("a"))
    assert listener.texts() == ["a"]
    listener.hear(piece("b", 1), MARK, piece("c", 2))
    assert list(listener.taken()) == [piece("b", 1), MARK]
    assert listener.ears.take(hurry=True) == Shown(preview=piece("c", 2), after=ANCHOR)
    assert listener.ears.take(hurry=True) is None


def test_streams_that_run_beside_each_other_are_joined_each_for_itself() -> None:
    listener = Listener()
    listener.hear(printed("1", "a"), printed("x", "b"), printed("2", "a"), printed("y", "b"))
    assert listener.texts() == ["12", "xy"]
    listener.hear(printed("3", "a"), printed("z", "b"), printed("4", "a"))
    assert listener.texts() == []
    listener.clock.advance(PACE_MS)
    assert listener.texts() == ["34", "z"]


def test_a_run_does_not_wait_for_the_pace_of_another() -> None:
    listener = Listener()
    listener.hear(piece("a"))
    assert listener.texts() == ["a"]
    listener.hear(piece("b", 1), piece("other", run_id="s"), RunBegan(run=builders.run("t")))
    assert list(listener.taken()) == [piece("other", run_id="s"), RunBegan(run=builders.run("t"))]


@pytest.mark.parametrize(
    "flood",
    [
        [MARK] * (MOST_WAITING + 1),
        [piece("x"), printed("y" * MOST_CHARACTERS, "a")],
        [piece("x"), printed("y", "a"), *[piece("z" * 1024)] * 256],
    ],
)
def test_who_falls_behind_hears_nothing_more_until_it_listens_again(flood: list[Preview]) -> None:
    listener = Listener()
    listener.hear(*flood)
    assert listener.ears.missed
    listener.hear(piece("unheard"))
    assert list(listener.taken()) == []
    assert listener.ears.anchor is None
    listener.ears.listen([(piece("the whole"), ANCHOR)])
    listener.hear(piece(" and more", 9))
    assert listener.texts() == ["the whole and more"]
    assert not listener.ears.missed


def test_what_is_going_on_is_heard_however_much_it_is() -> None:
    listener = Listener()
    whole: list[Preview] = [piece("x" * MOST_CHARACTERS), printed("y" * MOST_CHARACTERS, "a")]
    listener.ears.listen((one, ANCHOR) for one in whole)
    assert [len(text) for text in listener.texts()] == [MOST_CHARACTERS] * 2


def test_what_was_taken_no_longer_weighs() -> None:
    listener = Listener()
    for _ in range(10):
        listener.hear(MARK, piece("x" * (MOST_CHARACTERS // 2)))
        assert len(list(listener.taken())) == 2
        listener.clock.advance(PACE_MS)
    assert not listener.ears.missed


async def test_waiting_ends_with_news_or_when_a_piece_is_due() -> None:
    listener = Listener()
    ended: list[str] = []

    async def wait(name: str) -> None:
        await listener.ears.wait()
        ended.append(name)

    async with anyio.create_task_group() as group:
        group.start_soon(wait, "news")
        await until_all_wait()
        assert ended == []
        listener.hear(piece("a"))
        await until_all_wait()
        assert ended == ["news"]
        assert listener.texts() == ["a"]
        listener.hear(piece("b", 1))
        group.start_soon(wait, "due")
        await until_all_wait()
        assert ended == ["news"]
        listener.clock.advance(PACE_MS)
        await until_all_wait()
        assert ended == ["news", "due"]
        assert listener.texts() == ["b"]
        listener.hear(piece("c", 2))
        group.start_soon(wait, "news again")
        await until_all_wait()
        listener.hear(MARK)
    assert ended[-1] == "news again"
