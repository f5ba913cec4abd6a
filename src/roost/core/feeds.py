"""What a listener is given: what was stored, what is only shown, and where something was left out."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple, TypeAlias

from roost.core.entries import Entry
from roost.core.events import Event, EventKind
from roost.core.keys import SessionKey
from roost.core.previews import Preview
from roost.core.sessions import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Something was left out here: previews, which begin anew after this, or events after this number that are no
    longer stored. Stored events go on from where they were; what was said is in the transcript."""

    after: int


class News(NamedTuple):
    """What was stored in a session after some event: the session as it is, if it is there, the events, and the entries
    that these name, oldest first."""

    session: Session | None
    events: tuple[Event, ...]
    entries: tuple[Entry, ...]


class Anchor(NamedTuple):
    """The stored event after which a preview comes."""

    kind: EventKind
    ref: str

    def marks(self, event: Event) -> bool:
        return (event.kind, event.ref) == self


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A preview, and what was stored before it: all that is stored later comes after it."""

    preview: Preview
    after: Anchor


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionChanged:
    """A session as it was when none of its previews waited."""

    session: Session


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionGone:
    key: SessionKey


class Interest(Enum):
    """What a listener wants to hear of a session that changes: nothing, that it did, or how it stands then."""

    NONE = auto()
    TOUCH = auto()
    STATE = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTouched:
    """Something was stored in a session of which nobody wants to know how it stands: it changed, or is gone."""

    key: SessionKey


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGap:
    """Changes were left out here: only a new list says how things stand."""


FeedItem: TypeAlias = Event | Preview | Gap
ListItem: TypeAlias = SessionChanged | SessionGone | SessionTouched | Shown | ListGap
