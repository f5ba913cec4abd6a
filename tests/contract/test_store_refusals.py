"""What no store can keep is refused at once, whole, and is the caller's to mend."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from math import inf, nan

import pytest

from roost.core.addresses import Origin
from roost.core.deliveries import Delivery
from roost.core.effects import (
    AcceptInput,
    AddDelivery,
    ChangeSession,
    DelayRun,
    Effect,
    Effects,
    KillInput,
    OweCompletion,
    PutExchange,
    QueueRun,
    RecordDenial,
    RecordUsage,
)
from roost.core.entries import EntryDraft
from roost.core.errors import InvalidInput
from roost.core.exchanges import Completion, Exchange
from roost.core.firings import Firing, FiringState, PutFiring
from roost.core.inbound import Inbound, InputMode, Source
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.ledger import Denial, LedgerRow
from roost.core.messages import AssistantMessage, Notice, ToolCall, ToolResult, Usage
from roost.core.principals import OWNER
from roost.core.queries import HistoryQuery, LedgerQuery
from roost.core.runs import Request, Run, RunKind
from roost.core.sessions import Labels, Overrides
from roost.core.threads import BindThread, ThreadBinding
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import CHAT, MAIN
from roost.testing.clock import NOON
from tests.contract.scenes import always, change, known, known_run, opened, queued

HALF = f"half {chr(0xD83D)}"
LARGE = 2**63


def nested(depth: int) -> JsonValue:
    value: JsonValue = None
    for _ in range(depth):
        value = [value]
    return value


def noted(data: JsonValue) -> EntryDraft:
    return EntryDraft(id="e-1", body=Notice(kind="n", at=NOON, data={"found": data}))


def called(arguments: JsonObject) -> EntryDraft:
    call = ToolCall(id="c-1", name="t", arguments=arguments)
    return EntryDraft(id="e-1", body=AssistantMessage(content=(call,), at=NOON))


def returned(details: JsonObject) -> EntryDraft:
    return EntryDraft(
        id="e-1", body=ToolResult(call_id="c-1", tool="t", content=(), at=NOON, details=details)
    )


CALL = LedgerRow(
    id="u-1",
    at=NOON,
    key=MAIN,
    session_id="s",
    principal=OWNER,
    run_id="r-1",
    run_kind=RunKind.TURN,
    provider="demo",
    model="demo-1",
    usage=Usage(),
)
SPOKEN = builders.said("e-1", "words")
ENTRIES: dict[str, EntryDraft] = {
    "half a character": builders.said("e-1", HALF),
    "half a character as its id": replace(SPOKEN, id=HALF),
    "half a character in its source": replace(SPOKEN, source=HALF),
    "a number beyond 64 bits": noted(2**70),
    "a time beyond 64 bits": builders.said("e-1", "words", at=LARGE),
    "data nested too deep": noted(nested(2_000)),
    "a number that is none": noted([nan]),
    "arguments that are beyond every number": called({"most": inf}),
    "details below all numbers": returned({"least": {"found": -inf}}),
}


@pytest.mark.parametrize("draft", ENTRIES.values(), ids=ENTRIES)
async def test_an_entry_that_cannot_be_stored_is_refused_with_its_neighbours(
    store: Store, draft: EntryDraft
) -> None:
    before = await opened(store)
    with pytest.raises(InvalidInput):
        await store.append(MAIN, (builders.said("fine", "words"), draft))
    assert await known(store) == before
    assert await store.entries(before.session_id) == ()
    await store.append(MAIN, (SPOKEN,))


async def test_a_count_that_would_not_fit_refuses_the_entry_that_raises_it(store: Store) -> None:
    await opened(store)
    await store.append(MAIN, (builders.answered("e-1", "much", usage=Usage(output=LARGE - 1)),))
    before = await known(store)
    with pytest.raises(InvalidInput):
        await store.append(MAIN, (builders.answered("e-2", "more", usage=Usage(output=1)),))
    assert await known(store) == before


async def test_a_call_whose_numbers_do_not_fit_is_refused(store: Store) -> None:
    row = replace(CALL, usage=Usage(cost_micros=LARGE))
    await opened(store)
    with pytest.raises(InvalidInput):
        await store.record_usage(row)
    assert (await store.usage(LedgerQuery(key=MAIN))).calls == 0


MESSAGES: dict[str, Inbound] = {
    "its text": builders.inbound("m-1", text=HALF),
    "its sender": replace(builders.inbound("m-1"), sender_name=HALF),
    "its id": builders.inbound(HALF),
    "the id of its channel": builders.inbound("m-1", source=Source(channel="web", external_id=HALF)),
    "its time": builders.inbound("m-1", at=LARGE),
}


def accepting(message: Inbound) -> Effects:
    accept = AcceptInput(inbound=message, run_id="r-1", mode=InputMode.OPEN)
    return (QueueRun(run=builders.run("r-1")), accept)


def killing(message: Inbound) -> Effects:
    return (KillInput(inbound_id=message.id, reason="full", inbound=message),)


@pytest.mark.parametrize("decision", [accepting, killing])
@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
async def test_a_message_that_cannot_be_stored_is_refused(
    store: Store, message: Inbound, decision: Callable[[Inbound], Effects]
) -> None:
    before = await opened(store)
    with pytest.raises(InvalidInput):
        await store.accept_inbound(message, always(*decision(message)))
    assert await known(store) == before
    assert await store.inbound("m-1") is None
    assert await store.run("r-1") is None


RUNS: dict[str, Run] = {
    "its model": builders.run("r-1", request=Request(model=HALF)),
    "its id": builders.run(HALF),
    "its moment": builders.run("r-1", ready_at=LARGE),
}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
async def test_a_run_that_cannot_be_stored_is_refused(store: Store, run: Run) -> None:
    before = await opened(store)
    with pytest.raises(InvalidInput):
        await change(store, QueueRun(run=run))
    assert await known(store) == before


async def test_a_run_cannot_be_moved_to_a_moment_that_cannot_be_stored(store: Store) -> None:
    await opened(store)
    await queued(store, "r-1")
    before = await known_run(store, "r-1")
    with pytest.raises(InvalidInput):
        await change(store, DelayRun(run_id="r-1", ready_at=LARGE))
    assert await known_run(store, "r-1") == before


DELIVERIES: dict[str, Delivery] = {
    "its text": builders.delivery("d-1", text=HALF),
    "its address": builders.delivery("d-1", address=replace(CHAT, to=HALF)),
    "its moment": replace(builders.delivery("d-1"), ready_at=LARGE),
}


@pytest.mark.parametrize("delivery", DELIVERIES.values(), ids=DELIVERIES)
async def test_a_delivery_that_cannot_be_stored_is_refused(store: Store, delivery: Delivery) -> None:
    before = await opened(store)
    with pytest.raises(InvalidInput):
        await change(store, AddDelivery(delivery=delivery))
    assert await known(store) == before
    assert await store.delivery("d-1") is None


ROWS: dict[str, Effect] = {
    "a label": ChangeSession(key=MAIN, labels=Labels(label=HALF)),
    "a setting": ChangeSession(key=MAIN, overrides=Overrides(model=HALF)),
    "an origin": ChangeSession(key=MAIN, origin=Origin(sender=HALF)),
    "a route": ChangeSession(key=MAIN, route=replace(CHAT, to=HALF)),
    "an exchange": PutExchange(
        exchange=Exchange(id=HALF, requester=MAIN, target=MAIN, request="", created_at=NOON, max_turns=5)
    ),
    "a completion": OweCompletion(
        completion=Completion(child_run=HALF, child=MAIN, requester=MAIN, batch="r-1", created_at=NOON)
    ),
    "a thread": BindThread(
        binding=ThreadBinding(
            address=replace(CHAT, thread=HALF), key=MAIN, bound_by=OWNER, bound_at=NOON, used_at=NOON
        )
    ),
    "a firing": PutFiring(
        firing=Firing(id=HALF, job_id="j-1", due_at=NOON, at=NOON, state=FiringState.OK, key=MAIN)
    ),
    "a denial": RecordDenial(denial=Denial(at=NOON, operation=HALF, principal=OWNER, rule="r", reason="")),
    "a call": RecordUsage(row=replace(CALL, id=HALF)),
}


@pytest.mark.parametrize("effect", ROWS.values(), ids=ROWS)
async def test_half_a_character_is_refused_wherever_it_stands(store: Store, effect: Effect) -> None:
    before = await opened(store)
    with pytest.raises(InvalidInput):
        await change(store, ChangeSession(key=MAIN, touched=NOON + 1), effect)
    assert await known(store) == before


async def test_a_question_that_no_store_can_be_asked_leaves_the_next_one_its_answer(store: Store) -> None:
    await opened(store)
    for _ in range(3):
        with suppress(InvalidInput):
            assert await store.session_by_id(HALF) is None
        assert (await store.history(HistoryQuery(key=MAIN))).entries == ()
