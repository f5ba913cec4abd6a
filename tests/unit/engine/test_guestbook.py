"""Who asks to be let in, where the channel that should tell him breaks or hangs, and where another gateway let him in."""

from dataclasses import dataclass, field, replace
from functools import partial

import anyio
import pytest

from roost.channels.loopback import EVERYTHING, LoopbackChannel
from roost.core import guests
from roost.core.addresses import Account, ChatType
from roost.core.admission import ChannelPolicy
from roost.core.channeltraits import KNOWN_CHANNELS
from roost.core.deliveries import Confirmed, Delivery, Postponed, Rejected, SendResult
from roost.core.envelopes import Conversation, Envelope, Sender
from roost.core.guests import Knock
from roost.engine.guestbook import LONGEST_SEND_MS, Guestbook
from roost.engine.ids import FreshIds
from roost.engine.rulebook import Rulebook
from tests.unit.engine.scenes import Scene
from tests.waiting import until_all_wait

BOB = Envelope(
    channel="loopback",
    sender=Sender(id="bob"),
    conversation=Conversation(chat_type=ChatType.DIRECT, peer="bob"),
    text="hello?",
)


@dataclass
class Telling(LoopbackChannel):
    """Shows a message as often as it is sent, and answers each in turn; `None` breaks."""

    results: list[SendResult | None]
    sent: list[Delivery] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(abilities=replace(EVERYTHING, dedupes=False, answers=False))

    async def send(self, delivery: Delivery) -> SendResult:
        self.sent.append(delivery)
        result = self.results.pop(0)
        if result is None:
            raise OSError("no network")
        return result


class Hanging(LoopbackChannel):
    async def send(self, delivery: Delivery) -> SendResult:
        await anyio.sleep_forever()
        raise AssertionError("nobody wakes it")


class Interrupted(LoopbackChannel):
    """Takes a message, and does not live to say so of the first."""

    def __init__(self, dedupes: bool) -> None:
        super().__init__(abilities=replace(EVERYTHING, dedupes=dedupes, answers=False))
        self.sent: list[Delivery] = []

    async def send(self, delivery: Delivery) -> SendResult:
        self.sent.append(delivery)
        if len(self.sent) == 1:
            await anyio.sleep_forever()
        return Confirmed()


def guestbook(scene: Scene, channel: LoopbackChannel | None, book: Rulebook | None = None) -> Guestbook:
    channels = {} if channel is None else {Account("loopback"): channel}
    known = book or Rulebook(scene.rules)
    return Guestbook(scene.store, scene.clock, FreshIds(scene.clock), known, channels)


async def asking(scene: Scene) -> tuple[Knock, ...]:
    return (await scene.store.guests()).asking


@pytest.mark.parametrize(
    "failed", [Rejected(error="blocked"), None, Postponed(ready_at=0, error="slow down")]
)
async def test_who_was_not_told_is_told_the_same_code_a_while_later_and_not_with_every_message(
    failed: SendResult | None, caplog: pytest.LogCaptureFixture
) -> None:
    scene, done = Scene(), Confirmed()
    # What breaks may have arrived after all: it is not told again.
    unknown = failed is None
    channel = Telling([failed, done])
    here = guestbook(scene, channel)
    for _ in range(3):
        assert not await here.answer(BOB)
    assert "may not have been told his code" in caplog.text
    assert [one.told for one in await asking(scene)] == [unknown]
    scene.clock.advance(guests.TELL_AGAIN_MS)
    for _ in range(3):
        assert not await here.answer(BOB)
    codes = {one.text for one in channel.sent}
    assert (len(channel.sent), len(codes), len({one.id for one in channel.sent})) == (
        1 if unknown else 2,
        1,
        1,
    )
    assert [one.told for one in await asking(scene)] == [True]


async def test_a_channel_that_asks_for_patience_is_given_it() -> None:
    scene = Scene()
    later = scene.clock.now() + 10 * guests.TELL_AGAIN_MS
    channel = Telling([Postponed(ready_at=later, error="slow down"), Confirmed()])
    here = guestbook(scene, channel)
    await here.answer(BOB)
    scene.clock.advance(9 * guests.TELL_AGAIN_MS)
    await here.answer(BOB)
    assert len(channel.sent) == 1
    scene.clock.advance(guests.TELL_AGAIN_MS)
    await here.answer(BOB)
    assert len(channel.sent) == 2


async def test_two_messages_at_once_are_told_one_code_once() -> None:
    scene, channel = Scene(), Telling([Confirmed(), Confirmed()])
    here = guestbook(scene, channel)
    async with anyio.create_task_group() as group:
        group.start_soon(here.answer, BOB)
        group.start_soon(here.answer, BOB)
    assert (len(channel.sent), len(await asking(scene))) == (1, 1)


async def test_on_a_channel_that_ignores_case_a_person_is_one_however_he_is_written() -> None:
    scene = Scene()
    scene.rules = replace(scene.rules, doors={"irc": ChannelPolicy(traits=KNOWN_CHANNELS)})
    channel = Telling([Confirmed()])
    here = Guestbook(
        scene.store, scene.clock, FreshIds(scene.clock), Rulebook(scene.rules), {Account("irc"): channel}
    )
    for who in ("Bob", "bob", "BOB"):
        assert not await here.answer(replace(BOB, channel="irc", sender=Sender(id=who)))
    assert [one.identity.id for one in await asking(scene)] == ["bob"]


@pytest.mark.parametrize("dedupes", [True, False])
async def test_who_may_have_been_told_when_a_gateway_ended_is_not_told_twice(dedupes: bool) -> None:
    scene, channel = Scene(), Interrupted(dedupes)
    async with anyio.create_task_group() as group:
        group.start_soon(guestbook(scene, channel).answer, BOB)
        await until_all_wait()
        group.cancel_scope.cancel()
    scene.clock.advance(guests.TELL_AGAIN_MS)
    assert not await guestbook(scene, channel).answer(BOB)
    assert len({one.id for one in channel.sent}) == 1
    assert len(channel.sent) == (2 if dedupes else 1)
    (asked,) = await asking(scene)
    assert asked.told


async def test_a_channel_that_hangs_holds_up_its_messages_for_a_while_only() -> None:
    scene = Scene()
    here = guestbook(scene, Hanging())
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(here.answer, BOB)
            await until_all_wait()
            assert not await here.answer(BOB)
            scene.clock.advance(LONGEST_SEND_MS)
    assert [one.told for one in await asking(scene)] == [False]


async def test_where_nobody_can_be_told_nobody_asks() -> None:
    scene = Scene()
    assert not await guestbook(scene, None).answer(BOB)
    nowhere = Envelope(
        channel="loopback",
        sender=Sender(),
        conversation=Conversation(chat_type=ChatType.DIRECT),
        text="hello?",
    )
    assert not await guestbook(scene, LoopbackChannel()).answer(nowhere)
    assert await asking(scene) == ()


async def test_whom_another_gateway_let_in_is_known_here_before_its_news_are() -> None:
    scene = Scene()
    book, channel = Rulebook(scene.rules), LoopbackChannel()
    await guestbook(scene, channel).answer(BOB)
    (asked,) = await asking(scene)
    await scene.store.change_guests(partial(guests.admit, code=asked.code, now=scene.clock.now()))
    assert await guestbook(scene, channel, book).answer(BOB)
    assert book.current.door(Account("loopback")).paired == {"loopback:bob"}


async def test_what_is_decided_through_any_gateway_is_followed() -> None:
    scene = Scene()
    book, channel = Rulebook(scene.rules), LoopbackChannel()
    here = guestbook(scene, channel, book)
    await here.answer(BOB)
    (asked,) = await asking(scene)
    async with anyio.create_task_group() as group:
        group.start_soon(here.follow)
        await until_all_wait()
        await scene.store.change_guests(partial(guests.admit, code=asked.code, now=scene.clock.now()))
        await until_all_wait()
        assert book.current.door(Account("loopback")).paired == {"loopback:bob"}
        await scene.store.change_guests(partial(guests.remove, guest_id=asked.id))
        await until_all_wait()
        assert book.current.door(Account("loopback")).paired == frozenset()
        group.cancel_scope.cancel()
