"""Save points: names for moments of a conversation, and what is different between two of them.

A point holds no words. A transcript only grows, so where it stood is enough to go on from there.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from typing import TypeAlias

from roost.core.errors import Conflict, InvalidInput, NotFound
from roost.core.keys import SessionKey
from roost.core.principals import Principal
from roost.core.sessions import Base, Generation, Overrides, Session, SessionStatus
from roost.core.timeline import Segment, context

MOST_POINTS = 100
MOST_CHILDREN = 1_000
LONGEST_NAME = 64
MODEL = "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """How far a child was."""

    key: SessionKey
    session_id: str
    entries: int
    status: SessionStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A session as it was: where its conversation stood, what people had set, who had answered last, its children."""

    key: SessionKey
    name: str
    at: int
    by: Principal
    base: Base
    overrides: Overrides
    model: str | None = None
    children: tuple[Child, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointed:
    """A session with its children, oldest first, its points, and the generations that they and it are read from."""

    session: Session
    children: tuple[Session, ...] = ()
    points: tuple[Point, ...] = ()
    generations: tuple[Generation, ...] = ()

    def point(self, name: str) -> Point:
        found = next((one for one in self.points if one.name == name), None)
        if found is None:
            known = ", ".join(one.name for one in self.points)
            raise NotFound(
                f"no save point {name!r}", hint=f"there are: {known}" if known else "there are none yet"
            )
        return found

    def now(self, name: str, at: int, by: Principal) -> Point:
        """The point that it is at."""
        session = self.session
        return Point(
            key=session.key,
            name=name,
            at=at,
            by=by,
            base=Base(session_id=session.session_id, seq=session.summary.entries),
            overrides=session.overrides,
            model=session.overrides.model or session.summary.model,
            children=tuple(
                Child(key=one.key, session_id=one.session_id, entries=one.summary.entries, status=one.status)
                for one in self.children
            ),
        )


DecidePoints: TypeAlias = Callable[[Pointed], tuple[Point, ...]]


def saving(name: str, at: int, by: Principal) -> DecidePoints:
    """The points with one more. A name is given once."""
    wanted = name.strip()
    if not wanted or len(wanted) > LONGEST_NAME or not wanted.isprintable():
        raise InvalidInput(f"a save point has a name of 1 to {LONGEST_NAME} characters on one line")

    def decide(pointed: Pointed) -> tuple[Point, ...]:
        if any(one.name == wanted for one in pointed.points):
            raise Conflict(
                f"there is a save point {wanted!r} already", hint="delete it first, or take another name"
            )
        if len(pointed.points) >= MOST_POINTS:
            raise Conflict(f"there are {MOST_POINTS} save points already", hint="delete one first")
        return (*pointed.points, pointed.now(wanted, at, by))

    return decide


def deleting(name: str) -> DecidePoints:
    """The points without one."""

    def decide(pointed: Pointed) -> tuple[Point, ...]:
        gone = pointed.point(name)
        return tuple(one for one in pointed.points if one is not gone)

    return decide


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A setting by its name; None is not set."""

    name: str
    before: str | int | None
    after: str | int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What loading one point and loading another brings. `gone` and `new` are what only the first and only the second
    has of the conversation; `model` is who would answer, `moved` are children that went on."""

    gone: tuple[Segment, ...]
    new: tuple[Segment, ...]
    settings: tuple[Changed, ...]
    model: Changed | None
    born: tuple[SessionKey, ...]
    left: tuple[SessionKey, ...]
    moved: tuple[SessionKey, ...]


def difference(before: Point, after: Point, generations: Iterable[Generation]) -> Difference:
    known = tuple(generations)
    gone, new = _apart(_read_from(before, known), _read_from(after, known))
    were, are = ({one.key: one for one in point.children} for point in (before, after))
    return Difference(
        gone=gone,
        new=new,
        settings=tuple(_settings(before.overrides, after.overrides)),
        model=None
        if before.model == after.model
        else Changed(name=MODEL, before=before.model, after=after.model),
        born=tuple(key for key in are if key not in were),
        left=tuple(key for key in were if key not in are),
        moved=tuple(key for key, one in are.items() if key in were and were[key] != one),
    )


def _read_from(point: Point, generations: tuple[Generation, ...]) -> tuple[Segment, ...]:
    return context(generations, point.base.session_id, point.base.seq)


def _apart(
    before: tuple[Segment, ...], after: tuple[Segment, ...]
) -> tuple[tuple[Segment, ...], tuple[Segment, ...]]:
    """Each without their common beginning."""
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    gone, new = before[same:], after[same:]
    if gone and new and gone[0].session_id == new[0].session_id:
        shared = min(gone[0].through or 0, new[0].through or 0)
        gone, new = _after(gone, shared), _after(new, shared)
    return gone, new


def _after(segments: tuple[Segment, ...], seq: int) -> tuple[Segment, ...]:
    first, *rest = segments
    return (*((replace(first, after=seq),) if first.through != seq else ()), *rest)


def _settings(before: Overrides, after: Overrides) -> Iterable[Changed]:
    for one in fields(Overrides):
        was, now = getattr(before, one.name), getattr(after, one.name)
        if was != now:
            yield Changed(name=one.name, before=was, after=now)
