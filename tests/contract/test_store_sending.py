"""What may be sent, and in how many parts."""

from dataclasses import replace

import pytest

from roost.core.addresses import Address
from roost.core.deliveries import (
    Confirmed,
    Delivery,
    DeliveryKind,
    DeliveryState,
    Rejected,
    Unknown,
)
from roost.core.effects import AddDelivery, QueueRun
from roost.core.errors import Conflict, Fenced
from roost.core.events import EventKind
from roost.core.leases import Lease
from roost.core.messages import ProvenanceKind, UserMessage, text_of
from roost.core.principals import person
from roost.core.sendpolicy import Verdict
from roost.core.sessions import Session
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON
from tests.contract.scenes import change, known, opened

ALICE = Address(channel="telegram", to="alice")
BOB = Address(channel="telegram", to="bob")
ELSEWHERE = Address(channel="matrix", to="alice")
STRANGER = person("telegram", "9")


def quiet(session: Session, delivery: Delivery) -> Verdict:
    allowed = delivery.kind is DeliveryKind.COMMAND and session.key == delivery.key
    return Verdict(allowed=allowed, rule="quiet please")


@pytest.mark.requirement("D20")
async def test_what_may_not_be_sent_is_dismissed_with_its_reason_and_keeps_nothing_waiting(
    store: Store, lease: Lease
) -> None:
    await opened(store)
    await change(store, AddDelivery(delivery=builders.delivery("d-1", address=ALICE)))
    run = builders.run("r-1")
    run = replace(run, cause=replace(run.cause, principal=STRANGER))
    answer = replace(builders.delivery("d-2", address=BOB), run_id="r-1")
    command = replace(builders.delivery("d-3", address=ALICE), kind=DeliveryKind.COMMAND)
    await change(
        store, QueueRun(run=run), AddDelivery(delivery=answer), AddDelivery(delivery=command), key=MAIN
    )
    assert await store.claim_deliveries(lease, 10, judge=quiet) == ()
    (taken,) = await store.claim_deliveries(lease, 10, judge=quiet)
    assert taken.id == "d-3"
    dismissed = await store.deliveries(DeliveryState.DISMISSED, 10)
    assert [(one.id, one.error) for one in dismissed] == [
        ("d-1", "not sent, because of quiet please"),
        ("d-2", "not sent, because of quiet please"),
    ]
    told = await store.denials(10)
    assert {(one.rule, one.operation, one.caller) for one in told} == {("quiet please", "send", MAIN)}
    owner = (await known(store)).owner
    assert {(one.target, one.principal) for one in told} == {("d-1", owner), ("r-1", STRANGER)}


async def test_a_message_that_is_too_long_for_its_account_is_stored_in_parts_in_their_place(
    store: Store, lease: Lease
) -> None:
    store.limit_messages({ALICE.served_by: 10})
    await opened(store)
    long = "one two three four five"
    for name, text, address in (("d-1", long, ALICE), ("d-2", "after", ALICE), ("d-3", long, ELSEWHERE)):
        await change(store, AddDelivery(delivery=builders.delivery(name, text=text, address=address)))
    texts, ids = [], []
    while taken := await store.claim_deliveries(lease, 10):
        for delivery in taken:
            texts.append((delivery.address, delivery.text.strip()))
            ids.append(delivery.id)
            assert delivery.claim is not None
            await store.settle_delivery(delivery.claim, Confirmed())
    assert [text for address, text in texts if address == ALICE] == ["one two", "three", "four five", "after"]
    assert (ELSEWHERE, long) in texts
    assert len(set(ids)) == 5
    assert {"d-1", "d-2", "d-3"} < set(ids)


async def test_what_was_dismissed_can_be_sent_after_all_and_nothing_else_becomes_of_it(
    store: Store, lease: Lease
) -> None:
    await opened(store)
    await change(store, AddDelivery(delivery=builders.delivery("d-1", address=ALICE)))
    assert await store.claim_deliveries(lease, 10, judge=quiet) == ()
    dismissed = await store.delivery("d-1")
    assert dismissed is not None
    for state in (DeliveryState.CONFIRMED, DeliveryState.DISMISSED, DeliveryState.FAILED):
        with pytest.raises(Conflict):
            await store.resolve_delivery(dismissed, state, NOON)
    await store.resolve_delivery(dismissed, DeliveryState.INTENT, NOON)
    (taken,) = await store.claim_deliveries(lease, 10)
    assert taken.id == "d-1"


async def system_entries(store: Store) -> list[str]:
    entries = await store.entries((await known(store)).session_id)
    bodies = [entry.body for entry in entries]
    return [
        text_of(body)
        for body in bodies
        if isinstance(body, UserMessage) and body.provenance.kind is ProvenanceKind.SYSTEM
    ]


@pytest.mark.requirement("P1")
async def test_an_announcement_that_is_given_up_is_told_to_its_session_in_the_same_transaction(
    store: Store, lease: Lease
) -> None:
    await opened(store)
    announced = replace(builders.delivery("d-1", address=ALICE), kind=DeliveryKind.ANNOUNCE, run_id="gone")
    answer = builders.delivery("d-2", address=BOB)
    await change(store, AddDelivery(delivery=announced), AddDelivery(delivery=answer))
    before = await known(store)
    for taken in await store.claim_deliveries(lease, 10):
        assert taken.claim is not None
        await store.settle_delivery(taken.claim, Rejected(error="expired: no answer"))
        with pytest.raises(Fenced):
            await store.settle_delivery(taken.claim, Rejected(error="expired: no answer"))
    (line,) = await system_entries(store)
    assert line.startswith("What was announced here was not told in the chat on telegram: ")
    news = await store.news(MAIN, after=before.events, limit=10)
    assert [event.kind for event in news.events].count(EventKind.ENTRY) == 1


async def test_an_announcement_that_a_channel_knows_it_never_got_is_told_once_and_again_when_that_is_repeated(
    store: Store, lease: Lease
) -> None:
    await opened(store)
    announced = replace(builders.delivery("d-1", address=ALICE), kind=DeliveryKind.ANNOUNCE)
    await change(store, AddDelivery(delivery=announced))
    for times in (1, 2):
        (taken,) = await store.claim_deliveries(lease, 10)
        assert taken.claim is not None
        unknown = await store.settle_delivery(taken.claim, Unknown(error="no answer"))
        assert len(await system_entries(store)) == times - 1
        failed = await store.resolve_delivery(unknown, DeliveryState.FAILED, NOON)
        failed = await store.resolve_delivery(failed, DeliveryState.FAILED, NOON)
        assert len(await system_entries(store)) == times
        await store.resolve_delivery(failed, DeliveryState.INTENT, NOON)
