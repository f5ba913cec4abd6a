from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import NoReturn

import pytest

from roost.core.addresses import ChatType
from roost.core.channels import ChannelAbilities, Knowledge
from roost.core.deliveries import Confirmed, Delivery, SendResult
from roost.core.envelopes import Conversation, Envelope, Sender
from roost.core.errors import StoreUnavailable
from roost.core.leases import Gateway
from roost.core.messages import AssistantMessage, Text
from roost.core.models import Finished, ModelEvent, ModelRef, ModelRequest, ModelSpec, TextDelta
from roost.ports import Channel, Model, Receive, Store, Topic, TopicKind
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON, FakeClock
from roost.testing.crashing import (
    Crashed,
    Crashes,
    CrashingChannel,
    CrashingModel,
    CrashingStore,
    CrashPoint,
    Moment,
    raising,
)

GATEWAY = Gateway(name="first", holder="process-1")
HELLO = Envelope(
    channel="plain",
    sender=Sender(id="alice"),
    conversation=Conversation(chat_type=ChatType.DIRECT),
    text="hello",
)
ANSWER = (
    TextDelta("a"),
    TextDelta("b"),
    Finished(AssistantMessage(content=(Text("ab"),), at=NOON)),
)
REQUEST = ModelRequest(
    spec=ModelSpec(ref=ModelRef("demo", "demo-1"), context_window=1000, max_tokens=100),
    system="",
    messages=(),
)


class PlainChannel:
    """Has one message waiting and takes everything."""

    name = "plain"
    account = "work"
    abilities = ChannelAbilities(longest=10, answers=True)

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.acknowledged = False

    async def run(self, receive: Receive) -> None:
        await receive(HELLO)
        self.acknowledged = True

    async def send(self, delivery: Delivery) -> SendResult:
        self.sent.append(delivery.text)
        return Confirmed()

    async def ask(self, delivery: Delivery) -> Knowledge:
        return Knowledge.SENT if delivery.text in self.sent else Knowledge.NOT_SENT


class PlainModel:
    """Answers in three pieces; counts the calls that are not over."""

    def __init__(self) -> None:
        self.open = 0

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[AsyncIterator[ModelEvent], None]:
        self.open += 1
        try:
            yield self._pieces()
        finally:
            self.open = 0

    async def _pieces(self) -> AsyncIterator[ModelEvent]:
        for piece in ANSWER:
            yield piece


def strike(at: int, moment: Moment, call: str | None = None, *, lasts: bool = True) -> Crashes:
    return Crashes(CrashPoint(at=at, moment=moment, call=call, lasts=lasts))


def memory(crashes: Crashes) -> tuple[Store, Store]:
    inner = MemoryStore(FakeClock())
    return inner, CrashingStore(inner, crashes)


async def answer(model: Model, pieces: list[ModelEvent]) -> None:
    async with model.stream(REQUEST) as events:
        async for event in events:
            pieces += (event,)


async def test_without_a_point_calls_pass_and_are_counted_in_order() -> None:
    crashes = Crashes()
    _, store = memory(crashes)
    await store.acquire_lease(GATEWAY)
    assert await store.session(MAIN) is None
    assert crashes.calls == ("store.acquire_lease", "store.session")
    assert not crashes.struck


async def test_a_strike_before_a_call_leaves_it_undone() -> None:
    crashes = strike(1, Moment.BEFORE)
    inner, store = memory(crashes)
    with pytest.raises(Crashed):
        await store.acquire_lease(GATEWAY)
    assert await inner.gateways() == ()
    assert crashes.struck


async def test_a_strike_after_a_call_leaves_it_done_and_its_caller_without_the_answer() -> None:
    crashes = strike(1, Moment.AFTER)
    inner, store = memory(crashes)
    with pytest.raises(Crashed):
        await store.acquire_lease(GATEWAY)
    assert [lease.gateway for lease in await inner.gateways()] == [GATEWAY]


@pytest.mark.parametrize("moment", Moment)
async def test_only_calls_of_the_chosen_kind_count(moment: Moment) -> None:
    _, store = memory(strike(2, moment, "store.session"))
    await store.session(MAIN)
    await store.gateways()
    await store.gateways()
    with pytest.raises(Crashed):
        await store.session(MAIN)


async def test_after_a_crash_no_call_gets_through() -> None:
    crashes = strike(1, Moment.AFTER, "store.session")
    inner, store = memory(crashes)
    channel = PlainChannel()
    for _ in range(2):
        with pytest.raises(Crashed):
            await store.session(MAIN)
    with pytest.raises(Crashed):
        await store.acquire_lease(GATEWAY)
    with pytest.raises(Crashed):
        await CrashingChannel(channel, crashes).send(builders.delivery("d-1"))
    assert await inner.gateways() == ()
    assert channel.sent == []
    assert crashes.calls == ("store.session", "store.session", "store.acquire_lease", "channel.send")


async def test_a_failure_that_does_not_last_strikes_once() -> None:
    point = CrashPoint(at=2, moment=Moment.BEFORE, lasts=False)
    _, store = memory(Crashes(point, raising(StoreUnavailable("the disk is full"))))
    await store.session(MAIN)
    with pytest.raises(StoreUnavailable, match="full"):
        await store.session(MAIN)
    await store.session(MAIN)


async def test_a_call_that_fails_by_itself_fails_in_its_own_way() -> None:
    _, store = memory(strike(1, Moment.AFTER))
    with pytest.raises(LookupError):
        await store.wait_for(Topic(TopicKind.RUNS), refuse)


async def refuse() -> str | None:
    raise LookupError


async def test_a_strike_may_end_the_process_instead() -> None:
    def leave() -> NoReturn:
        raise SystemExit(9)

    channel = CrashingChannel(PlainChannel(), Crashes(CrashPoint(at=1, moment=Moment.BEFORE), leave))
    with pytest.raises(SystemExit, match="9"):
        await channel.ask(builders.delivery("d-1"))


async def test_an_answer_of_a_generic_verb_keeps_its_type() -> None:
    _, store = memory(Crashes())

    async def found() -> int | None:
        return 7

    number: int = await store.wait_for(Topic(TopicKind.RUNS), found)
    assert number == 7


async def test_a_channel_passes_for_the_one_it_wraps() -> None:
    crashes, inner = Crashes(), PlainChannel()
    channel: Channel = CrashingChannel(inner, crashes)
    received: list[Envelope] = []

    async def receive(envelope: Envelope) -> None:
        received.append(envelope)

    assert (channel.name, channel.account, channel.abilities) == (inner.name, inner.account, inner.abilities)
    await channel.run(receive)
    assert received == [HELLO]
    assert inner.acknowledged
    assert await channel.send(builders.delivery("d-1")) == Confirmed()
    assert await channel.ask(builders.delivery("d-1")) is Knowledge.SENT
    assert crashes.calls == ("channel.run", "channel.receive", "channel.send", "channel.ask")


@pytest.mark.parametrize(("moment", "seen"), [(Moment.BEFORE, 0), (Moment.AFTER, 1)])
async def test_a_message_can_be_lost_on_either_side_of_being_received(moment: Moment, seen: int) -> None:
    inner = PlainChannel()
    received: list[Envelope] = []

    async def receive(envelope: Envelope) -> None:
        received.append(envelope)

    with pytest.raises(Crashed):
        await CrashingChannel(inner, strike(1, moment, "channel.receive")).run(receive)
    assert len(received) == seen
    assert not inner.acknowledged


async def test_a_model_passes_for_the_one_it_wraps() -> None:
    crashes, inner = Crashes(), PlainModel()
    pieces: list[ModelEvent] = []
    await answer(CrashingModel(inner, crashes), pieces)
    assert pieces == list(ANSWER)
    assert crashes.calls == ("model.stream", "model.event", "model.event", "model.event")
    assert inner.open == 0


@pytest.mark.parametrize("moment", Moment)
@pytest.mark.parametrize("at", [1, 2, 3, 4])
async def test_a_call_of_a_model_is_over_after_a_crash_at_any_point_of_it(at: int, moment: Moment) -> None:
    inner = PlainModel()
    with pytest.raises(Crashed):
        await answer(CrashingModel(inner, strike(at, moment)), [])
    assert inner.open == 0


@pytest.mark.parametrize(
    ("at", "moment", "handled"), [(1, Moment.BEFORE, 0), (1, Moment.AFTER, 1), (3, Moment.BEFORE, 2)]
)
async def test_an_answer_breaks_off_where_it_is_struck(at: int, moment: Moment, handled: int) -> None:
    pieces: list[ModelEvent] = []
    with pytest.raises(Crashed):
        await answer(CrashingModel(PlainModel(), strike(at, moment, "model.event")), pieces)
    assert pieces == list(ANSWER[:handled])


async def test_a_reader_who_leaves_early_ends_the_call_of_the_model() -> None:
    crashes, inner = Crashes(), PlainModel()
    async with CrashingModel(inner, crashes).stream(REQUEST) as events:
        assert await anext(events) == ANSWER[0]
        assert inner.open == 1
    assert inner.open == 0
    assert crashes.calls == ("model.stream", "model.event")
