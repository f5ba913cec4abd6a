"""What every channel owes the gateway: nothing acknowledged too early, nothing shown twice that it promised to show once."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import product
from typing import Protocol

import anyio
import pytest

from roost.channels.loopback import LoopbackChannel
from roost.core.addresses import Address, ChatType
from roost.core.channels import ChannelAbilities, Knowledge
from roost.core.deliveries import Confirmed, Delivery, Rejected, Unknown
from roost.core.envelopes import Conversation, Envelope, Sender, reply_address
from roost.core.errors import StoreUnavailable
from roost.core.splitting import split
from roost.ports import Channel, Receive
from roost.testing import builders

BOUND = 60
ALICE = Sender(id="alice", name="Alice")
BOB = Sender(id="bob", name="Bob")
DIRECT = Conversation(chat_type=ChatType.DIRECT)
GROUP = Conversation(chat_type=ChatType.GROUP, peer="g-1", subject="Friends")
ROOM = Conversation(chat_type=ChatType.CHANNEL, peer="c-1", room="#general")


class Platform(Protocol):
    """The far side of a channel, as far as this suite needs it."""

    @property
    def channel(self) -> Channel: ...

    async def write(self, text: str, sender: Sender, chat: Conversation) -> None:
        """A person writes."""
        ...

    def unacknowledged(self) -> list[str]:
        """The words of what the platform would deliver again."""
        ...

    def seen(self, address: Address) -> list[str]:
        """What the agent wrote, as people see it."""
        ...

    def lose_answer(self, *, arrives: bool) -> None:
        """The outcome of the next send stays unknown, whether or not it arrives."""
        ...


class LoopbackPlatform:
    def __init__(self, abilities: ChannelAbilities) -> None:
        self.channel = LoopbackChannel(name="loopback", account="work", abilities=abilities)

    async def write(self, text: str, sender: Sender, chat: Conversation) -> None:
        await self.channel.say(text, sender=sender, chat=chat)

    def unacknowledged(self) -> list[str]:
        return [envelope.text for envelope in self.channel.unacknowledged]

    def seen(self, address: Address) -> list[str]:
        return list(self.channel.replies(address))

    def lose_answer(self, *, arrives: bool) -> None:
        self.channel.answer_next(Unknown(error="no answer"), arrives=arrives)


def loopback(*, dedupes: bool, answers: bool, threads: bool) -> Callable[[], Platform]:
    abilities = ChannelAbilities(longest=40, dedupes=dedupes, answers=answers, threads=threads)
    return lambda: LoopbackPlatform(abilities)


PLATFORMS = [
    pytest.param(
        loopback(dedupes=dedupes, answers=answers, threads=threads),
        id="-".join(
            ["loopback", *(["dedupes"] * dedupes), *(["answers"] * answers), *(["threads"] * threads)]
        ),
    )
    for dedupes, answers, threads in product([False, True], repeat=3)
]


@pytest.fixture(params=PLATFORMS)
def platform(request: pytest.FixtureRequest) -> Platform:
    made: Callable[[], Platform] = request.param
    return made()


@pytest.fixture
def channel(platform: Platform) -> Channel:
    return platform.channel


class Inbox:
    """Receives, and fails as often as it is told to."""

    def __init__(self, *failures: Exception) -> None:
        self.received: list[Envelope] = []
        self.failures = list(failures)
        self.news = anyio.Event()

    async def receive(self, envelope: Envelope) -> None:
        self.received.append(envelope)
        self.news.set()
        self.news = anyio.Event()
        if self.failures:
            raise self.failures.pop(0)

    async def wait_received(self, count: int) -> None:
        while len(self.received) < count:
            await self.news.wait()


@asynccontextmanager
async def running(channel: Channel, receive: Receive) -> AsyncIterator[None]:
    with anyio.fail_after(BOUND):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(channel.run, receive)
            yield
            tasks.cancel_scope.cancel()


def place(channel: Channel, to: str = "alice", thread: str | None = None) -> Address:
    return Address(channel=channel.name, account=channel.account, to=to, thread=thread)


def reply(channel: Channel, name: str = "d-1", text: str = "hi") -> Delivery:
    return builders.delivery(name, address=place(channel), text=text)


# -- receiving ---------------------------------------------------------------------------------------


async def test_messages_come_in_order_with_who_and_where_and_the_words(platform: Platform) -> None:
    channel, inbox = platform.channel, Inbox()
    said = [("one", ALICE, DIRECT), ("two", BOB, GROUP), ("three", ALICE, ROOM)]
    async with running(channel, inbox.receive):
        for text, sender, chat in said:
            await platform.write(text, sender, chat)
        await inbox.wait_received(3)
    assert [(one.text, one.sender, one.conversation) for one in inbox.received] == said
    assert {(one.channel, one.account) for one in inbox.received} == {(channel.name, channel.account)}


async def test_every_message_has_an_id_of_its_own(platform: Platform) -> None:
    inbox = Inbox()
    async with running(platform.channel, inbox.receive):
        for _ in range(3):
            await platform.write("same words", ALICE, DIRECT)
        await inbox.wait_received(3)
    assert all(one.external_id for one in inbox.received)
    assert len({one.external_id for one in inbox.received}) == 3


async def test_what_was_written_before_it_runs_is_received(platform: Platform) -> None:
    inbox = Inbox()
    await platform.write("early", ALICE, DIRECT)
    async with running(platform.channel, inbox.receive):
        await inbox.wait_received(1)


async def test_a_message_is_acknowledged_only_after_it_was_received(platform: Platform) -> None:
    entered, go_on = anyio.Event(), anyio.Event()

    async def receive(envelope: Envelope) -> None:
        entered.set()
        await go_on.wait()

    await platform.write("hello", ALICE, DIRECT)
    async with running(platform.channel, receive):
        await entered.wait()
        assert platform.unacknowledged() == ["hello"]
        go_on.set()
        await anyio.wait_all_tasks_blocked()
        assert platform.unacknowledged() == []


async def test_a_message_that_could_not_be_stored_comes_again_as_the_same_message(platform: Platform) -> None:
    inbox = Inbox(StoreUnavailable("the disk is full"))
    async with running(platform.channel, inbox.receive):
        await platform.write("hello", ALICE, DIRECT)
        await platform.write("next", ALICE, DIRECT)
        await inbox.wait_received(3)
        await anyio.wait_all_tasks_blocked()
    texts = [one.text for one in inbox.received]
    assert sorted(texts) == ["hello", "hello", "next"]
    assert len({one.external_id for one in inbox.received}) == 2
    assert platform.unacknowledged() == []


async def test_a_message_cut_off_while_it_was_received_comes_again(platform: Platform) -> None:
    entered = anyio.Event()

    async def receive(envelope: Envelope) -> None:
        entered.set()
        await anyio.sleep_forever()

    await platform.write("hello", ALICE, DIRECT)
    async with running(platform.channel, receive):
        await entered.wait()
    assert platform.unacknowledged() == ["hello"]
    inbox = Inbox()
    async with running(platform.channel, inbox.receive):
        await inbox.wait_received(1)
    assert [one.text for one in inbox.received] == ["hello"]


async def test_an_answer_goes_where_its_message_came_from(platform: Platform) -> None:
    channel, inbox = platform.channel, Inbox()
    chats = [DIRECT, GROUP, ROOM]
    if channel.abilities.threads:
        chats += [replace(GROUP, topic="7"), replace(ROOM, thread="t-1"), replace(ROOM, thread="t-2")]
    async with running(channel, inbox.receive):
        for chat in chats:
            await platform.write("hello", ALICE, chat)
        await inbox.wait_received(len(chats))
    addresses = [reply_address(one) for one in inbox.received]
    for number, address in enumerate(addresses):
        assert address is not None
        sent = await channel.send(builders.delivery(f"d-{number}", address=address, text=f"answer {number}"))
        assert isinstance(sent, Confirmed)
    assert [platform.seen(address) for address in addresses if address] == [
        [f"answer {number}"] for number in range(len(chats))
    ]


# -- sending -----------------------------------------------------------------------------------------


async def test_what_is_sent_is_seen_there_and_nowhere_else(platform: Platform, channel: Channel) -> None:
    assert isinstance(await channel.send(reply(channel)), Confirmed)
    assert platform.seen(place(channel)) == ["hi"]
    assert platform.seen(place(channel, "bob")) == []


async def test_messages_to_a_place_are_seen_in_the_order_they_were_sent(
    platform: Platform, channel: Channel
) -> None:
    for number in range(5):
        await channel.send(reply(channel, f"d-{number}", str(number)))
    assert platform.seen(place(channel)) == ["0", "1", "2", "3", "4"]


async def test_a_message_may_be_as_long_as_it_says_and_no_longer(
    platform: Platform, channel: Channel
) -> None:
    fits = "x" * channel.abilities.longest
    assert isinstance(await channel.send(reply(channel, "d-1", fits)), Confirmed)
    assert isinstance(await channel.send(reply(channel, "d-2", fits + "x")), Rejected)
    assert platform.seen(place(channel)) == [fits]


async def test_a_long_text_passes_in_parts(platform: Platform, channel: Channel) -> None:
    text = "".join(f"This is sentence number {number}. " for number in range(20))
    parts = split(text, channel.abilities.longest)
    for number, part in enumerate(parts):
        assert isinstance(await channel.send(reply(channel, f"d-{number}", part.text)), Confirmed)
    assert "".join(platform.seen(place(channel))) == text


async def test_a_message_for_another_account_or_channel_is_rejected(
    platform: Platform, channel: Channel
) -> None:
    for elsewhere in (replace(place(channel), account="other"), replace(place(channel), channel="other")):
        assert isinstance(await channel.send(builders.delivery("d-1", address=elsewhere)), Rejected)
        assert platform.seen(elsewhere) == []


async def test_a_thread_is_spoken_in_only_where_there_are_threads(
    platform: Platform, channel: Channel
) -> None:
    thread = place(channel, "c-1", "t-1")
    sent = await channel.send(builders.delivery("d-1", address=thread))
    assert isinstance(sent, Confirmed if channel.abilities.threads else Rejected)
    assert platform.seen(thread) == (["hi"] if channel.abilities.threads else [])
    assert platform.seen(place(channel, "c-1")) == []


# -- unknown outcomes --------------------------------------------------------------------------------


async def test_a_channel_that_says_it_dedupes_shows_a_message_once(
    platform: Platform, channel: Channel
) -> None:
    first = await channel.send(reply(channel))
    assert await channel.send(replace(reply(channel), attempts=2)) == first or not channel.abilities.dedupes
    assert platform.seen(place(channel)) == ["hi"] * (1 if channel.abilities.dedupes else 2)


@pytest.mark.parametrize("arrives", [False, True])
async def test_a_channel_that_can_be_asked_knows_whether_a_lost_message_arrived(
    platform: Platform, channel: Channel, *, arrives: bool
) -> None:
    platform.lose_answer(arrives=arrives)
    assert isinstance(await channel.send(reply(channel)), Unknown)
    assert platform.seen(place(channel)) == ["hi"] * arrives
    knowledge = await channel.ask(reply(channel))
    if channel.abilities.answers:
        assert knowledge is (Knowledge.SENT if arrives else Knowledge.NOT_SENT)
    else:
        assert knowledge is Knowledge.UNKNOWN


@pytest.mark.parametrize("arrives", [False, True])
async def test_a_lost_message_sent_again_is_seen_once_where_it_can_be_told(
    platform: Platform, channel: Channel, *, arrives: bool
) -> None:
    platform.lose_answer(arrives=arrives)
    await channel.send(reply(channel))
    knowledge = await channel.ask(reply(channel))
    if channel.abilities.dedupes or knowledge is Knowledge.NOT_SENT:
        await channel.send(reply(channel))
    told = channel.abilities.dedupes or channel.abilities.answers
    assert platform.seen(place(channel)) == ["hi"] * (1 if told else arrives)


async def test_asking_sends_nothing(platform: Platform, channel: Channel) -> None:
    await channel.ask(reply(channel))
    assert platform.seen(place(channel)) == []
