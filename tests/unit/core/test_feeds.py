from roost.core.events import Event, EventKind
from roost.core.feeds import Anchor
from roost.testing.builders import MAIN
from roost.testing.clock import NOON


def event(kind: EventKind, ref: str) -> Event:
    return Event(key=MAIN, number=1, kind=kind, ref=ref, at=NOON)


def test_an_anchor_marks_the_event_of_its_kind_and_name() -> None:
    anchor = Anchor(EventKind.ENTRY, "e1")
    assert anchor.marks(event(EventKind.ENTRY, "e1"))
    assert not anchor.marks(event(EventKind.ENTRY, "e2"))
    assert not anchor.marks(event(EventKind.RUN_ENDED, "e1"))
