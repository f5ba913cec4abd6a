from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from roost.channels.loopback import REDELIVERIES, LoopbackChannel, Shown
from roost.core.addresses import Address, ChatType
from roost.core.channels import ChannelAbilities, Knowledge
from roost.core.deliveries import Confirmed, Postponed, Rejected, SendResult, Unknown
from roost.core.envelopes import Conversation, Envelope, Sender
from roost.core.errors import InvalidInput, StoreUnavailable
from roost.ports import Channel, Receive
from roost.testing import builders
from roost.testing.builders import CHAT
from tests.waiting import until_all_wait

BOUND = 60
ALICE = Sender(id="alice", name="Alice")
TOPIC = Conversation(chat_type=ChatType.GROUP, peer="g-1", topic="7")


class Broken(Exception):
    """Not something a caller can act on."""


@asynccontextmanager
async def running(channel: Channel, receive: Receive) -> AsyncIterator[None]:
    with anyio.fail_after(BOUND):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(channel.run, receive)
            yield
            tasks.cancel_scope.cancel()


async def take(envelope: Envelope) -> None:
    pass


async def refuse(envelope: Envelope) -> None:
    raise StoreUnavailable("not now")


async def test_people_see_their_own_messages_and_the_answers() -> None:
    channel = LoopbackChannel()
    await channel.say("hello", sender=ALICE)
    sent = await channel.send(builders.delivery("d-1"))
    assert sent == Confirmed(receipt="out-2")
    assert channel.messages(CHAT) == (
        Shown(id="in-1", text="hello", sender=ALICE),
        Shown(id="out-2", text="hi"),
    )
    assert channel.replies(CHAT) == ("hi",)


async def test_a_topic_is_a_place_of_its_own() -> None:
    channel = LoopbackChannel(account="work")
    await channel.say("hello", sender=ALICE, chat=TOPIC)
    topic = Address(channel="loopback", account="work", to="g-1", thread="7")
    assert [shown.text for shown in channel.messages(topic)] == ["hello"]
    assert channel.messages(Address(channel="loopback", account="work", to="g-1")) == ()


async def test_a_chat_without_a_place_shows_nothing() -> None:
    channel = LoopbackChannel()
    envelope = await channel.say("hello", sender=Sender())
    assert channel.unacknowledged == (envelope,)


async def test_the_same_message_delivered_once_more_is_seen_once_and_received_twice() -> None:
    channel = LoopbackChannel()
    received: list[str | None] = []

    async def receive(envelope: Envelope) -> None:
        received.append(envelope.external_id)

    async with running(channel, receive):
        for _ in range(2):
            await channel.say("hello", sender=ALICE, external_id="m-1")
            await channel.wait_acknowledged()
    assert received == ["m-1", "m-1"]
    assert channel.messages(CHAT) == (Shown(id="m-1", text="hello", sender=ALICE),)


async def test_a_mention_is_passed_on() -> None:
    assert (await LoopbackChannel().say("hello", sender=ALICE, chat=TOPIC, mentions_bot=True)).mentions_bot


async def test_a_thread_where_there_are_none_is_refused() -> None:
    channel = LoopbackChannel(abilities=ChannelAbilities(longest=10))
    with pytest.raises(InvalidInput, match="no threads"):
        await channel.say("hello", sender=ALICE, chat=TOPIC)


async def test_speaking_waits_while_too_much_is_unacknowledged() -> None:
    channel = LoopbackChannel(most_waiting=2)
    await channel.say("one", sender=ALICE)
    await channel.say("two", sender=ALICE)
    with anyio.fail_after(BOUND):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: channel.say("three", sender=ALICE))
            await until_all_wait()
            assert [envelope.text for envelope in channel.unacknowledged] == ["one", "two"]
            async with running(channel, take):
                await channel.wait_acknowledged()
    assert [shown.text for shown in channel.messages(CHAT)] == ["one", "two", "three"]


async def test_a_message_refused_too_often_waits_and_holds_up_no_other() -> None:
    channel = LoopbackChannel()
    received: list[str] = []

    async def receive(envelope: Envelope) -> None:
        received.append(envelope.text)
        if envelope.text == "bad":
            raise StoreUnavailable("not now")

    await channel.say("bad", sender=ALICE)
    await channel.say("good", sender=ALICE)
    async with running(channel, receive):
        await until_all_wait()
        assert received == ["bad"] * (REDELIVERIES + 1) + ["good"]
        assert [envelope.text for envelope in channel.unacknowledged] == ["bad"]
        received.clear()
        channel.redeliver()
        await until_all_wait()
        assert received == ["bad"] * (REDELIVERIES + 1)


async def test_the_next_run_is_given_what_the_last_one_refused() -> None:
    channel = LoopbackChannel()
    await channel.say("hello", sender=ALICE)
    async with running(channel, refuse):
        await until_all_wait()
    async with running(channel, take):
        await channel.wait_acknowledged()


async def test_an_error_nobody_can_act_on_ends_the_run_and_keeps_the_message() -> None:
    channel = LoopbackChannel()
    await channel.say("hello", sender=ALICE)

    async def receive(envelope: Envelope) -> None:
        raise Broken

    with pytest.raises(Broken):
        await channel.run(receive)
    assert len(channel.unacknowledged) == 1


async def test_a_message_given_to_two_runs_is_acknowledged_by_the_first() -> None:
    channel = LoopbackChannel()
    await channel.say("hello", sender=ALICE)
    received: list[str] = []
    both = anyio.Event()

    async def receive(envelope: Envelope) -> None:
        received.append(envelope.text)
        if len(received) == 2:
            both.set()
        await both.wait()

    async with running(channel, receive), running(channel, receive):
        await channel.wait_acknowledged()
        await until_all_wait()
        await channel.say("next", sender=ALICE)
        await channel.wait_acknowledged()
    assert received[:2] == ["hello", "hello"]


@pytest.mark.parametrize(
    ("result", "arrives"),
    [
        (Postponed(ready_at=7, error="timeout"), False),
        (Rejected(error="blocked"), False),
        (Unknown(error="no answer"), False),
        (Unknown(error="no answer"), True),
    ],
)
async def test_the_next_send_goes_as_scripted_and_the_one_after_as_usual(
    result: SendResult, *, arrives: bool
) -> None:
    channel = LoopbackChannel()
    channel.answer_next(result, arrives=arrives)
    assert await channel.send(builders.delivery("d-1", text="first")) == result
    assert channel.replies(CHAT) == (("first",) if arrives else ())
    assert isinstance(await channel.send(builders.delivery("d-2", text="second")), Confirmed)
    assert channel.replies(CHAT)[-1] == "second"


async def test_scripts_are_used_in_order() -> None:
    channel = LoopbackChannel()
    channel.answer_next(Rejected(error="first"))
    channel.answer_next(Rejected(error="second"))
    results = [await channel.send(builders.delivery(f"d-{number}")) for number in range(2)]
    assert results == [Rejected(error="first"), Rejected(error="second")]


@pytest.mark.parametrize("text", ["", " \n"])
async def test_a_message_without_words_is_rejected(text: str) -> None:
    assert isinstance(await LoopbackChannel().send(builders.delivery("d-1", text=text)), Rejected)


async def test_a_send_held_before_arrival_is_unseen_until_it_is_let_go() -> None:
    channel = LoopbackChannel()
    with anyio.fail_after(BOUND):
        async with anyio.create_task_group() as tasks:
            with channel.held_before_arrival() as waits:
                tasks.start_soon(channel.send, builders.delivery("d-1"))
                await waits.wait()
                assert channel.replies(CHAT) == ()
            assert await channel.wait_replies(CHAT) == ("hi",)


async def test_a_send_held_after_arrival_is_seen_and_not_answered() -> None:
    channel = LoopbackChannel()
    results: list[SendResult] = []

    async def send() -> None:
        results.append(await channel.send(builders.delivery("d-1")))

    with anyio.fail_after(BOUND):
        async with anyio.create_task_group() as tasks:
            with channel.held_after_arrival() as waits:
                tasks.start_soon(send)
                await waits.wait()
                assert channel.replies(CHAT) == ("hi",)
                assert results == []
    assert results == [Confirmed(receipt="out-1")]


@pytest.mark.parametrize("arrived", [False, True])
async def test_a_held_send_that_is_cancelled_can_be_asked_about(*, arrived: bool) -> None:
    channel = LoopbackChannel()
    hold = channel.held_after_arrival if arrived else channel.held_before_arrival
    with anyio.fail_after(BOUND), hold() as waits:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(channel.send, builders.delivery("d-1"))
            await waits.wait()
            tasks.cancel_scope.cancel()
    expected = Knowledge.SENT if arrived else Knowledge.NOT_SENT
    assert await channel.ask(builders.delivery("d-1")) is expected


async def test_replies_can_be_waited_for() -> None:
    channel = LoopbackChannel()
    with anyio.fail_after(BOUND):
        async with anyio.create_task_group() as tasks:
            for number in range(2):
                tasks.start_soon(channel.send, builders.delivery(f"d-{number}", text=str(number)))
            assert sorted(await channel.wait_replies(CHAT, 2)) == ["0", "1"]
