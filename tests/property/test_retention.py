"""Laws of retention: whatever there is and whatever the limits, it takes only what it may, oldest first, and enough."""

from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.keys import SessionKey
from roost.core.retention import Candidate, Crowd, Cutoffs, Disk, Fullness, Sort, plan
from tests.scale import examples

moments = st.integers(0, 20)
cutoffs = st.builds(
    Cutoffs,
    synthetic_before=st.none() | moments,
    cron_before=st.none() | moments,
    archive_children_before=st.none() | moments,
    archive_dashboards_before=st.none() | moments,
    crowd=st.none() | st.builds(Crowd, most=st.integers(0, 10), spared=st.none() | moments),
    disk=st.none() | st.builds(Disk, most=st.integers(0, 60), goal=st.integers(0, 60)),
)


@st.composite
def candidates(draw: st.DrawFn) -> list[Candidate]:
    names = draw(st.lists(st.integers(0, 99), unique=True, max_size=12))
    return [
        Candidate(
            key=SessionKey.parse(f"agent:main:hook:{name}"),
            sort=draw(st.sampled_from(Sort)),
            updated=draw(moments),
            archived=draw(st.booleans()),
            bound=draw(st.booleans()),
            needed=draw(st.booleans()),
        )
        for name in names
    ]


@settings(max_examples=examples(80, 5_000), deadline=None)
@given(rows=candidates(), limits=cutoffs, others=st.integers(0, 10), size=st.integers(0, 9))
def test_a_sweep_takes_only_what_it_may_and_enough(
    rows: list[Candidate], limits: Cutoffs, others: int, size: int
) -> None:
    shown = sum(not row.archived for row in rows)
    full = Fullness(sessions=others + shown, bytes=60)
    sizes = {row.key: size for row in rows}
    done = plan(rows, limits, full, sizes)
    removed, archived = set(done.remove), set(done.archive)
    assert removed.isdisjoint(archived)
    assert removed | archived <= set(rows)
    assert len(done.remove) == len(removed)
    assert not any(row.sort is Sort.DASHBOARD or row.bound or row.needed for row in removed)
    assert not any(row.archived for row in archived)
    if limits.crowd is not None:
        left = full.sessions - sum(not row.archived for row in removed) - len(archived)
        spared = limits.crowd.spared
        more = [
            row
            for row in set(rows) - removed - archived
            if not row.archived and (spared is None or row.updated < spared)
        ]
        assert left <= limits.crowd.most or not more
    if limits.disk is not None and full.bytes > limits.disk.most:
        reached = full.bytes - size * len(removed) <= limits.disk.goal
        assert reached == (done.over == 0)
        assert reached or not any(row.removable for row in set(rows) - removed)


@settings(max_examples=examples(80, 5_000), deadline=None)
@given(rows=candidates(), limits=cutoffs)
def test_the_order_in_which_they_are_found_changes_nothing(rows: list[Candidate], limits: Cutoffs) -> None:
    full = Fullness(sessions=len(rows), bytes=60)
    sizes = {row.key: 5 for row in rows}
    assert plan(rows, limits, full, sizes) == plan(rows[::-1], limits, full, sizes)
