import pytest

from roost.core.figures import DAY_MS
from roost.core.keys import SessionKey
from roost.core.retention import (
    SYNTHETIC,
    Candidate,
    Crowd,
    Cutoffs,
    Disk,
    Fullness,
    Retention,
    Sort,
    Swept,
    oldest_needed,
    plan,
    sort_of,
)
from roost.core.sessions import Facts, SessionKind
from roost.testing.builders import MAIN, session
from tests.growth import grows_linearly

EMPTY = Fullness(sessions=0, bytes=0)


def key(name: str) -> SessionKey:
    return SessionKey.parse(f"agent:main:hook:{name}")


def candidate(
    name: str,
    updated: int,
    sort: Sort = Sort.SYNTHETIC,
    *,
    archived: bool = False,
    bound: bool = False,
    needed: bool = False,
) -> Candidate:
    return Candidate(key=key(name), sort=sort, updated=updated, archived=archived, bound=bound, needed=needed)


@pytest.mark.parametrize(
    ("text", "sort"),
    [
        ("agent:main:main", None),
        ("agent:main:telegram:group:7", None),
        ("agent:main:subagent:a", Sort.CHILD),
        ("agent:main:acp:a", Sort.SYNTHETIC),
        ("agent:main:hook:a", Sort.SYNTHETIC),
        ("agent:main:main:heartbeat", Sort.SYNTHETIC),
        ("agent:main:dashboard:a", Sort.DASHBOARD),
    ],
)
def test_retention_keeps_its_hands_off_conversations_of_people(text: str, sort: Sort | None) -> None:
    assert sort_of(session(SessionKey.parse(text))) is sort


def test_a_session_of_a_timer_is_known_by_its_facts() -> None:
    assert sort_of(session(MAIN)._replace(facts=Facts(kind=SessionKind.CRON))) is Sort.CRON


def test_the_keys_that_no_person_talks_to_are_synthetic() -> None:
    texts = ("agent:main:subagent:one", "agent:main:acp:one", "agent:main:hook:one")
    assert {SessionKey.parse(text).kind for text in texts} == SYNTHETIC


def test_each_sort_is_removed_or_archived_at_its_own_moment() -> None:
    rows = [
        candidate("synthetic", 5),
        candidate("child", 5, Sort.CHILD),
        candidate("bound", 5, Sort.CHILD, bound=True),
        candidate("needed", 5, Sort.CHILD, needed=True),
        candidate("cron", 5, Sort.CRON),
        candidate("dashboard", 5, Sort.DASHBOARD),
    ]

    def planned(cutoffs: Cutoffs) -> tuple[set[str], set[str]]:
        done = plan(rows, cutoffs, EMPTY, {})
        return {one.key.name or "" for one in done.remove}, {one.key.name or "" for one in done.archive}

    assert planned(Cutoffs()) == (set(), set())
    assert planned(Cutoffs(synthetic_before=5, cron_before=5, archive_children_before=5)) == (set(), set())
    assert planned(Cutoffs(synthetic_before=6)) == ({"synthetic", "child"}, set())
    assert planned(Cutoffs(cron_before=6)) == ({"cron"}, set())
    assert planned(Cutoffs(archive_children_before=6)) == (set(), {"child", "needed"})
    assert planned(Cutoffs(archive_dashboards_before=6)) == (set(), {"dashboard"})


def test_what_is_removed_or_archived_already_is_not_archived() -> None:
    rows = [candidate("old", 1, Sort.CHILD), candidate("hidden", 5, Sort.CHILD, archived=True)]
    done = plan(rows, Cutoffs(synthetic_before=2, archive_children_before=9), EMPTY, {})
    assert (done.remove, done.archive) == ((rows[0],), ())


def test_a_crowd_is_thinned_from_its_oldest_after_all_else() -> None:
    rows = [candidate(name, at) for name, at in (("c", 3), ("a", 1), ("d", 4), ("b", 2))]
    rows.append(candidate("hidden", 0, archived=True))

    def archived(cutoffs: Cutoffs, sessions: int) -> list[str | None]:
        done = plan(rows, cutoffs, Fullness(sessions=sessions, bytes=0), {})
        return [one.key.name for one in done.archive]

    assert archived(Cutoffs(crowd=Crowd(most=4)), 4) == []
    assert archived(Cutoffs(crowd=Crowd(most=4)), 6) == ["a", "b"]
    assert archived(Cutoffs(crowd=Crowd(most=4, spared=2)), 6) == ["a"]
    assert archived(Cutoffs(crowd=Crowd(most=4), synthetic_before=2), 6) == ["b"]
    assert archived(Cutoffs(crowd=Crowd(most=0)), 100) == ["a", "b", "c", "d"]


def test_a_full_disk_costs_the_oldest_that_no_person_talks_to() -> None:
    rows = [candidate("b", 2), candidate("a", 1), candidate("person", 0, Sort.DASHBOARD), candidate("c", 3)]
    rows += [candidate("bound", 0, Sort.CHILD, bound=True), candidate("needed", 0, needed=True)]
    sizes = {key("a"): 10, key("b"): 10, key("c"): 10, key("person"): 10}

    def removed(most: int, goal: int, synthetic_before: int | None = None) -> tuple[list[str | None], int]:
        limits = Cutoffs(disk=Disk(most=most, goal=goal), synthetic_before=synthetic_before)
        done = plan(rows, limits, Fullness(sessions=4, bytes=100), sizes)
        return [one.key.name for one in done.remove], done.over

    assert removed(100, 0) == ([], 0)
    assert removed(99, 95) == (["a"], 0)
    assert removed(99, 85) == (["a", "b"], 0)
    assert removed(99, 85, synthetic_before=3) == (["a", "b"], 0)
    assert removed(99, 50) == (["a", "b", "c"], 20)


def test_a_session_that_is_kept_is_neither_removed_nor_archived() -> None:
    rows = [candidate("a", 1), candidate("b", 2), candidate("c", 3, Sort.DASHBOARD)]
    limits = Cutoffs(
        synthetic_before=9,
        crowd=Crowd(most=0),
        disk=Disk(most=0, goal=0),
        kept=frozenset({key("a"), key("c")}),
    )
    done = plan(rows, limits, Fullness(sessions=3, bytes=1), {})
    assert ([one.key.name for one in done.remove], done.archive) == (["b"], ())


def test_only_what_may_be_past_its_time_is_looked_at() -> None:
    full = Fullness(sessions=10, bytes=10)
    assert oldest_needed(Cutoffs(events_before=9), full) is None
    assert oldest_needed(Cutoffs(cron_before=3, archive_children_before=7), full) == 7
    assert oldest_needed(Cutoffs(crowd=Crowd(most=10), disk=Disk(most=10, goal=1)), full) is None
    assert (oldest_needed(Cutoffs(crowd=Crowd(most=9)), full) or 0) > 2**60
    assert (oldest_needed(Cutoffs(disk=Disk(most=9, goal=1)), full) or 0) > 2**60


def test_a_policy_becomes_moments_when_it_is_applied() -> None:
    now = 100 * DAY_MS
    cutoffs = Retention(generations_ms=None, spare_recent=True).at(now)
    assert cutoffs == Cutoffs(
        synthetic_before=now - 30 * DAY_MS,
        cron_before=now - DAY_MS,
        archive_children_before=now - 3_600_000,
        archive_dashboards_before=now - 7 * DAY_MS,
        events_before=now - 7 * DAY_MS,
        dedupe_before=now - 7 * DAY_MS,
        records_before=now - 30 * DAY_MS,
        crowd=Crowd(most=5_000, spared=now - DAY_MS),
        disk=Disk(most=10 << 30, goal=8 << 30),
    )
    assert Retention().at(now).crowd == Crowd(most=5_000)


def test_a_policy_that_only_warns_still_keeps_house() -> None:
    now = 100 * DAY_MS
    assert Retention(enforce=False).housekeeping(now) == Cutoffs(
        cron_before=now - DAY_MS,
        archive_children_before=now - 3_600_000,
        events_before=now - 7 * DAY_MS,
        dedupe_before=now - 7 * DAY_MS,
        records_before=now - 30 * DAY_MS,
    )


def test_a_sweep_says_whether_it_did_anything() -> None:
    assert not Swept().anything
    assert Swept(archived=(MAIN,)).anything
    assert not Swept(archived=(MAIN,)).removed
    assert Swept(events=1).removed


def test_what_a_full_disk_costs_to_plan_grows_with_what_there_is() -> None:
    crowd = [candidate(f"hook-{number}", number) for number in range(4_000)]
    cutoffs = Cutoffs(disk=Disk(most=1, goal=0))

    def make_room(some: str) -> None:
        found = crowd[: len(some)]
        full = Fullness(sessions=len(found), bytes=len(found))
        assert plan(found, cutoffs, full, {one.key: 1 for one in found}).remove == tuple(found)

    assert grows_linearly(make_room, ".", size=999)
