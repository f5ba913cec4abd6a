"""Facts: what was spent, what was refused, and the feed of each session."""

from dataclasses import replace

import pytest

from roost.core.effects import DeleteSession, Pin, RecordDenial
from roost.core.errors import NotFound
from roost.core.events import Event, EventKind
from roost.core.figures import DAY_MS, HOUR_MS
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.ledger import Denial, LedgerRow, LedgerTotal, Spent, SpentBy
from roost.core.messages import Usage
from roost.core.principals import OWNER, Principal, person
from roost.core.queries import Calendar, DenialQuery, LedgerQuery, Shift
from roost.core.runs import RunKind
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON, FakeClock
from tests.contract.homes import Reopen
from tests.contract.scenes import accepted, as_entries, change, claim_of, everything, opened

ALICE = person("telegram", "1")
OPS = SessionKey.named("ops", "main")
CHILD = SessionKey.parse("agent:main:subagent:one")
GRANDCHILD = SessionKey.parse("agent:ops:subagent:two")


def call(number: int, key: SessionKey = MAIN, *, principal: Principal = OWNER) -> LedgerRow:
    """A model call whose figures tell it from every other."""
    return LedgerRow(
        id=f"u-{number}",
        at=NOON + number,
        key=key,
        session_id=f"{key}-1",
        principal=principal,
        run_id="r-1",
        run_kind=RunKind.TURN,
        provider="demo",
        model="demo-1",
        usage=Usage(
            input=10**number,
            output=2 * 10**number,
            cache_read=3 * 10**number,
            cache_write=4 * 10**number,
            total=5 * 10**number,
            cost_micros=6 * 10**number,
        ),
    )


def total(*rows: LedgerRow) -> LedgerTotal:
    usage = Usage()
    for row in rows:
        usage = usage.plus(row.usage)
    return LedgerTotal(calls=len(rows), usage=usage)


ROWS = (
    call(0),
    call(1, CHILD, principal=ALICE),
    call(2, GRANDCHILD),
    call(3, OPS),
    call(4),
    call(5, CHILD),
)


async def spent(store: Store) -> None:
    await opened(store)
    await opened(store, row=builders.session(CHILD, parent=MAIN))
    await opened(store, row=builders.session(GRANDCHILD, parent=CHILD))
    await opened(store, OPS)
    for row in ROWS:
        await store.record_usage(row)


# -- ledger ------------------------------------------------------------------------------------------


@pytest.mark.requirement("P19")
@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        (LedgerQuery(), (0, 1, 2, 3, 4, 5)),
        (LedgerQuery(key=MAIN), (0, 4)),
        (LedgerQuery(key=CHILD), (1, 5)),
        (LedgerQuery(keys=frozenset({MAIN, OPS})), (0, 3, 4)),
        (LedgerQuery(keys=frozenset()), ()),
        (LedgerQuery(key=MAIN, keys=frozenset({OPS})), ()),
        (LedgerQuery(tree_of=MAIN), (0, 1, 2, 4, 5)),
        (LedgerQuery(tree_of=CHILD), (1, 2, 5)),
        (LedgerQuery(tree_of=GRANDCHILD), (2,)),
        (LedgerQuery(agent="ops"), (2, 3)),
        (LedgerQuery(agent="nobody"), ()),
        (LedgerQuery(principal=ALICE), (1,)),
        (LedgerQuery(since=NOON + 2), (2, 3, 4, 5)),
        (LedgerQuery(until=NOON + 2), (0, 1)),
        (LedgerQuery(since=NOON + 1, until=NOON + 4, tree_of=MAIN), (1, 2)),
        (LedgerQuery(tree_of=MAIN, agent="main", principal=OWNER), (0, 4, 5)),
        (LedgerQuery(since=0, until=0), ()),
    ],
)
async def test_a_total_is_the_sum_of_what_every_given_part_admits(
    store: Store, reopen: Reopen, query: LedgerQuery, numbers: tuple[int, ...]
) -> None:
    await spent(store)
    store = await reopen()
    rows = [ROWS[number] for number in numbers]
    assert await store.usage(query) == total(*rows)
    assert await store.ledger(query, offset=0, limit=100) == tuple(reversed(rows))
    assert await store.ledger(query, offset=1, limit=2) == tuple(reversed(rows))[1:3]
    agents = sorted({row.key.agent for row in rows})
    assert await store.spending(query) == tuple(
        Spent(
            day=NOON // DAY_MS,
            agent=agent,
            provider="demo",
            model="demo-1",
            total=total(*(row for row in rows if row.key.agent == agent)),
        )
        for agent in agents
    )
    apart = {
        SpentBy(key=key, total=total(*(row for row in rows if row.key == key)))
        for key in {r.key for r in rows}
    }
    found = await store.dearest(query, 100)
    assert (set(found.sessions), found.count) == (apart, len(apart))


@pytest.mark.requirement("P19")
async def test_the_sessions_that_cost_most_are_told_first_and_the_rest_is_counted(store: Store) -> None:
    keys = [SessionKey.named("main", name) for name in ("cheap", "dear", "as-cheap", "free")]
    for number, (key, cost) in enumerate(zip((*keys, keys[0]), (1, 9, 3, 0, 2), strict=True)):
        usage = Usage(input=1, total=1, cost_micros=cost)
        await store.record_usage(replace(call(number, key), usage=usage))
    found = await store.dearest(LedgerQuery(), 3)
    assert [(one.key, one.total.usage.cost_micros) for one in found.sessions] == [
        (keys[1], 9),
        (keys[0], 3),
        (keys[2], 3),
    ]
    assert (found.sessions[1].total.calls, found.count) == (2, 4)
    assert (await store.dearest(LedgerQuery(until=0), 3)).count == 0


@pytest.mark.requirement("P19")
async def test_what_was_spent_is_told_apart_by_day_agent_and_model(store: Store) -> None:
    rows = (
        call(0),
        replace(call(1), at=NOON + DAY_MS),
        replace(call(2), model="demo-0"),
        replace(call(3), provider="another"),
        call(4, OPS),
        replace(call(5), at=NOON + 1, estimated=True),
    )
    for row in rows:
        await store.record_usage(row)
    day = NOON // DAY_MS
    assert [
        (one.day - day, one.agent, one.provider, one.model, one.total)
        for one in await store.spending(LedgerQuery())
    ] == [
        (0, "main", "another", "demo-1", total(rows[3])),
        (0, "main", "demo", "demo-0", total(rows[2])),
        (0, "main", "demo", "demo-1", total(rows[0], rows[5])),
        (0, "ops", "demo", "demo-1", total(rows[4])),
        (1, "main", "demo", "demo-1", total(rows[1])),
    ]


async def test_what_was_spent_is_told_by_the_days_of_clocks_that_are_set_meanwhile(store: Store) -> None:
    day = NOON // DAY_MS
    calendar = Calendar(ahead=2 * HOUR_MS, shifts=(Shift(since=day * DAY_MS + 4 * HOUR_MS, ahead=HOUR_MS),))
    moments = [day * DAY_MS + hours * HOUR_MS for hours in (-3, -2, 22, 23)]
    for number, at in enumerate(moments):
        await store.record_usage(replace(call(number), at=at))
    told = await store.spending(LedgerQuery(), calendar)
    assert [(one.day - day, one.total.calls) for one in told] == [(-1, 1), (0, 2), (1, 1)]


@pytest.mark.requirement("P19")
async def test_deleting_sessions_changes_no_total(store: Store) -> None:
    await spent(store)
    queries = (LedgerQuery(), LedgerQuery(key=CHILD), LedgerQuery(tree_of=MAIN), LedgerQuery(tree_of=CHILD))
    before = [await store.usage(query) for query in queries]
    for key in (CHILD, MAIN, GRANDCHILD):
        await change(store, DeleteSession(key=key), key=key)
        assert [await store.usage(query) for query in queries] == before


@pytest.mark.requirement("P19")
async def test_the_total_of_a_tree_is_its_own_and_its_descendants(store: Store) -> None:
    await spent(store)
    own = await store.usage(LedgerQuery(key=MAIN))
    below = await store.usage(LedgerQuery(tree_of=CHILD))
    assert await store.usage(LedgerQuery(tree_of=MAIN)) == LedgerTotal(
        calls=own.calls + below.calls, usage=own.usage.plus(below.usage)
    )


@pytest.mark.requirement("P19")
async def test_an_estimate_is_replaced_once_and_a_settled_call_never(store: Store) -> None:
    estimate, settled = replace(call(1), estimated=True), call(1, OPS)
    await store.record_usage(estimate)
    assert await store.usage(LedgerQuery()) == total(estimate)
    await store.record_usage(replace(estimate, usage=Usage(input=7)))
    assert (await store.usage(LedgerQuery())).usage == Usage(input=7)
    await store.record_usage(settled)
    for late in (settled, replace(settled, usage=Usage(input=99)), estimate):
        await store.record_usage(late)
        assert await store.usage(LedgerQuery()) == total(settled)
    assert await store.usage(LedgerQuery(key=OPS)) == total(settled)


@pytest.mark.requirement("P19")
async def test_a_total_may_be_larger_than_any_call_could_be(store: Store) -> None:
    largest = 2**63 - 1
    usage = Usage(
        input=largest,
        output=largest,
        cache_read=largest,
        cache_write=largest,
        total=largest,
        cost_micros=largest,
    )
    rows = [replace(call(number), usage=usage) for number in range(3)]
    for row in rows:
        await store.record_usage(row)
    assert await store.usage(LedgerQuery()) == total(*rows)
    assert (await store.usage(LedgerQuery())).usage.cost_micros == 3 * largest


async def test_a_call_of_a_session_that_is_gone_is_counted(store: Store) -> None:
    await store.record_usage(call(3))
    assert await store.usage(LedgerQuery(key=MAIN)) == total(call(3))
    assert await store.usage(LedgerQuery(tree_of=MAIN)) == total(call(3))


# -- denials -----------------------------------------------------------------------------------------


async def test_denials_are_kept_newest_first(store: Store, reopen: Reopen) -> None:
    denials = [
        Denial(
            at=NOON - number,
            operation="history",
            principal=ALICE,
            rule="tools.sessions.visibility",
            reason=f"denial {number}",
            caller=CHILD if number else None,
            target="agent:ops:main" if number else None,
            hidden=number == 2,
        )
        for number in range(3)
    ]
    for denial in denials[:2]:
        await store.record_denial(denial)
    await opened(store)
    await change(store, RecordDenial(denial=denials[2]))
    store = await reopen()
    assert await store.denials(10) == (denials[2], denials[1], denials[0])
    assert await store.denials(2) == (denials[2], denials[1])


@pytest.mark.requirement("P29")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        (DenialQuery(), [5, 4, 3, 2, 1, 0]),
        (DenialQuery(told=ALICE), [5, 2, 1]),
        (DenialQuery(caller=CHILD), [4, 1]),
        (DenialQuery(at_door=True), [5, 0]),
        (DenialQuery(operation="send"), [4, 3]),
        (DenialQuery(target="r-1"), [4, 2]),
        (DenialQuery(caller=CHILD, operation="send", target="r-1"), [4]),
        (DenialQuery(told=ALICE, at_door=True), [5]),
        (DenialQuery(told=ALICE, operation="send"), []),
    ],
)
async def test_denials_are_found_by_whom_where_and_what_they_are_about(
    store: Store, query: DenialQuery, found: list[int]
) -> None:
    about = (
        (OWNER, None, "inbound", None),
        (ALICE, CHILD, "history", None),
        (ALICE, MAIN, "history", "r-1"),
        (OWNER, MAIN, "send", "r-2"),
        (OWNER, CHILD, "send", "r-1"),
        (ALICE, None, "inbound", None),
    )
    for at, (principal, caller, operation, target) in enumerate(about):
        await store.record_denial(
            Denial(
                at=at,
                operation=operation,
                principal=principal,
                rule="r",
                reason="",
                caller=caller,
                target=target,
            )
        )
    assert [one.at for one in await store.denials(10, query)] == found
    assert [one.at for one in await store.denials(1, query)] == found[:1]


@pytest.mark.requirement("P8", "S17")
async def test_a_hidden_denial_is_not_told_to_whom_it_was_refused(store: Store) -> None:
    told = Denial(at=1, operation="history", principal=ALICE, rule="r", reason="", caller=MAIN)
    hidden = replace(told, at=2, hidden=True)
    for one in (told, hidden):
        await store.record_denial(one)
    assert await store.denials(1, DenialQuery(told=ALICE)) == (told,)
    assert await store.denials(10, DenialQuery(caller=MAIN)) == (hidden, told)


async def test_a_denial_of_a_decision_that_fails_is_not_kept(store: Store) -> None:
    denial = Denial(at=NOON, operation="send", principal=OWNER, rule="a", reason="b")
    with pytest.raises(NotFound):
        await change(store, RecordDenial(denial=denial), Pin(key=MAIN, at=1))
    assert await store.denials(10) == ()


# -- feed --------------------------------------------------------------------------------------------


async def test_events_are_numbered_without_gaps_over_all_verbs(
    store: Store, lease: Lease, reopen: Reopen, clock: FakeClock
) -> None:
    await accepted(store, "m-1", "r-1")
    clock.advance(1)
    (run,) = await store.claim_runs(lease, everything)
    await store.take_inputs(claim_of(run), as_entries)
    await store.append(MAIN, (builders.said("e-1", "a"), builders.said("e-2", "b")), claim=run.claim)
    clock.advance(1)
    await store.finish_run(claim_of(run), lambda snapshot: (builders.done("r-1"),))
    store = await reopen()
    events = await store.events(MAIN, after=0, limit=100)
    expected = [
        (0, EventKind.SESSION_OPENED, f"{MAIN}-1"),
        (0, EventKind.RUN_QUEUED, "r-1"),
        (0, EventKind.INPUT_ACCEPTED, "m-1"),
        (1, EventKind.RUN_STARTED, "r-1"),
        (1, EventKind.INPUT_TAKEN, "m-1"),
        (1, EventKind.ENTRY, "entry-m-1"),
        (1, EventKind.ENTRY, "e-1"),
        (1, EventKind.ENTRY, "e-2"),
        (2, EventKind.RUN_ENDED, "r-1"),
    ]
    assert events == tuple(
        Event(key=MAIN, number=number, at=NOON + at, kind=kind, ref=ref)
        for number, (at, kind, ref) in enumerate(expected, start=1)
    )
    session = await store.session(MAIN)
    assert session is not None
    assert session.events == len(events)


async def test_a_feed_is_read_from_any_number_on(store: Store) -> None:
    await opened(store)
    await store.append(MAIN, tuple(builders.said(f"e-{number}", "x") for number in range(2, 8)))
    assert [event.number for event in await store.events(MAIN, after=2, limit=3)] == [3, 4, 5]
    assert [event.number for event in await store.events(MAIN, after=5, limit=30)] == [6, 7]
    assert await store.events(MAIN, after=7, limit=30) == ()


async def test_every_session_counts_its_own_events(store: Store) -> None:
    for key in (MAIN, OPS):
        await opened(store, key)
    await change(store, Pin(key=MAIN, at=1), Pin(key=OPS, at=1), Pin(key=MAIN, at=2))
    for key, numbers in ((MAIN, [1, 2, 3]), (OPS, [1, 2])):
        events = await store.events(key, after=0, limit=10)
        assert [event.number for event in events] == numbers
        assert {event.key for event in events} == {key}


async def test_what_an_entry_cost_is_recorded_with_it_or_not_at_all(store: Store, lease: Lease) -> None:
    await opened(store)
    await store.append(MAIN, (builders.said("a", "a"),), spent=(call(0), call(1)))
    assert (await store.usage(LedgerQuery(key=MAIN))).calls == 2
    with pytest.raises(NotFound):
        await store.append(OPS, (builders.said("b", "b"),), spent=(call(2),))
    assert (await store.usage(LedgerQuery())).calls == 2
