"""Server-sent events out of bytes."""

import pytest

from roost.models import sse
from roost.models.sse import EventReader, EventTooLong


def all_of(*reads: bytes) -> list[bytes]:
    reader = EventReader()
    return [event for read in reads for event in reader.feed(read)] + reader.end()


def test_one_event_in_one_read_is_given_at_once() -> None:
    assert EventReader().feed(b"data: a\n\n") == [b"a"]


def test_several_events_in_one_read_come_in_order() -> None:
    assert EventReader().feed(b"data: a\n\ndata: b\n\n") == [b"a", b"b"]


STREAM = b": hello\n\ndata: a\n\nevent: x\nid: 1\ndata:b\ndata:  c\n\nretry: 5\n\ndata: d\n\n"


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_line_ends_and_the_size_of_reads_change_nothing(end: bytes, size: int) -> None:
    stream = STREAM.replace(b"\n", end)
    reads = [stream[start : start + size] for start in range(0, len(stream), size)]
    assert all_of(*reads) == [b"a", b"b\n c", b"d"]


def test_an_event_that_is_not_whole_waits() -> None:
    reader = EventReader()
    assert reader.feed(b"data: a") == []
    assert reader.feed(b"b\n") == []
    assert reader.feed(b"\n") == [b"ab"]


def test_a_whole_looking_read_in_the_middle_of_an_event_belongs_to_it() -> None:
    assert all_of(b"data: a\n", b"data: b\n\n") == [b"a\nb"]
    assert all_of(b"da", b"ta: b\n\n") == [b"b"]


def test_the_last_event_may_lack_its_line_ends() -> None:
    assert all_of(b"data: a") == [b"a"]
    assert all_of(b"data: a\r") == [b"a"]
    assert all_of(b"data: a\n") == [b"a"]
    assert all_of(b"") == []


def test_comments_alone_are_no_event() -> None:
    assert all_of(b": keep-alive\n\n", b":\n\n") == []


def test_an_event_that_does_not_end_is_refused() -> None:
    reader = EventReader()
    with pytest.raises(EventTooLong):
        reader.feed(b"data: " + b"x" * sse.LONGEST_EVENT)
    lines = EventReader()
    lines.feed(b"data: " + b"x" * (sse.LONGEST_EVENT - 100) + b"\n")
    with pytest.raises(EventTooLong):
        lines.feed(b"data: " + b"x" * 200 + b"\n")
