"""What a store can be asked, and pages of what it answers."""

from bisect import bisect_right
from dataclasses import dataclass
from operator import attrgetter
from typing import Generic, TypeVar

from roost.core.entries import Entry
from roost.core.errors import InvalidInput
from roost.core.figures import DAY_MS
from roost.core.keys import KeyKind, SessionKey
from roost.core.numbers import refuse_oversized
from roost.core.principals import Principal
from roost.core.search import Query
from roost.core.sessions import Generation, Session, SessionKind
from roost.core.visibility import EVERYTHING, VisibleScope

Row = TypeVar("Row")


MOST_ROWS = 1_000_000_000
"""No store has more. Whoever asks for one row further than is wanted stays within what a database counts with."""


def refuse_limit(limit: int, offset: int = 0) -> None:
    """At most so many rows can be asked for, or none."""
    if not 0 <= limit <= MOST_ROWS:
        raise InvalidInput(f"{limit} rows cannot be given", hint="ask for none, or for less than a billion")
    if offset < 0:
        raise InvalidInput(f"an offset of {offset} is before the beginning", hint="begin at 0")
    if offset:
        refuse_oversized(offset)


def _refuse_page(limit: int, offset: int = 0) -> None:
    if limit < 1:
        raise InvalidInput(f"a page of {limit} rows cannot be given", hint="ask for at least one")
    refuse_limit(limit, offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """A place in a list of sessions, newest first."""

    updated: int
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionQuery:
    """Which sessions; every filter holds, then `offset` rows are passed over, then `limit` apply.

    `search` is looked for in key, names and title, whatever the case; `archived` None takes both kinds;
    `hidden` are shapes of keys that are passed over.
    """

    scope: VisibleScope = EVERYTHING
    kinds: frozenset[SessionKind] | None = None
    agent: str | None = None
    label: str | None = None
    search: str | None = None
    active_since: int | None = None
    keys: frozenset[SessionKey] | None = None
    parents: frozenset[SessionKey] | None = None
    hidden: frozenset[KeyKind] = frozenset()
    archived: bool | None = False
    after: Cursor | None = None
    offset: int = 0
    limit: int = 100

    def __post_init__(self) -> None:
        _refuse_page(self.limit, self.offset)
        refuse_oversized(self.active_since, None if self.after is None else self.after.updated)


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Rows in order; `more` says whether another page would have any."""

    rows: tuple[Row, ...]
    more: bool


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in the one timeline of a key: generation number, then seq."""

    generation: int
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryQuery:
    """The newest `limit` entries of a key before a position, across its generations.

    `session_id` narrows to one generation; without `tools`, tool results are passed over.
    """

    key: SessionKey
    session_id: str | None = None
    before: Position | None = None
    tools: bool = True
    limit: int = 200

    def __post_init__(self) -> None:
        _refuse_page(self.limit)
        if self.before is not None:
            refuse_oversized(self.before.generation, self.before.seq)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPage:
    """Entries oldest first, with where the next older page ends."""

    entries: tuple[Entry, ...]
    generations: tuple[Generation, ...]
    before: Position | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionContext:
    """A session, and what the context of one of its generations is made of, oldest first. It delegates if it has
    sub-agents, or will hear of one."""

    session: Session
    entries: tuple[Entry, ...]
    delegates: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """Full text over the entries of the sessions in scope, of one session or one generation only where that is named,
    newest first; `offset` hits are passed over."""

    query: Query
    scope: VisibleScope = EVERYTHING
    key: SessionKey | None = None
    session_id: str | None = None
    hidden: frozenset[KeyKind] = frozenset()
    offset: int = 0
    limit: int = 10

    def __post_init__(self) -> None:
        _refuse_page(self.limit, self.offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    key: SessionKey
    entry: Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """From a moment on, days are those of clocks that are so many ms `ahead` of UTC."""

    since: int
    ahead: int

    def __post_init__(self) -> None:
        refuse_oversized(self.since, self.ahead)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """Which day a moment is on. Clocks are `ahead` of UTC until the first of the `shifts`, which are in order of time."""

    ahead: int = 0
    shifts: tuple[Shift, ...] = ()

    def __post_init__(self) -> None:
        refuse_oversized(self.ahead)

    def day(self, at: int) -> int:
        """Counted since 1970."""
        passed = bisect_right(self.shifts, at, key=attrgetter("since"))
        ahead = self.shifts[passed - 1].ahead if passed else self.ahead
        return (at + ahead) // DAY_MS


UTC_DAYS = Calendar()


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """From one moment until another, day by day."""

    since: int
    until: int
    calendar: Calendar = UTC_DAYS

    def __post_init__(self) -> None:
        refuse_oversized(self.since, self.until)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """How much was said in some sessions on one day; `day` counts those since 1970. `tools` are what tools
    answered."""

    day: int
    user: int = 0
    assistant: int = 0
    tools: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """How many sessions there are, and what was said in them on the days on which anything was."""

    sessions: int
    days: tuple[Spoken, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerQuery:
    """Whose model calls to add up; every given part holds. `tree_of` takes a session and its descendants."""

    key: SessionKey | None = None
    keys: frozenset[SessionKey] | None = None
    tree_of: SessionKey | None = None
    agent: str | None = None
    principal: Principal | None = None
    since: int | None = None
    until: int | None = None

    def __post_init__(self) -> None:
        refuse_oversized(self.since, self.until)


@dataclass(frozen=True, slots=True, kw_only=True)
class DenialQuery:
    """Which refusals; every given part holds. `told` takes what was refused to somebody and may be told to them,
    `at_door` what was refused outside of any session."""

    told: Principal | None = None
    caller: SessionKey | None = None
    at_door: bool = False
    operation: str | None = None
    target: str | None = None


EVERY_DENIAL = DenialQuery()
