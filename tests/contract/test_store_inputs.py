"""Pending inputs: taken by their run in order of arrival, or moved, merged or dead, and one of these once."""

from dataclasses import replace

import pytest

from roost.core.effects import (
    AcceptInput,
    AppendEntries,
    KeepInput,
    KillInput,
    MergeInput,
    MoveInput,
    QueueRun,
)
from roost.core.entries import EntryDraft
from roost.core.errors import Conflict, InvalidInput, NotFound
from roost.core.events import EventKind
from roost.core.inbound import InboundRecord, InboundState, InputMode
from roost.core.inputs import acting
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.parking import Waits
from roost.core.principals import OWNER, Principal, PrincipalKind, person
from roost.core.runs import Parked
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON
from tests.contract.scenes import (
    MindChangedError,
    Seen,
    accepted,
    always,
    as_entries,
    change,
    claim_of,
    everything,
    joined,
    known,
    known_inbound,
    opened,
    started,
)
from tests.snapshots import snapshot

JOINT = Principal(PrincipalKind.AGENT, "main")
SIDE = SessionKey.named("main", "side")


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


@pytest.mark.requirement("P3")
async def test_what_was_merged_into_an_input_is_shown_before_it(store: Store, lease: Lease) -> None:
    await accepted(store, "m-1", "r-1")
    for number in range(2, 6):
        await joined(store, f"m-{number}", "r-1", InputMode.OPEN)
    await accepted(store, "m-6", "r-2")
    await joined(store, "m-7", "r-2", InputMode.OPEN)
    merges = (("m-1", "m-2"), ("m-2", "m-4"), ("m-3", "m-5"), ("m-6", "m-7"))
    await change(store, *(MergeInput(inbound_id=one, into=into, reason="full") for one, into in merges))
    (run,) = await store.claim_runs(lease, everything)
    shown: Seen[tuple[InboundRecord, ...], tuple[EntryDraft, ...]] = Seen((builders.said("e-1", "all"),))
    assert [entry.id for entry in await store.take_inputs(claim_of(run), shown)] == ["e-1"]
    assert [record.inbound.id for record in shown.last] == ["m-1", "m-2", "m-3", "m-4", "m-5"]
    assert [record.state for record in shown.last] == [InboundState.MERGED] * 3 + [InboundState.PENDING] * 2
    assert (await known_inbound(store, "m-1")).state is InboundState.MERGED


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


@pytest.mark.requirement("P8")
async def test_a_run_acts_for_none_of_those_whose_words_it_took_once_they_are_several(
    store: Store, lease: Lease
) -> None:
    await accepted(store, "m-1", "r-1")
    (run,) = await store.claim_runs(lease, everything)

    async def acts_for() -> tuple[Principal, Principal]:
        """By what the run's row says, and as it was claimed."""
        kept = await store.run(run.id)
        assert kept is not None
        return kept.cause.principal, acting(
            run, await store.entries((await known(store)).session_id)
        ).cause.principal

    await store.take_inputs(claim_of(run), as_entries)
    assert await acts_for() == (OWNER, OWNER)
    for name, speaker in (("m-2", person("loopback", "bob")), ("m-3", OWNER)):
        said = replace(builders.HUMAN, principal=speaker)
        message = replace(builders.inbound(name), principal=speaker, provenance=said)
        steer = AcceptInput(inbound=message, run_id="r-1", mode=InputMode.STEER)
        await store.accept_inbound(message, always(steer))
        await store.take_inputs(claim_of(run), as_entries)
        assert await acts_for() == (JOINT, JOINT)


@pytest.mark.requirement("P8", "P20")
async def test_a_run_of_several_people_that_stands_aside_keeps_none_of_them_waiting(
    store: Store, lease: Lease
) -> None:
    await accepted(store, "m-1", "r-1")
    (run,) = await store.claim_runs(lease, everything)
    bob = person("loopback", "bob")
    said = replace(builders.HUMAN, principal=bob)
    message = replace(builders.inbound("m-2"), principal=bob, provenance=said)
    await store.accept_inbound(
        message, always(AcceptInput(inbound=message, run_id="r-1", mode=InputMode.STEER))
    )
    await store.take_inputs(claim_of(run), as_entries)
    own = Parked(at=NOON, setting="budgets", reason="used up", personal=True)
    await store.reserve(claim_of(run), (), lambda run, found: Waits(ready_at=NOON + 1_000, parked=own))
    await accepted(store, "m-3", "r-2")
    (following,) = await store.claim_runs(lease, everything)
    assert following.id == "r-2"


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
    pending = (await snapshot(store)).pending
    assert [record.inbound.id for record in pending] == ["m-3"]
    events = await store.events(MAIN, after=before.events, limit=10)
    assert [(event.kind, event.ref) for event in events] == [
        (EventKind.INPUT_MERGED, "m-1"),
        (EventKind.INPUT_DEAD, "m-2"),
    ]


@pytest.mark.requirement("P1")
async def test_a_pending_input_that_nobody_reads_can_become_an_entry(store: Store) -> None:
    await accepted(store, "m-1", "r-1")
    before = await known(store)
    kept = builders.said("m-1", "a report")
    await change(store, KeepInput(inbound_id="m-1"), AppendEntries(key=MAIN, drafts=(kept,)))
    assert (await known_inbound(store, "m-1")).state is InboundState.TAKEN
    assert (await snapshot(store)).pending == ()
    events = await store.events(MAIN, after=before.events, limit=10)
    assert [(event.kind, event.ref) for event in events] == [
        (EventKind.INPUT_TAKEN, "m-1"),
        (EventKind.ENTRY, "m-1"),
    ]


ENDS = (
    MoveInput(inbound_id="m-1", run_id="r-1", mode=InputMode.STEER),
    MergeInput(inbound_id="m-1", into="m-2", reason="late"),
    KillInput(inbound_id="m-1", reason="late"),
    KeepInput(inbound_id="m-1"),
)


@pytest.mark.requirement("P3")
@pytest.mark.parametrize("second", ENDS, ids=lambda effect: type(effect).__name__)
async def test_a_message_in_a_transcript_gets_no_second_end(
    store: Store, lease: Lease, second: MoveInput | MergeInput | KillInput | KeepInput
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
    store: Store, effect: MoveInput | MergeInput | KillInput | KeepInput
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


@pytest.mark.requirement("P3")
async def test_a_rendering_that_keeps_no_word_is_refused(store: Store, lease: Lease) -> None:
    await accepted(store, "m-1", "r-1")
    (run,) = await store.claim_runs(lease, everything)
    with pytest.raises(InvalidInput):
        await store.take_inputs(claim_of(run), lambda records: ())
    assert (await known_inbound(store, "m-1")).state is InboundState.PENDING


@pytest.mark.requirement("P3")
async def test_a_message_ends_only_inside_one_that_is_there(store: Store) -> None:
    await accepted(store, "m-1", "r-1")
    merge = MergeInput(inbound_id="m-1", into="m-2", reason="full")
    with pytest.raises(InvalidInput):
        await change(store, merge)
    assert (await known_inbound(store, "m-1")).state is InboundState.PENDING
    message = builders.inbound("m-2")
    await store.accept_inbound(
        message, always(merge, AcceptInput(inbound=message, run_id="r-1", mode=InputMode.OPEN))
    )
    assert (await known_inbound(store, "m-1")).merged_into == "m-2"


@pytest.mark.parametrize(
    "effect",
    [
        AcceptInput(inbound=builders.inbound("m-2"), run_id="r-1", mode=InputMode.WAIT),
        AcceptInput(inbound=builders.inbound("m-2"), run_id=None, mode=InputMode.OPEN),
        MoveInput(inbound_id="m-1", run_id="r-1", mode=InputMode.WAIT),
    ],
)
async def test_an_input_has_a_run_or_waits_for_whichever_comes_and_never_both(
    store: Store, effect: AcceptInput | MoveInput
) -> None:
    await accepted(store, "m-1", "r-1")
    before = await known_inbound(store, "m-1")
    with pytest.raises(InvalidInput, match="cannot wait for run"):
        await change(store, effect)
    assert await store.inbound("m-2") is None
    assert await known_inbound(store, "m-1") == before


@pytest.mark.requirement("P3")
async def test_what_was_merged_into_an_input_is_seen_with_it_and_dies_before_it(store: Store) -> None:
    await accepted(store, "m-1", "r-1")
    await joined(store, "m-2", "r-1", InputMode.OPEN)
    await joined(store, "m-3", "r-1", InputMode.OPEN)
    merges = (("m-1", "m-2"), ("m-2", "m-3"))
    await change(store, *(MergeInput(inbound_id=one, into=into, reason="full") for one, into in merges))
    seen = await snapshot(store)
    assert [record.inbound.id for record in seen.merged] == ["m-1", "m-2"]
    kills = [KillInput(inbound_id=f"m-{number}", reason="stopped") for number in (1, 2, 3)]
    with pytest.raises(Conflict):
        await change(store, *reversed(kills))
    await change(store, *kills)
    records = [await known_inbound(store, f"m-{number}") for number in (1, 2, 3)]
    assert [(one.state, one.reason) for one in records] == [(InboundState.DEAD, "stopped")] * 3


@pytest.mark.requirement("P3")
async def test_what_was_merged_into_an_input_that_was_read_cannot_die(store: Store, lease: Lease) -> None:
    await accepted(store, "m-1", "r-1")
    await joined(store, "m-2", "r-1", InputMode.OPEN)
    await change(store, MergeInput(inbound_id="m-1", into="m-2", reason="full"))
    (run,) = await store.claim_runs(lease, everything)
    await store.take_inputs(claim_of(run), as_entries)
    with pytest.raises(Conflict):
        await change(store, KillInput(inbound_id="m-1", reason="stopped"))
