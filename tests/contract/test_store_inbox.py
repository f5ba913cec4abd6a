"""Messages on their way in: accepted once, kept until a run takes them, never left without an end."""

from dataclasses import replace

import anyio
import pytest

from roost.core.addresses import ChatType
from roost.core.effects import AcceptInput, DeleteSession, Effects, KillInput, MergeInput, QueueRun
from roost.core.errors import Conflict, InvalidInput, KeyTaken
from roost.core.events import EventKind
from roost.core.inbound import Inbound, InboundRecord, InboundState, InputMode, Source
from roost.core.keys import SessionKey
from roost.core.messages import Image, Provenance, ProvenanceKind, Text
from roost.core.principals import OWNER, person
from roost.core.sessions import Facts, SessionKind, SessionStatus
from roost.core.snapshots import Snapshot
from roost.ports import Accepted, Store
from roost.testing import builders
from roost.testing.builders import CHAT, MAIN
from roost.testing.clock import NOON
from tests.contract.homes import Reopen
from tests.contract.scenes import (
    MindChangedError,
    accepted,
    always,
    change,
    joined,
    known,
    known_inbound,
    known_run,
    opened,
)
from tests.snapshots import snapshot

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
    assert await store.pending_inputs(MAIN) == (expected,)
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


@pytest.mark.requirement("P3")
async def test_the_key_of_one_message_is_not_that_of_another(store: Store, reopen: Reopen) -> None:
    first = await accept(store, builders.inbound("m-1", source=replace(BY_CLIENT, digest="one")))
    before = await known(store)
    store = await reopen()
    with pytest.raises(KeyTaken, match="used before"):
        await store.accept_inbound(builders.inbound("m-2", source=replace(BY_CLIENT, digest="two")), unasked)
    assert await known(store) == before
    for digest in ("one", None):
        again = builders.inbound("m-2", source=replace(BY_CLIENT, digest=digest))
        assert await store.accept_inbound(again, unasked) == replace(first, duplicate=True)


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
    assert len((await snapshot(store)).queued) == 1


@pytest.mark.requirement("P14", "D37")
async def test_a_deleted_session_leaves_the_identity_of_its_messages_and_none_of_their_words(
    store: Store, reopen: Reopen
) -> None:
    both = replace(BY_CHANNEL, idempotency_key="again")
    message = replace(builders.inbound("m-1", source=both, text="secret"), sender_name="Alice")
    await accept(store, message)
    await change(store, KillInput(inbound_id="m-1", reason="cleared"), builders.done("run-m-1"))
    await change(store, DeleteSession(key=MAIN))
    store = await reopen()
    left = await known_inbound(store, "m-1")
    assert left.inbound == replace(message, content=(), sender_name=None)
    assert (left.state, left.reason) == (InboundState.DEAD, "cleared")
    assert await store.inbound_by_key(OWNER, MAIN, "again") == left
    for source in (BY_CHANNEL, replace(BY_CLIENT, channel="cli")):
        again = builders.inbound("m-2", source=source)
        assert await store.accept_inbound(again, unasked) == Accepted(record=left, duplicate=True)
    assert await store.session(MAIN) is None


async def test_what_a_merged_message_is_quoted_with_goes_with_its_session(store: Store) -> None:
    await accepted(store, "m-1", "r-1", text="secret")
    await joined(store, "m-2", "r-1", InputMode.OPEN)
    await change(store, MergeInput(inbound_id="m-1", into="m-2", reason="dropped: secret"))
    await change(store, KillInput(inbound_id="m-2", reason="cleared"), builders.done("r-1"))
    await change(store, DeleteSession(key=MAIN))
    merged = await known_inbound(store, "m-1")
    assert (merged.state, merged.merged_into, merged.reason) == (InboundState.MERGED, "m-2", None)


async def test_a_message_is_found_by_the_key_its_sender_gave_it(store: Store) -> None:
    answer = await accept(store, builders.inbound("m-1", source=BY_CLIENT))
    assert await store.inbound_by_key(OWNER, MAIN, "again") == answer.record
    assert await store.inbound_by_key(ALICE, MAIN, "again") is None
    assert await store.pending_inputs(SIDE) == ()
    assert await store.inbound_by_key(OWNER, SIDE, "again") is None


async def test_a_message_is_found_by_its_key_alone_wherever_it_was_sent_last(store: Store) -> None:
    assert await store.inbound_by_key(OWNER, None, "again") is None
    first = await accept(store, builders.inbound("m-1", source=BY_CLIENT))
    assert await store.inbound_by_key(OWNER, None, "again") == first.record
    elsewhere = await accept(store, builders.inbound("m-2", key=SIDE, source=BY_CLIENT))
    assert await store.inbound_by_key(OWNER, None, "again") == elsewhere.record
    assert await store.inbound_by_key(ALICE, None, "again") is None


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
    assert (await snapshot(store)).pending == ()
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


# -- who takes part ----------------------------------------------------------------------------------

GROUP = SessionKey.parse("agent:main:telegram:group:-100")


async def group_opened(store: Store, session_id: str) -> None:
    facts = Facts(kind=SessionKind.GROUP, channel="telegram", chat_type=ChatType.GROUP, peer="-100")
    row = builders.session(GROUP)._replace(facts=facts)
    await change(store, builders.opening(row, session_id), key=GROUP)


@pytest.mark.requirement("P2")
async def test_who_spoke_in_a_group_takes_part_in_it_from_then_on(store: Store, reopen: Reopen) -> None:
    await group_opened(store, "g-1")
    assert await store.participants(GROUP) == frozenset()
    bob = person("telegram", "2")
    for number, who in enumerate((ALICE, OWNER, bob, ALICE)):
        await accept(store, replace(builders.inbound(f"m-{number}", GROUP), principal=who))
    await accept(store, replace(builders.inbound("m-9"), principal=ALICE))
    store = await reopen()
    assert await store.participants(GROUP) == {ALICE, bob}
    assert await store.participants(MAIN) == frozenset()


async def test_nobody_takes_part_by_a_message_that_was_not_taken(store: Store) -> None:
    await group_opened(store, "g-1")
    message = replace(builders.inbound("m-1", GROUP), principal=ALICE)
    with pytest.raises(MindChangedError):
        await store.accept_inbound(message, unasked)
    assert await store.participants(GROUP) == frozenset()


async def test_who_took_part_in_a_deleted_group_has_no_part_in_the_next(store: Store) -> None:
    message = replace(builders.inbound("m-1", GROUP), principal=ALICE)
    await group_opened(store, "g-1")
    await accept(store, message)
    ended = (builders.done("run-m-1"), KillInput(inbound_id="m-1", reason="over"))
    await change(store, *ended, DeleteSession(key=GROUP), key=GROUP)
    await group_opened(store, "g-2")
    assert await store.participants(GROUP) == frozenset()
