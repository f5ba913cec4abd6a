"""Messages on their way out: in order to each address, one at a time, never sent twice by themselves."""

from dataclasses import replace

import anyio
import pytest

from roost.core.addresses import Address, ChatType
from roost.core.deliveries import (
    Confirmed,
    Delivery,
    DeliveryKind,
    DeliveryState,
    Postponed,
    Rejected,
    SendResult,
    Unknown,
)
from roost.core.effects import AddDelivery
from roost.core.errors import Conflict, Fenced, NotFound
from roost.core.events import EventKind
from roost.core.keys import SessionKey
from roost.core.leases import LEASE_MS, Gateway, Lease
from roost.core.principals import person
from roost.core.runs import Claim
from roost.core.visibility import VisibleScope
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON, FakeClock
from tests.contract.homes import FIRST, Home, Reopen
from tests.contract.scenes import change, known, opened

SIDE = SessionKey.named("main", "side")
CHILD = SessionKey.parse("agent:main:subagent:one")
OTHER = SessionKey.named("other", "side")
PERSON = person("telegram", "7")
ALICE = Address(channel="telegram", to="alice")
BOB = Address(channel="telegram", to="bob")
THREAD = replace(ALICE, thread="7")
ACCOUNT = replace(ALICE, account="work")


async def added(store: Store, *names: str, address: Address = ALICE, key: SessionKey = MAIN) -> None:
    if await store.session(key) is None:
        await opened(store, key)
    for name in names:
        await change(store, AddDelivery(delivery=builders.delivery(name, key, address=address)), key=key)


async def sent(store: Store, delivery: Delivery, result: SendResult) -> Delivery:
    assert delivery.claim is not None
    return await store.settle_delivery(delivery.claim, result)


async def claimed(store: Store, lease: Lease, limit: int = 100) -> list[str]:
    return [delivery.id for delivery in await store.claim_deliveries(lease, limit)]


async def test_a_delivery_that_is_not_there_is_none(store: Store) -> None:
    assert await store.delivery("d-1") is None


async def test_a_delivery_reads_back_as_it_was_meant(store: Store, reopen: Reopen) -> None:
    await opened(store)
    delivery = Delivery(
        id="d-1",
        key=MAIN,
        address=Address(channel="telegram", to="a:b", account="work", thread="7"),
        kind=DeliveryKind.NOTICE,
        text="Grüße 😀",
        created_at=NOON,
        run_id="r-1",
        ready_at=NOON + 5,
    )
    await change(store, AddDelivery(delivery=delivery))
    store = await reopen()
    assert await store.delivery("d-1") == delivery
    assert await store.deliveries(DeliveryState.INTENT, 10) == (delivery,)
    last = (await store.events(MAIN, after=0, limit=10))[-1]
    assert (last.kind, last.ref) == (EventKind.DELIVERY, "d-1")


async def test_a_delivery_id_is_given_once(store: Store) -> None:
    await added(store, "d-1")
    with pytest.raises(Conflict):
        await added(store, "d-1")


async def test_a_taken_delivery_is_being_sent_under_a_raised_fence(store: Store, lease: Lease) -> None:
    await added(store, "d-1")
    before = await known(store)
    (taken,) = await store.claim_deliveries(lease, 1)
    assert taken == replace(
        builders.delivery("d-1", address=ALICE),
        state=DeliveryState.SENDING,
        attempts=1,
        fence=1,
        claim=Claim(id="d-1", gateway="first", epoch=lease.epoch, fence=1),
    )
    assert await store.delivery("d-1") == taken
    assert await store.deliveries(DeliveryState.INTENT, 10) == ()
    assert await store.deliveries(DeliveryState.SENDING, 10) == (taken,)
    assert (await known(store)).events == before.events + 1


async def test_messages_to_one_address_go_one_at_a_time_in_order(store: Store, lease: Lease) -> None:
    await added(store, "d-1", "d-2", "d-3")
    order = []
    while taken := await store.claim_deliveries(lease, 10):
        (delivery,) = taken
        assert await store.claim_deliveries(lease, 10) == ()
        order.append(delivery.id)
        await sent(store, delivery, Confirmed())
    assert order == ["d-1", "d-2", "d-3"]


async def test_an_address_is_busy_whichever_session_speaks_to_it(store: Store, lease: Lease) -> None:
    await added(store, "d-1")
    await added(store, "d-2", key=SIDE)
    assert await claimed(store, lease) == ["d-1"]
    assert await claimed(store, lease) == []


async def test_a_place_is_one_address_whether_or_not_it_is_said_who_is_met_there(
    store: Store, lease: Lease
) -> None:
    await added(store, "d-1")
    await added(store, "d-2", address=replace(ALICE, person="ada", chat_type=ChatType.DIRECT))
    assert await claimed(store, lease) == ["d-1"]
    assert await claimed(store, lease) == []


async def test_messages_to_other_addresses_do_not_wait(store: Store, lease: Lease) -> None:
    await added(store, "a-1", "a-2")
    await added(store, "b-1", address=BOB)
    await added(store, "t-1", address=THREAD)
    await added(store, "w-1", address=ACCOUNT)
    assert await claimed(store, lease, 2) == ["a-1", "b-1"]
    assert await claimed(store, lease) == ["t-1", "w-1"]


async def test_messages_for_an_account_that_is_passed_over_stay_and_hold_back_no_other(
    store: Store, lease: Lease
) -> None:
    await added(store, "d-1", address=ALICE)
    await added(store, "d-2", address=ACCOUNT)
    await added(store, "d-3", address=BOB)
    everybody = frozenset({ALICE.served_by, ACCOUNT.served_by})
    assert await store.claim_deliveries(lease, 10, without=everybody) == ()
    (other,) = await store.claim_deliveries(lease, 1, without=frozenset({ALICE.served_by}))
    assert other.id == "d-2"
    assert await claimed(store, lease) == ["d-1", "d-3"]


async def test_a_postponed_message_holds_back_its_address_and_no_other(
    store: Store, lease: Lease, clock: FakeClock
) -> None:
    await added(store, "a-1", "a-2")
    await added(store, "b-1", "b-2", address=BOB)
    alice, bob = await store.claim_deliveries(lease, 10)
    later = await sent(store, alice, Postponed(ready_at=NOON + 500, error="slow down"))
    assert (later.state, later.ready_at, later.error, later.claim) == (
        DeliveryState.INTENT,
        NOON + 500,
        "slow down",
        None,
    )
    await sent(store, bob, Confirmed())
    assert await claimed(store, lease) == ["b-2"]
    clock.advance(499)
    assert await claimed(store, lease) == []
    clock.advance(1)
    (again,) = await store.claim_deliveries(lease, 10)
    assert (again.id, again.attempts, again.fence) == ("a-1", 2, 2)


@pytest.mark.parametrize(
    ("result", "state"),
    [
        (Confirmed(receipt="77"), DeliveryState.CONFIRMED),
        (Rejected(error="blocked"), DeliveryState.FAILED),
        (Unknown(error="no answer"), DeliveryState.UNCERTAIN),
    ],
)
async def test_a_result_is_written_down_and_lets_the_next_one_go(
    store: Store, lease: Lease, reopen: Reopen, result: SendResult, state: DeliveryState
) -> None:
    await added(store, "d-1", "d-2")
    (taken,) = await store.claim_deliveries(lease, 10)
    settled = await sent(store, taken, result)
    assert settled == replace(
        taken,
        state=state,
        claim=None,
        receipt=result.receipt if isinstance(result, Confirmed) else None,
        error=None if isinstance(result, Confirmed) else result.error,
    )
    assert await store.delivery("d-1") == settled
    assert await claimed(store, lease) == ["d-2"]
    store = await reopen()
    assert await store.delivery("d-1") == settled


async def test_a_claim_settles_once(store: Store, lease: Lease) -> None:
    await added(store, "d-1")
    (taken,) = await store.claim_deliveries(lease, 10)
    settled = await sent(store, taken, Unknown(error="no answer"))
    with pytest.raises(Fenced):
        await sent(store, taken, Confirmed())
    assert await store.delivery("d-1") == settled


async def test_a_confirmation_clears_an_earlier_error(store: Store, lease: Lease) -> None:
    await added(store, "d-1")
    (taken,) = await store.claim_deliveries(lease, 10)
    await sent(store, taken, Postponed(ready_at=NOON, error="slow down"))
    (again,) = await store.claim_deliveries(lease, 10)
    assert (await sent(store, again, Confirmed())).error is None


@pytest.mark.requirement("P14")
async def test_claims_that_meet_never_take_a_message_twice(store: Store, lease: Lease) -> None:
    for number in range(10):
        await added(store, f"d-{number}", address=replace(ALICE, to=str(number)))
    taken: list[str] = []

    async def claim() -> None:
        taken.extend(await claimed(store, lease, 3))

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(claim)
    assert sorted(taken) == [f"d-{number}" for number in range(10)]


# -- uncertainty -------------------------------------------------------------------------------------


@pytest.mark.requirement("P14")
async def test_what_a_gateway_that_is_gone_was_sending_is_uncertain_and_never_sent_by_itself(
    home: Home, clock: FakeClock
) -> None:
    store = home.store
    await added(store, "d-1", "d-2")
    (taken,) = await store.claim_deliveries(home.lease, 10)
    assert await store.reap_deliveries(home.lease) == ()
    clock.advance(LEASE_MS)
    lease = await store.acquire_lease(Gateway(name="second", holder="process-2"))
    (lost,) = await store.reap_deliveries(lease)
    assert (lost.id, lost.state, lost.claim) == ("d-1", DeliveryState.UNCERTAIN, None)
    assert lost.attempts == 0
    assert lost.fence > taken.fence
    assert lost.error
    assert await store.delivery("d-1") == lost
    assert await store.reap_deliveries(lease) == ()
    assert await claimed(store, lease) == ["d-2"]
    clock.advance(86_400_000)
    lease = await store.acquire_lease(lease.gateway)
    assert await claimed(store, lease) == []
    assert await store.delivery("d-1") == lost


@pytest.mark.requirement("P14")
async def test_a_gateway_that_begins_anew_finds_its_own_sends_uncertain(home: Home) -> None:
    await added(home.store, "d-1")
    await home.store.claim_deliveries(home.lease, 10)
    lease = await home.store.acquire_lease(replace(FIRST, holder="process-2"))
    assert [lost.id for lost in await home.store.reap_deliveries(lease)] == ["d-1"]
    assert await claimed(home.store, lease) == []


async def uncertain(store: Store, lease: Lease, name: str = "d-1") -> Delivery:
    await added(store, name)
    (taken,) = await store.claim_deliveries(lease, 10)
    return await sent(store, taken, Unknown(error="no answer"))


@pytest.mark.parametrize(
    "state",
    [DeliveryState.CONFIRMED, DeliveryState.DISMISSED, DeliveryState.FAILED, DeliveryState.INTENT],
)
@pytest.mark.parametrize("result", [Unknown(error="no answer"), Rejected(error="blocked")])
async def test_an_uncertain_or_failed_one_is_resolved_by_a_word(
    store: Store, lease: Lease, result: SendResult, state: DeliveryState
) -> None:
    await added(store, "d-1")
    (taken,) = await store.claim_deliveries(lease, 10)
    seen = await sent(store, taken, result)
    before = await known(store)
    resolved = await store.resolve_delivery(seen, state, NOON + 9)
    assert resolved.state is state
    assert await store.delivery("d-1") == resolved
    assert (await known(store)).events == before.events + 1


async def test_one_that_shall_be_sent_again_waits_for_its_moment_and_goes_first(
    store: Store, lease: Lease, clock: FakeClock
) -> None:
    first = await uncertain(store, lease)
    await added(store, "d-2")
    await store.resolve_delivery(first, DeliveryState.INTENT, NOON + 100)
    assert await claimed(store, lease) == []
    clock.advance(100)
    (again,) = await store.claim_deliveries(lease, 10)
    assert (again.id, again.attempts) == ("d-1", first.attempts + 1)


async def test_one_that_shall_be_sent_again_waits_for_what_is_being_sent(store: Store, lease: Lease) -> None:
    seen = await uncertain(store, lease)
    await added(store, "d-2")
    (sending,) = await store.claim_deliveries(lease, 10)
    await store.resolve_delivery(seen, DeliveryState.INTENT, NOON)
    assert await claimed(store, lease) == []
    await sent(store, sending, Confirmed())
    assert await claimed(store, lease) == ["d-1"]


@pytest.mark.parametrize("state", [DeliveryState.SENDING, DeliveryState.UNCERTAIN])
async def test_a_word_that_settles_nothing_is_refused(
    store: Store, lease: Lease, state: DeliveryState
) -> None:
    before = await uncertain(store, lease)
    with pytest.raises(Conflict):
        await store.resolve_delivery(before, state, NOON)
    assert await store.delivery("d-1") == before


async def test_only_what_is_open_to_question_is_resolved(store: Store, lease: Lease) -> None:
    await added(store, "d-1")
    for _ in range(2):
        before = await store.delivery("d-1")
        assert before is not None
        with pytest.raises(Conflict):
            await store.resolve_delivery(before, DeliveryState.INTENT, NOON)
        assert await store.delivery("d-1") == before
        await store.claim_deliveries(lease, 10)
    taken = await store.delivery("d-1")
    assert taken is not None
    confirmed = await sent(store, taken, Confirmed())
    with pytest.raises(Conflict):
        await store.resolve_delivery(confirmed, DeliveryState.INTENT, NOON)
    with pytest.raises(NotFound):
        await store.resolve_delivery(builders.delivery("nowhere"), DeliveryState.DISMISSED, NOON)


@pytest.mark.requirement("P9")
@pytest.mark.parametrize("state", [DeliveryState.CONFIRMED, DeliveryState.INTENT])
async def test_a_word_on_an_earlier_attempt_settles_nothing(
    store: Store, lease: Lease, state: DeliveryState
) -> None:
    first = await uncertain(store, lease)
    await store.resolve_delivery(first, DeliveryState.INTENT, NOON)
    (again,) = await store.claim_deliveries(lease, 10)
    second = await sent(store, again, Unknown(error="no answer"))
    with pytest.raises(Conflict, match="again"):
        await store.resolve_delivery(first, state, NOON)
    assert await store.delivery("d-1") == second


async def test_deliveries_of_a_state_come_oldest_first_up_to_the_limit(store: Store, lease: Lease) -> None:
    await added(store, "d-1", "d-2", "d-3", "d-4")
    (taken,) = await store.claim_deliveries(lease, 1)
    await sent(store, taken, Rejected(error="blocked"))
    intents = await store.deliveries(DeliveryState.INTENT, 2)
    assert [delivery.id for delivery in intents] == ["d-2", "d-3"]
    failed = await store.deliveries(DeliveryState.FAILED, 10)
    assert [delivery.id for delivery in failed] == ["d-1"]


@pytest.mark.parametrize(
    ("scope", "found"),
    [
        (VisibleScope(self_key=SIDE), ["d-3"]),
        (VisibleScope(owner=PERSON, agents=None), ["d-3"]),
        (VisibleScope(agents=frozenset({"other"})), ["d-5"]),
        (VisibleScope(tree_of=SIDE), ["d-7"]),
        (VisibleScope(owner=person("telegram", "nobody"), agents=None), []),
    ],
    ids=["one session", "a person's", "an agent's", "below a session", "nobody's"],
)
async def test_deliveries_in_scope_are_found_behind_those_of_others(
    store: Store, scope: VisibleScope, found: list[str]
) -> None:
    await opened(store, SIDE, row=builders.session(SIDE, owner=PERSON))
    await opened(store, CHILD, row=builders.session(CHILD, parent=SIDE))
    await added(store, "d-1", "d-2")
    await added(store, "d-3", "d-4", address=BOB, key=SIDE)
    await added(store, "d-5", "d-6", address=THREAD, key=OTHER)
    await added(store, "d-7", "d-8", address=ACCOUNT, key=CHILD)
    assert [one.id for one in await store.deliveries(DeliveryState.INTENT, 1, scope)] == found
    assert await store.deliveries(DeliveryState.FAILED, 1, scope) == ()
