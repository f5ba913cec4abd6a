"""Retention: what is past its time goes, what is still needed stays, and a dry run tells the truth."""

from dataclasses import replace

import pytest

from roost.core.deliveries import Confirmed, DeliveryState, Rejected, SendResult, Unknown
from roost.core.effects import (
    AcknowledgeCompletion,
    AddDelivery,
    Archive,
    DeleteSession,
    Effect,
    KillInput,
    MergeInput,
    OweCompletion,
    Pin,
    PutExchange,
    QueueRun,
    RecordDenial,
    SettleCompletion,
)
from roost.core.exchanges import Completion, CompletionStatus, Exchange, Phase
from roost.core.inbound import InputMode, Source
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.ledger import Denial
from roost.core.principals import OWNER
from roost.core.queries import LedgerQuery, SearchQuery, SessionQuery
from roost.core.retention import Cutoffs, Swept
from roost.core.search import parse_query
from roost.core.sessions import Facts, SessionKind
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON, FakeClock
from tests.contract.scenes import (
    accepted,
    always,
    as_entries,
    change,
    claim_of,
    everything,
    joined,
    known_inbound,
    opened,
    owed,
    started,
)

CHILD = SessionKey.parse("agent:main:subagent:one")
ACP = SessionKey.parse("agent:main:acp:one")
HOOK = SessionKey.parse("agent:main:hook:one")
BEAT = MAIN.beat
CRON = SessionKey.parse("agent:main:cron:nightly:run:7")
GROUP = SessionKey.parse("agent:main:telegram:group:77")
AFTER = NOON + 1
ALL = Cutoffs(
    synthetic_before=AFTER,
    cron_before=AFTER,
    events_before=AFTER,
    dedupe_before=AFTER,
    records_before=AFTER,
)
RECORDS = Cutoffs(records_before=AFTER)
SESSIONS = Cutoffs(synthetic_before=AFTER)
NONE = Swept()


async def planted(store: Store) -> None:
    for key in (MAIN, CHILD, ACP, HOOK, BEAT, GROUP):
        await opened(store, key)
    await opened(store, row=builders.session(CRON)._replace(facts=Facts(kind=SessionKind.CRON)))
    await change(store, Archive(key=GROUP, at=NOON), key=GROUP)


async def left(store: Store) -> set[SessionKey]:
    return {row.key for row in (await store.list_sessions(SessionQuery(archived=None))).rows}


EVERYONE = {MAIN, CHILD, ACP, HOOK, BEAT, GROUP, CRON}


@pytest.mark.requirement("P22")
@pytest.mark.parametrize(
    ("cutoffs", "gone"),
    [
        (Cutoffs(), set()),
        (Cutoffs(synthetic_before=AFTER), {CHILD, ACP, HOOK, BEAT}),
        (Cutoffs(synthetic_before=NOON), set()),
        (Cutoffs(cron_before=AFTER), {CRON}),
        (Cutoffs(cron_before=NOON), set()),
        (Cutoffs(synthetic_before=AFTER, cron_before=AFTER), {CHILD, ACP, HOOK, BEAT, CRON}),
    ],
)
async def test_each_kind_goes_after_its_own_time(
    store: Store, cutoffs: Cutoffs, gone: set[SessionKey]
) -> None:
    await planted(store)
    dry = await store.sweep(cutoffs, dry_run=True)
    assert await left(store) == EVERYONE
    assert await store.sweep(cutoffs) == dry
    assert dry.sessions == tuple(sorted(gone, key=str))
    assert await left(store) == EVERYONE - gone
    assert await store.sweep(cutoffs) == NONE


@pytest.mark.requirement("P22")
async def test_without_cutoffs_nothing_goes_whatever_its_time(store: Store, clock: FakeClock) -> None:
    clock.advance(-NOON - 5)
    message = builders.inbound("m-1", HOOK, at=-5)
    row = builders.session(HOOK, at=-5)
    dead = KillInput(inbound_id="m-1", reason="full", inbound=message)
    await store.accept_inbound(message, always(builders.opening(row, "s-1"), dead, Archive(key=HOOK, at=-5)))
    assert [event.at for event in await store.events(HOOK, after=0, limit=1)] == [-5]
    exactly = Cutoffs(synthetic_before=-5, cron_before=-5, events_before=-5, dedupe_before=-5)
    for cutoffs in (Cutoffs(), exactly):
        assert await store.sweep(cutoffs, dry_run=True) == await store.sweep(cutoffs) == NONE
    assert (await store.sweep(Cutoffs(synthetic_before=-4))).sessions == (HOOK,)


async def test_a_session_that_was_touched_since_stays(store: Store, clock: FakeClock) -> None:
    await planted(store)
    clock.advance(10)
    await store.append(HOOK, (builders.said("e-1", "again"),))
    assert HOOK not in (await store.sweep(ALL)).sessions


async def finished(store: Store, lease: Lease, key: SessionKey, *effects: Effect) -> None:
    claim = await started(store, lease, f"run of {key}", key)
    await store.finish_run(claim, lambda snapshot: (builders.done(claim.id), *effects))


HELD: tuple[tuple[str, tuple[Effect, ...]], ...] = (
    ("pinned", (Pin(key=HOOK, at=NOON),)),
    ("queued", (QueueRun(run=builders.run("r-1", HOOK)),)),
    ("undelivered", (AddDelivery(delivery=builders.delivery("d-1", HOOK)),)),
    ("owed an answer", (owed(ACP, HOOK),)),
    ("awaited", (owed(HOOK, ACP),)),
)


@pytest.mark.requirement("P22")
@pytest.mark.parametrize("effects", [effects for _, effects in HELD], ids=[name for name, _ in HELD])
async def test_a_session_that_is_still_needed_stays(store: Store, effects: tuple[Effect, ...]) -> None:
    await planted(store)
    await change(store, *effects, key=HOOK)
    dry = await store.sweep(ALL, dry_run=True)
    assert await store.sweep(ALL) == dry
    assert HOOK not in dry.sessions
    assert HOOK in await left(store)


@pytest.mark.requirement("P22")
async def test_a_running_session_stays_until_its_run_has_ended(store: Store, lease: Lease) -> None:
    claim = await started(store, lease, "r-1", HOOK)
    assert (await store.sweep(ALL)).sessions == ()
    await store.finish_run(claim, lambda snapshot: (builders.done("r-1"),))
    assert (await store.sweep(ALL)).sessions == (HOOK,)


@pytest.mark.requirement("P22")
@pytest.mark.parametrize("settled", [DeliveryState.CONFIRMED, DeliveryState.DISMISSED])
@pytest.mark.parametrize("result", [Unknown(error="no answer"), Rejected(error="chat not found")])
async def test_a_session_whose_message_may_not_have_arrived_stays_until_that_is_settled(
    store: Store, lease: Lease, settled: DeliveryState, result: SendResult
) -> None:
    await finished(store, lease, HOOK, AddDelivery(delivery=builders.delivery("d-1", HOOK)))
    (taken,) = await store.claim_deliveries(lease, 1)
    assert (await store.sweep(ALL)).sessions == ()
    assert taken.claim is not None
    lost = await store.settle_delivery(taken.claim, result)
    assert (await store.sweep(SESSIONS)).sessions == ()
    await store.resolve_delivery(lost, settled, NOON)
    assert (await store.sweep(ALL)).sessions == (HOOK,)


@pytest.mark.requirement("P22")
async def test_a_session_whose_message_did_not_arrive_stays_as_long_as_that_is_told(
    store: Store, lease: Lease
) -> None:
    await finished(store, lease, HOOK, AddDelivery(delivery=builders.delivery("d-1", HOOK)))
    (taken,) = await store.claim_deliveries(lease, 1)
    assert taken.claim is not None
    failed = await store.settle_delivery(taken.claim, Rejected(error="chat not found"))
    assert await store.sweep(SESSIONS, dry_run=True) == await store.sweep(SESSIONS) == NONE
    assert await store.deliveries(DeliveryState.FAILED, 9) == (failed,)
    assert (await store.sweep(RECORDS)).records == 2
    assert (await store.sweep(SESSIONS)).sessions == (HOOK,)


@pytest.mark.requirement("P22")
async def test_either_side_of_an_exchange_stays_until_it_is_over(store: Store) -> None:
    await planted(store)
    under_way = Exchange(id="x", requester=HOOK, target=ACP, request="?", created_at=NOON, max_turns=0)
    await change(store, PutExchange(exchange=under_way), key=HOOK)
    assert {HOOK, ACP}.isdisjoint((await store.sweep(ALL)).sessions)
    assert await store.exchange("x") == under_way
    await change(store, PutExchange(exchange=replace(under_way, phase=Phase.DONE)), key=HOOK)
    assert (await store.sweep(ALL)).sessions == (ACP, HOOK)


async def test_a_session_goes_once_its_answer_is_acknowledged(store: Store) -> None:
    await planted(store)
    await change(store, owed(ACP, HOOK), key=HOOK)
    await change(store, SettleCompletion(child_run="c-1", status=CompletionStatus.OK, at=NOON), key=HOOK)
    assert HOOK not in (await store.sweep(ALL)).sessions
    await change(store, AcknowledgeCompletion(child_run="c-1", at=NOON), key=HOOK)
    assert {HOOK, ACP} <= set((await store.sweep(ALL)).sessions)


async def test_what_goes_is_gone_for_every_question_and_the_ledger_stays(store: Store, lease: Lease) -> None:
    await finished(store, lease, HOOK)
    await store.append(HOOK, (builders.said("e-1", "zebra"),))
    assert (await store.sweep(Cutoffs(synthetic_before=AFTER))).sessions == (HOOK,)
    assert await store.session(HOOK) is None
    assert await store.generations(HOOK) == ()
    assert await store.run(f"run of {HOOK}") is None
    assert await store.search(SearchQuery(query=parse_query("zebra"))) == ()
    assert await store.events(HOOK, after=0, limit=10) == ()
    assert (await store.usage(LedgerQuery())).calls == 0


# -- events and dedupe -------------------------------------------------------------------------------


async def test_old_events_go_and_numbers_go_on(store: Store, clock: FakeClock) -> None:
    await opened(store)
    await store.append(MAIN, (builders.said("e-1", "a"), builders.said("e-2", "b")))
    clock.advance(10)
    await store.append(MAIN, (builders.said("e-3", "c"),))
    cutoffs = Cutoffs(events_before=NOON + 10)
    assert await store.sweep(cutoffs, dry_run=True) == replace(NONE, events=3)
    assert len(await store.events(MAIN, after=0, limit=10)) == 4
    assert await store.sweep(cutoffs) == replace(NONE, events=3)
    await store.append(MAIN, (builders.said("e-4", "d"),))
    events = await store.events(MAIN, after=0, limit=10)
    assert [(event.number, event.ref) for event in events] == [(4, "e-3"), (5, "e-4")]
    assert await store.sweep(Cutoffs(events_before=NOON + 11)) == replace(NONE, events=2)
    assert await store.events(MAIN, after=0, limit=10) == ()


async def test_a_feed_loses_its_beginning_only_whatever_the_clock_did(store: Store, clock: FakeClock) -> None:
    await opened(store)
    for number, step in enumerate((10, -20, 15)):
        clock.advance(step)
        await store.append(MAIN, (builders.said(f"e-{number}", "x"),))
    assert [event.at - NOON for event in await store.events(MAIN, after=0, limit=9)] == [0, 10, -10, 5]
    assert await store.sweep(Cutoffs(events_before=NOON + 1)) == replace(NONE, events=1)
    assert [event.number for event in await store.events(MAIN, after=0, limit=9)] == [2, 3, 4]


@pytest.mark.requirement("P22")
async def test_much_is_swept_at_once_and_reported_whole(store: Store) -> None:
    hooks = [SessionKey.parse(f"agent:main:hook:h{number:03}") for number in range(120)]
    for key in hooks:
        message = builders.inbound(f"m of {key}", key)
        dead = KillInput(inbound_id=message.id, reason="full", inbound=message)
        await store.accept_inbound(
            message, always(builders.opening(builders.session(key), f"s of {key}"), dead)
        )
    dry = await store.sweep(ALL, dry_run=True)
    assert dry == Swept(sessions=tuple(hooks), events=240, inbound=120)
    assert await store.sweep(ALL) == dry
    assert await left(store) == set()
    assert await store.sweep(ALL) == NONE


async def test_what_a_waiting_message_absorbed_is_remembered_with_it(store: Store) -> None:
    await accepted(store, "m-1", "r-1")
    await joined(store, "m-2", "r-1", InputMode.OPEN)
    await change(store, MergeInput(inbound_id="m-1", into="m-2", reason="full"))
    assert await store.sweep(Cutoffs(dedupe_before=AFTER)) == NONE
    await known_inbound(store, "m-1")
    await change(store, KillInput(inbound_id="m-2", reason="cleared"), builders.done("r-1"))
    assert await store.sweep(Cutoffs(dedupe_before=AFTER)) == replace(NONE, inbound=2)


@pytest.mark.requirement("P14", "P22")
async def test_messages_are_remembered_for_their_time_and_while_they_wait(store: Store, lease: Lease) -> None:
    source = Source(channel="telegram", external_id="7")
    first = builders.inbound("m-1", source=source)
    await store.accept_inbound(first, builders.accept(first, "r-1", "s-1"))
    (run,) = await store.claim_runs(lease, everything)
    await store.take_inputs(claim_of(run), as_entries)
    await joined(store, "m-2", "r-1", InputMode.STEER)
    assert await store.sweep(Cutoffs(dedupe_before=NOON)) == NONE
    dry = await store.sweep(Cutoffs(dedupe_before=AFTER), dry_run=True)
    assert dry == replace(NONE, inbound=1)
    await known_inbound(store, "m-1")
    assert await store.sweep(Cutoffs(dedupe_before=AFTER)) == dry
    assert await store.inbound("m-1") is None
    await known_inbound(store, "m-2")
    again = builders.inbound("m-3", source=source, at=NOON + 86_400_000)
    answer = await store.accept_inbound(again, builders.accept(again, "r-3", "unused"))
    assert not answer.duplicate


async def test_what_a_deleted_session_left_is_forgotten_in_its_time(store: Store) -> None:
    await accepted(store, "m-1", "r-1", HOOK)
    ended = (KillInput(inbound_id="m-1", reason="cleared"), builders.done("r-1"))
    await change(store, *ended, DeleteSession(key=HOOK), key=HOOK)
    assert await store.sweep(Cutoffs(dedupe_before=AFTER)) == replace(NONE, inbound=1)
    assert await store.inbound("m-1") is None


# -- settled records ---------------------------------------------------------------------------------


def denied(at: int = NOON, caller: SessionKey | None = MAIN) -> RecordDenial:
    denial = Denial(at=at, operation="send", principal=OWNER, rule="r", reason="why", caller=caller)
    return RecordDenial(denial=denial)


def exchange(name: str, phase: Phase = Phase.DONE) -> PutExchange:
    return PutExchange(
        exchange=Exchange(
            id=name, requester=MAIN, target=GROUP, request="x", created_at=NOON, max_turns=0, phase=phase
        )
    )


def spawned(child_run: str, batch: str) -> OweCompletion:
    completion = Completion(child_run=child_run, child=HOOK, requester=MAIN, batch=batch, created_at=NOON)
    return OweCompletion(completion=completion)


async def recorded(store: Store, lease: Lease) -> None:
    """A living session with one record of each sort that is settled, and one that is not or not long ago."""
    for key in (MAIN, GROUP):
        await opened(store, key)
    await change(store, *(AddDelivery(delivery=builders.delivery(name)) for name in ("d-1", "d-2")))
    (taken,) = await store.claim_deliveries(lease, 1)
    assert taken.claim is not None
    await store.settle_delivery(taken.claim, Confirmed())
    await change(store, exchange("x-1"), exchange("x-2", Phase.LOOP), denied(), denied(AFTER))
    await change(store, *(spawned(*names) for names in (("c-1", "a"), ("c-2", "b"), ("c-3", "b"))))
    await change(store, *(heard(child_run) for child_run in ("c-1", "c-2")))


def heard(child_run: str) -> AcknowledgeCompletion:
    return AcknowledgeCompletion(child_run=child_run, at=NOON)


@pytest.mark.requirement("P21", "P22")
async def test_runs_that_are_long_over_go_unless_a_child_is_told_of_with_them(store: Store) -> None:
    await opened(store)
    names = ("r-old", "r-late", "r-child", "r-batch", "r-queued")
    await change(store, *(QueueRun(run=builders.run(name)) for name in names))
    ended = [builders.done(name) for name in names if name not in ("r-late", "r-queued")]
    await change(store, *ended, builders.done("r-late", at=AFTER))
    await change(store, spawned("r-child", "r-batch"))
    assert await store.sweep(Cutoffs(records_before=NOON)) == NONE
    dry = await store.sweep(RECORDS, dry_run=True)
    assert dry == replace(NONE, records=1)
    assert await store.sweep(RECORDS) == dry
    left = [name for name in names if await store.run(name) is not None]
    assert left == ["r-late", "r-child", "r-batch", "r-queued"]
    await change(store, heard("r-child"))
    for records in (1, 2):
        assert await store.sweep(RECORDS) == replace(NONE, records=records)
    assert [name for name in names if await store.run(name) is not None] == ["r-late", "r-queued"]


@pytest.mark.requirement("P22")
async def test_settled_records_of_a_living_session_go_in_their_time(store: Store, lease: Lease) -> None:
    await recorded(store, lease)
    assert await store.sweep(Cutoffs(records_before=NOON)) == NONE
    dry = await store.sweep(RECORDS, dry_run=True)
    assert dry == replace(NONE, records=4)
    assert await store.delivery("d-1") is not None
    assert await store.sweep(RECORDS) == dry
    assert await store.sweep(RECORDS) == NONE
    assert [await store.delivery(name) is None for name in ("d-1", "d-2")] == [True, False]
    assert [await store.exchange(name) is None for name in ("x-1", "x-2")] == [True, False]
    assert [one.at for one in await store.denials(10)] == [AFTER]
    await change(store, denied(AFTER + 1))
    assert [one.at for one in await store.denials(10)] == [AFTER + 1, AFTER]
    assert {one.child_run for one in await store.completions(MAIN)} == {"c-3"}
    await change(store, heard("c-3"))
    assert await store.sweep(RECORDS) == replace(NONE, records=2)


@pytest.mark.requirement("P22")
async def test_records_of_a_pinned_session_stay(store: Store, lease: Lease) -> None:
    await recorded(store, lease)
    await change(store, Pin(key=MAIN, at=NOON))
    assert await store.sweep(RECORDS) == NONE
    assert (await store.sweep(RECORDS, dry_run=True)).records == 0


async def test_many_settled_records_go_in_one_sweep(store: Store) -> None:
    await change(store, *(denied(caller=None) for _ in range(120)), key=MAIN)
    assert (await store.sweep(RECORDS)).records == 120
    assert await store.denials(10) == ()
