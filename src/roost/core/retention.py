"""What is kept and for how long: the policy, its moments at a sweep, and what becomes of each session it may touch.

Conversations of people are never removed here, archived or not; at most a dashboard's is archived. A child that lives in
a chat thread is one of them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

from roost.core.figures import DAY_MS
from roost.core.keys import KeyKind, SessionKey
from roost.core.sessions import Session, SessionKind

RECENT_MS = DAY_MS

SYNTHETIC = frozenset({KeyKind.SUBAGENT, KeyKind.ACP, KeyKind.HOOK})
"""Sessions that no person talks to; their keys are never used again."""


class Record(StrEnum):
    """What is written down beside the transcripts and was settled: over, sent or given up, heard, told.

    Runs are looked at first: what a sweep finds must not hang on what it removes on the way.
    """

    RUN = "run"
    DELIVERY = "delivery"
    EXCHANGE = "exchange"
    COMPLETION = "completion"
    DENIAL = "denial"
    FIRING = "firing"


class Sort(StrEnum):
    """What retention takes a session for; of every other session it keeps its hands off."""

    SYNTHETIC = "synthetic"
    CHILD = "child"
    CRON = "cron"
    DASHBOARD = "dashboard"


def sort_of(session: Session) -> Sort | None:
    key = session.key
    if session.facts.kind is SessionKind.CRON:
        return Sort.CRON
    if key.kind is KeyKind.SUBAGENT:
        return Sort.CHILD
    if key.kind in SYNTHETIC or key.heartbeat:
        return Sort.SYNTHETIC
    return Sort.DASHBOARD if key.kind is KeyKind.DASHBOARD else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """More than `most` sessions that are not archived are too many; those touched since `spared` are left."""

    most: int
    spared: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """Beyond `most` bytes the oldest sessions are removed until about `goal` are left."""

    most: int
    goal: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutoffs:
    """What a sweep may remove or archive: what was not touched since its moment; None keeps all.

    Running, queued, pinned and undelivered work is never touched, and no session that is `kept`.
    """

    synthetic_before: int | None = None
    cron_before: int | None = None
    archive_children_before: int | None = None
    archive_dashboards_before: int | None = None
    generations_before: int | None = None
    events_before: int | None = None
    dedupe_before: int | None = None
    records_before: int | None = None
    crowd: Crowd | None = None
    disk: Disk | None = None
    kept: frozenset[SessionKey] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long things are kept, in milliseconds; None is for ever. Without `enforce` a sweep only tells."""

    enforce: bool = True
    synthetic_ms: int | None = 30 * DAY_MS
    cron_ms: int | None = DAY_MS
    archive_children_ms: int | None = 3_600_000
    archive_dashboards_ms: int | None = 7 * DAY_MS
    generations_ms: int | None = None
    events_ms: int = 7 * DAY_MS
    dedupe_ms: int = 7 * DAY_MS
    records_ms: int = 30 * DAY_MS
    most_sessions: int = 5_000
    spare_recent: bool = False
    disk: Disk | None = Disk(most=10 << 30, goal=8 << 30)

    def at(self, now: int) -> Cutoffs:
        def before(age: int | None) -> int | None:
            return None if age is None else now - age

        return Cutoffs(
            synthetic_before=before(self.synthetic_ms),
            cron_before=before(self.cron_ms),
            archive_children_before=before(self.archive_children_ms),
            archive_dashboards_before=before(self.archive_dashboards_ms),
            generations_before=before(self.generations_ms),
            events_before=before(self.events_ms),
            dedupe_before=before(self.dedupe_ms),
            records_before=before(self.records_ms),
            crowd=Crowd(most=self.most_sessions, spared=now - RECENT_MS if self.spare_recent else None),
            disk=self.disk,
        )

    def housekeeping(self, now: int) -> Cutoffs:
        """What is done even where the policy only warns: it has settings of its own, or none."""
        return replace(
            self.at(now),
            synthetic_before=None,
            archive_dashboards_before=None,
            generations_before=None,
            crowd=None,
            disk=None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A session that retention may touch: nothing of it is running, waiting or pinned. `bound`: to a chat thread. `needed`: a
    letter of it did not arrive, an exchange is under way, or another session goes on from what was said in it."""

    key: SessionKey
    sort: Sort
    updated: int
    archived: bool = False
    bound: bool = False
    needed: bool = False

    @property
    def removable(self) -> bool:
        return self.sort is not Sort.DASHBOARD and not self.bound and not self.needed


@dataclass(frozen=True, slots=True, kw_only=True)
class Fullness:
    """How much there is: sessions that are not archived, all there are, and bytes in use."""

    sessions: int
    bytes: int
    kept: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPlan:
    """What a sweep does; `over` bytes beyond the goal are held by what it may not remove."""

    remove: tuple[Candidate, ...] = ()
    archive: tuple[Candidate, ...] = ()
    over: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What one sweep removed and archived, or would."""

    sessions: tuple[SessionKey, ...] = ()
    archived: tuple[SessionKey, ...] = ()
    generations: int = 0
    events: int = 0
    inbound: int = 0
    records: int = 0
    over: int = 0

    @property
    def removed(self) -> bool:
        return bool(self.sessions or self.generations or self.events or self.inbound or self.records)

    @property
    def anything(self) -> bool:
        return self.removed or bool(self.archived)


def oldest_needed(cutoffs: Cutoffs, full: Fullness) -> int | None:
    """The moment before which sessions must be looked at; None looks at none."""
    if crowded(cutoffs, full) or on_disk(cutoffs, full):
        return 2**62
    moments = (
        cutoffs.synthetic_before,
        cutoffs.cron_before,
        cutoffs.archive_children_before,
        cutoffs.archive_dashboards_before,
    )
    return max((moment for moment in moments if moment is not None), default=None)


def crowded(cutoffs: Cutoffs, full: Fullness) -> bool:
    return cutoffs.crowd is not None and full.sessions > cutoffs.crowd.most


def on_disk(cutoffs: Cutoffs, full: Fullness) -> bool:
    """Whether the store has grown beyond its budget."""
    return cutoffs.disk is not None and full.bytes > cutoffs.disk.most


def plan(
    candidates: Iterable[Candidate], cutoffs: Cutoffs, full: Fullness, sizes: Mapping[SessionKey, int]
) -> SweepPlan:
    """What becomes of them, oldest first; `sizes` are needed when the disk is too full."""
    touched = (one for one in candidates if one.key not in cutoffs.kept)
    by_age = sorted(touched, key=lambda one: (one.updated, str(one.key)))
    remove = [one for one in by_age if _expired(one, cutoffs) and one.removable]
    over = 0
    if cutoffs.disk is not None and full.bytes > cutoffs.disk.most:
        over = full.bytes - cutoffs.disk.goal - sum(sizes.get(one.key, 0) for one in remove)
        expired = {one.key for one in remove}
        for one in by_age:
            if over > 0 and one.key not in expired and one.removable:
                remove.append(one)
                over -= sizes.get(one.key, 0)
    gone = {one.key for one in remove}
    left = [one for one in by_age if not one.archived and one.key not in gone]
    archive = [one for one in left if _hidden(one, cutoffs)]
    if cutoffs.crowd is not None:
        shown = full.sessions - sum(not one.archived for one in remove) - len(archive)
        hidden = {one.key for one in archive}
        spared = cutoffs.crowd.spared
        others = [one for one in left if one.key not in hidden and (spared is None or one.updated < spared)]
        archive += others[: max(shown - cutoffs.crowd.most, 0)]
    return SweepPlan(remove=tuple(remove), archive=tuple(archive), over=max(over, 0))


def _expired(one: Candidate, cutoffs: Cutoffs) -> bool:
    match one.sort:
        case Sort.CRON:
            return _untouched_since(one, cutoffs.cron_before)
        case Sort.SYNTHETIC | Sort.CHILD:
            return _untouched_since(one, cutoffs.synthetic_before)
        case Sort.DASHBOARD:
            return False
        case _:
            assert_never(one.sort)


def _hidden(one: Candidate, cutoffs: Cutoffs) -> bool:
    match one.sort:
        case Sort.CHILD:
            return not one.bound and _untouched_since(one, cutoffs.archive_children_before)
        case Sort.DASHBOARD:
            return _untouched_since(one, cutoffs.archive_dashboards_before)
        case Sort.CRON | Sort.SYNTHETIC:
            return False
        case _:
            assert_never(one.sort)


def _untouched_since(one: Candidate, before: int | None) -> bool:
    return before is not None and one.updated < before
