"""Events: numbered facts about one session, in the order of their commits. They are its feed.

Numbers count per session without gaps. What streams while a model speaks is a preview and no event.
"""

from enum import StrEnum
from typing import ClassVar, NamedTuple

from roost.core.keys import SessionKey


class EventKind(StrEnum):
    SESSION_OPENED = "session.opened"
    SESSION_RESET = "session.reset"
    SESSION_CHANGED = "session.changed"
    ENTRY = "entry"
    INPUT_ACCEPTED = "input.accepted"
    INPUT_TAKEN = "input.taken"
    INPUT_MERGED = "input.merged"
    INPUT_DEAD = "input.dead"
    INPUT_ANSWERED = "input.answered"
    RUN_QUEUED = "run.queued"
    RUN_STARTED = "run.started"
    RUN_ENDED = "run.ended"
    DELIVERY = "delivery"
    EXCHANGE = "exchange"
    CHILD = "child"


class Unsaid:
    """A change of which the feed says nothing."""

    __slots__ = ()
    event: ClassVar[None] = None
    refs: ClassVar[tuple[str, ...]] = ()


class Event(NamedTuple):
    """`ref` names the row the event is about: an entry id, run id, inbound id, delivery id, …"""

    key: SessionKey
    number: int
    at: int
    kind: EventKind
    ref: str
