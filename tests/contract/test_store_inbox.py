"""Messages on their way in: accepted once, kept until a run takes them, never left without an end."""

from dataclasses import replace

import anyio
import pytest

from roost.core.effects import (
    AcceptInput,
    DeleteSession,
    Effects,
    KillInput,
    MergeInput,
    MoveInput,
    QueueRun,
    Snapshot,
)
from roost.core.entries import EntryDraft
from roost.core.errors import Conflict, InvalidInput, NotFound
from roost.core.events import EventKind
from roost.core.inbound import Inbound, InboundRecord, InboundState, InputMode, Source
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.messages import Image, Provenance, ProvenanceKind, Text
from roost.core.principals import OWNER, person
from roost.core.sessions import SessionStatus
from roost.ports import Accepted, Store
from roost.testing import builders
from roost.testing.builders import CHAT, MAIN
from roost.testing.clock import NOON
from tests.contract.conftest import Reopen
from tests.contract.scenes import (
    MindChangedError,
    accepted,
    always,
    as_entries,
    change,
    claim_of,
    everything,
    joined,
    known,
    known_inbound,
    known_run,
    opened,
    started,
)

SIDE = SessionKey.named("main", "side")
ALICE = person("telegram", "1")
BY_CHANNEL = Source(channel="telegram", account="work", external_id="chat/7")
BY_CLIENT = Source(channel="web", idempotency_key="again")


def unasked(snapshot: Snapshot) -> Effects:
    raise MindChangedError("decide was called")


async def accept(store: Store, message: Inbound) -> Accepted:
    return await store.accept_inbound(
        message, builders.accept(message, f"run-{message.id}", f"{message.key}-1")
    )


# -- acceptance --------------------------------------------------------------------------------------


@pytest.mark.requirement("P3")
async def test_a_message_is_committed_with_all_that_follows_from_it(store: Store, reopen: Reopen) -> None:
    message = Inbound(
        id="m-1",
        key=MAIN,
        principal=ALICE,
        provenance=Provenance(kind=ProvenanceKind.HUMAN, principal=ALICE, source_channel="telegram"),
        content=(Text("look"), Image(mime="image/png", data="aGk=")),
        source=BY_CHANNEL,
        received_at=NOON,
        trace="t-1",
        sender_name="Alice",
        reply_to=CHAT,
        deadline=NOON + 5,
        exchange_id="x-1",
        hops=(SIDE, MAIN),
    )
    answer = await accept(store, message)
    expected = InboundRecord(
        inbound=message, state=InboundState.PENDING, mode=InputMode.OPEN, run_id="run-m-1"
    )
    assert answer == Accepted(record=expected, duplicate=False)
    store = await reopen()
    assert await store.inbound("m-1") == expected
    assert (await known_run(store, "run-m-1")).key == MAIN
    assert (await known(store)).status is SessionStatus.QUEUED
    kinds = [event.kind for event in await store.events(MAIN, after=0, limit=10)]
    assert kinds == [EventKind.SESSION_OPENED, EventKind.RUN_QUEUED, EventKind.INPUT_ACCEPTED]


async def test_a_message_that_never_came_is_not_there(store: Store) -> None:
    assert await store.inbound("m-1") is None
    assert await store.inbound_by_key(OWNER, MAIN, "again") is None


@pytest.mark.requirement("P14")
@pytest.mark.parametrize("source", [BY_CHANNEL, BY_CLIENT], ids=["external id", "idempotency key"])
async def test_a_message_that_comes_again_is_answered_with_the_first_acceptance(
    store: Store, reopen: Reopen, source: Source
) -> None:
    first = await accept(store, builders.inbound("m-1", source=source, text="first"))
    before = await known(store)
    again = builders.inbound("m-2", source=source, text="second", at=NOON + 7 * 86_400_000)
    for _ in range(2):
        assert await store.accept_inbound(again, unasked) == replace(first, duplicate=True)
        store = await reopen()
    assert await known(store) == before
    assert await store.inbound("m-2") is None


@pytest.mark.requirement("P14")
@pytest.mark.parametrize(
    "other",
    [
        builders.inbound("m-2", source=replace(BY_CHANNEL, channel="discord")),
        builders.inbound("m-2", source=replace(BY_CHANNEL, account="home")),
        builders.inbound("m-2", source=replace(BY_CHANNEL, external_id="chat/8")),
        builders.inbound("m-2", source=replace(BY_CHANNEL, external_id=None)),
        builders.inbound("m-2", source=replace(BY_CLIENT, idempotency_key="another")),
        builders.inbound("m-2", SIDE, source=BY_CLIENT),
        replace(builders.inbound("m-2", source=BY_CLIENT), principal=ALICE),
    ],
    ids=["channel", "account", "external id", "no id", "key", "session", "principal"],
)
async def test_another_message_is_not_taken_for_it(store: Store, other: Inbound) -> None:
    both = Source(channel="telegram", account="work", external_id="chat/7", idempotency_key="again")
    await accept(store, builders.inbound("m-1", source=both))
    answer = await accept(store, other)
    assert (answer.duplicate, answer.record.inbound) == (False, other)


async def test_an_external_id_is_known_whatever_session_it_went_to(store: Store) -> None:
    first = await accept(store, builders.inbound("m-1", source=BY_CHANNEL))
    again = await store.accept_inbound(builders.inbound("m-2", SIDE, source=BY_CHANNEL), unasked)
    assert again == replace(first, duplicate=True)


@pytest.mark.requirement("P14")
async def test_of_redeliveries_that_meet_one_is_accepted(store: Store) -> None:
    answers: list[Accepted] = []

    async def deliver(number: int) -> None:
        answers.append(await accept(store, builders.inbound(f"m-{number}", source=BY_CHANNEL)))

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(deliver, number)
    assert sorted(answer.duplicate for answer in answers) == [False] + [True] * 19
    assert len({answer.record.inbound.id for answer in answers}) == 1
    assert len((await store.change_session(MAIN, always())).queued) == 1


@pytest.mark.requirement("P14", "D37")
async def test_a_deleted_session_leaves_the_identity_of_its_messages_and_none_of_their_words(
    store: Store, reopen: Reopen
) -> None:
    both = replace(BY_CHANNEL, idempotency_key="again")
    message = replace(builders.inbound("m-1", source=both, text="secret"), sender_name="Alice")
    await accept(store, message)
    await change(store, DeleteSession(key=MAIN))
    store = await reopen()
    left = await known_inbound(store, "m-1")
    assert left.inbound == replace(message, content=(), sender_name=None)
    assert await store.inbound_by_key(OWNER, MAIN, "again") == left
    for source in (BY_CHANNEL, replace(BY_CLIENT, channel="cli")):
        again = builders.inbound("m-2", source=source)
        assert await store.accept_inbound(again, unasked) == Accepted(record=left, duplicate=True)
    assert await store.session(MAIN) is None


@pytest.mark.requirement("P3")
async def test_what_waited_in_a_deleted_session_is_dead_and_does_not_wait_in_the_next(store: Store) -> None:
    await accepted(store, "m-1", "r-1", text="secret")
    await joined(store, "m-2", "r-1", InputMode.OPEN)
    await change(store, MergeInput(inbound_id="m-1", into="m-2", reason="dropped: secret"))
    await change(store, DeleteSession(key=MAIN))
    merged, dead = await known_inbound(store, "m-1"), await known_inbound(store, "m-2")
    assert (merged.state, merged.merged_into, merged.reason) == (InboundState.MERGED, "m-2", None)
    assert (dead.state, dead.reason) == (InboundState.DEAD, "session deleted")
    await opened(store)
    assert (await store.change_session(MAIN, always())).pending == ()


async def test_a_message_is_found_by_the_key_its_sender_gave_it(store: Store) -> None:
    answer = await accept(store, builders.inbound("m-1", source=BY_CLIENT))
    assert await store.inbound_by_key(OWNER, MAIN, "again") == answer.record
    assert await store.inbound_by_key(ALICE, MAIN, "again") is None
    assert await store.inbound_by_key(OWNER, SIDE, "again") is None


@pytest.mark.requirement("P3")
async def test_a_decision_that_neither_keeps_nor_refuses_the_message_is_refused(store: Store) -> None:
    message, other = builders.inbound("m-1"), builders.inbound("m-2")
    opening = builders.opening(builders.session(), "s-1")
    astray = AcceptInput(inbound=other, run_id="r-1", mode=InputMode.OPEN)
    for effects in ((), (opening,), (opening, QueueRun(run=builders.run("r-1")), astray)):
        with pytest.raises(InvalidInput):
            await store.accept_inbound(message, always(*effects))
    assert await store.session(MAIN) is None
    assert await store.inbound("m-2") is None
    assert not (await accept(store, message)).duplicate


@pytest.mark.requirement("P3")
async def test_a_message_can_be_dead_on_arrival_and_is_known_from_then_on(store: Store) -> None:
    await opened(store)
    message = builders.inbound("m-1", source=BY_CHANNEL)
    dead = KillInput(inbound_id="m-1", reason="queue full", inbound=message)
    answer = await store.accept_inbound(message, always(dead))
    assert answer.record == InboundRecord(inbound=message, state=InboundState.DEAD, reason="queue full")
    again = await store.accept_inbound(builders.inbound("m-2", source=BY_CHANNEL), unasked)
    assert again == replace(answer, duplicate=True)
    assert (await store.change_session(MAIN, always())).pending == ()
    assert (await store.events(MAIN, after=1, limit=10))[0].kind is EventKind.INPUT_DEAD


async def test_a_message_id_is_given_once(store: Store) -> None:
    await accept(store, builders.inbound("m-1"))
    with pytest.raises(Conflict):
        await accept(store, builders.inbound("m-1", text="other"))


@pytest.mark.parametrize("source", [BY_CHANNEL, BY_CLIENT], ids=["external id", "idempotency key"])
async def test_no_decision_can_accept_under_an_identity_that_is_taken(store: Store, source: Source) -> None:
    await accept(store, builders.inbound("m-1", source=source))
    twin = builders.inbound("m-2", source=source)
    with pytest.raises(Conflict):
        await change(store, AcceptInput(inbound=twin, run_id="run-m-1", mode=InputMode.OPEN))
    assert await store.inbound("m-2") is None


# -- from pending to its end -------------------------------------------------------------------------


@pytest.mark.requirement("P3")
async def test_a_run_takes_its_inputs_in_order_of_arrival(store: Store, lease: Lease) -> None:
    await accepted(store, "m-1", "r-1", text="one")
    await joined(store, "m-2", "r-1", InputMode.OPEN, text="two")
    await accepted(store, "m-3", "r-2", text="of another run")
    (run,) = await store.claim_runs(lease, everything)
    await joined(store, "m-4", "r-1", InputMode.STEER, text="three")
    before = await known(store)

    entries = await store.take_inputs(claim_of(run), as_entries)
    assert [entry.id for entry in entries] == ["entry-m-1", "entry-m-2", "entry-m-4"]
    assert await store.entries(before.session_id) == entries
    for name in ("m-1", "m-2", "m-4"):
        assert (await known_inbound(store, name)).state is InboundState.TAKEN
    assert (await known_inbound(store, "m-3")).state is InboundState.PENDING
    events = await store.events(MAIN, after=before.events, limit=10)
    assert sorted((event.kind, event.ref) for event in events) == sorted(
        [(EventKind.INPUT_TAKEN, name) for name in ("m-1", "m-2", "m-4")]
        + [(EventKind.ENTRY, f"entry-{name}") for name in ("m-1", "m-2", "m-4")]
    )
    assert await store.take_inputs(claim_of(run), as_entries) == ()


async def test_without_inputs_nothing_is_taken_and_nothing_written(store: Store, lease: Lease) -> None:
    claim = await started(store, lease, "r-1")
    before = await known(store)

    def unused(records: tuple[InboundRecord, ...]) -> tuple[EntryDraft, ...]:
        raise MindChangedError("render was called")

    assert await store.take_inputs(claim, unused) == ()
    assert await known(store) == before


async def test_a_message_that_came_after_the_opening_is_taken_at_the_next_boundary(
    store: Store, lease: Lease
) -> None:
    await accepted(store, "m-1", "r-1")
    (run,) = await store.claim_runs(lease, everything)
    await store.take_inputs(claim_of(run), as_entries)
    await joined(store, "m-2", "r-1", InputMode.STEER)
    entries = await store.take_inputs(claim_of(run), as_entries)
    assert [(entry.seq, entry.id) for entry in entries] == [(2, "entry-m-2")]


async def test_inputs_that_could_not_be_written_stay_pending(store: Store, lease: Lease) -> None:
    await accepted(store, "m-1", "r-1")
    (run,) = await store.claim_runs(lease, everything)
    before = await known(store)

    def fails(records: tuple[InboundRecord, ...]) -> tuple[EntryDraft, ...]:
        raise MindChangedError("no")

    with pytest.raises(MindChangedError):
        await store.take_inputs(claim_of(run), fails)
    assert await known(store) == before
    assert (await known_inbound(store, "m-1")).state is InboundState.PENDING
    assert len(await store.take_inputs(claim_of(run), as_entries)) == 1


async def test_a_pending_input_can_move_to_another_run(store: Store, lease: Lease) -> None:
    await accepted(store, "m-1", "r-1")
    await change(store, QueueRun(run=builders.run("r-2")))
    await change(store, MoveInput(inbound_id="m-1", run_id="r-2", mode=InputMode.STEER))
    record = await known_inbound(store, "m-1")
    assert (record.run_id, record.mode, record.state) == ("r-2", InputMode.STEER, InboundState.PENDING)
    await change(store, builders.done("r-1"))
    (run,) = await store.claim_runs(lease, everything)
    assert [entry.id for entry in await store.take_inputs(claim_of(run), as_entries)] == ["entry-m-1"]


@pytest.mark.requirement("P3")
async def test_a_pending_input_can_end_inside_another_or_die(store: Store) -> None:
    await accepted(store, "m-1", "r-1")
    await joined(store, "m-2", "r-1", InputMode.OPEN)
    await joined(store, "m-3", "r-1", InputMode.OPEN)
    before = await known(store)
    await change(
        store,
        MergeInput(inbound_id="m-1", into="m-3", reason="dropped: hello"),
        KillInput(inbound_id="m-2", reason="queue full"),
    )
    merged, dead = await known_inbound(store, "m-1"), await known_inbound(store, "m-2")
    assert (merged.state, merged.merged_into, merged.reason) == (
        InboundState.MERGED,
        "m-3",
        "dropped: hello",
    )
    assert (dead.state, dead.reason) == (InboundState.DEAD, "queue full")
    pending = (await store.change_session(MAIN, always())).pending
    assert [record.inbound.id for record in pending] == ["m-3"]
    events = await store.events(MAIN, after=before.events, limit=10)
    assert [(event.kind, event.ref) for event in events] == [
        (EventKind.INPUT_MERGED, "m-1"),
        (EventKind.INPUT_DEAD, "m-2"),
    ]


ENDS = (
    MoveInput(inbound_id="m-1", run_id="r-1", mode=InputMode.STEER),
    MergeInput(inbound_id="m-1", into="m-2", reason="late"),
    KillInput(inbound_id="m-1", reason="late"),
)


@pytest.mark.requirement("P3")
@pytest.mark.parametrize("second", ENDS, ids=lambda effect: type(effect).__name__)
async def test_a_message_in_a_transcript_gets_no_second_end(
    store: Store, lease: Lease, second: MoveInput | MergeInput | KillInput
) -> None:
    await accepted(store, "m-1", "r-1")
    (run,) = await store.claim_runs(lease, everything)
    await store.take_inputs(claim_of(run), as_entries)
    taken = await known_inbound(store, "m-1")
    with pytest.raises(Conflict):
        await change(store, second)
    assert await store.inbound("m-1") == taken


@pytest.mark.parametrize("effect", ENDS, ids=lambda effect: type(effect).__name__)
async def test_a_message_that_never_came_has_no_end(
    store: Store, effect: MoveInput | MergeInput | KillInput
) -> None:
    await opened(store)
    with pytest.raises(NotFound):
        await change(store, effect)


@pytest.mark.requirement("P3")
@pytest.mark.parametrize("run_id", ["nowhere", "r-ended", "r-side"])
async def test_no_message_waits_for_a_run_that_will_not_take_it(store: Store, run_id: str) -> None:
    await accepted(store, "m-1", "r-1")
    await opened(store, SIDE)
    await change(store, QueueRun(run=builders.run("r-side", SIDE)))
    await change(store, QueueRun(run=builders.run("r-ended")), builders.done("r-ended"))
    before = await known(store)
    message = builders.inbound("m-2")
    with pytest.raises(InvalidInput):
        await store.accept_inbound(
            message, always(AcceptInput(inbound=message, run_id=run_id, mode=InputMode.OPEN))
        )
    with pytest.raises(InvalidInput):
        await change(store, MoveInput(inbound_id="m-1", run_id=run_id, mode=InputMode.OPEN))
    with pytest.raises(InvalidInput):
        await change(
            store,
            AcceptInput(inbound=message, run_id="r-2", mode=InputMode.OPEN),
            QueueRun(run=builders.run("r-2")),
            builders.done("r-2"),
        )
    assert await known(store) == before
    assert await store.inbound("m-2") is None
    assert (await known_inbound(store, "m-1")).run_id == "r-1"
