"""Who asks to be let in, where the channel that should tell him breaks or hangs, and where another gateway let him in."""

from functools import partial

import anyio
import pytest

from roost.channels.loopback import LoopbackChannel
from roost.core import guests
from roost.core.addresses import Account, ChatType
from roost.core.deliveries import Delivery, SendResult
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


class Broken(LoopbackChannel):
    async def send(self, delivery: Delivery) -> SendResult:
        raise OSError("no network")


class Hanging(LoopbackChannel):
    async def send(self, delivery: Delivery) -> SendResult:
        await anyio.sleep_forever()
        raise AssertionError("nobody wakes it")


def guestbook(scene: Scene, channel: LoopbackChannel | None, book: Rulebook | None = None) -> Guestbook:
    channels = {} if channel is None else {Account("loopback"): channel}
    known = book or Rulebook(scene.rules)
    return Guestbook(scene.store, scene.clock, FreshIds(scene.clock), known, channels)


async def asking(scene: Scene) -> tuple[Knock, ...]:
    return (await scene.store.guests()).asking


async def test_a_channel_that_breaks_leaves_the_code_to_be_told_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = Scene()
    assert not await guestbook(scene, Broken()).answer(BOB)
    (before,) = await asking(scene)
    assert (before.told, "was not told his code" in caplog.text) == (False, True)
    channel = LoopbackChannel()
    assert not await guestbook(scene, channel).answer(BOB)
    (after,) = await asking(scene)
    assert (after.told, after.code) == (True, before.code)
    assert before.code in channel.replies(after.chat)[0]


async def test_a_channel_that_hangs_holds_up_its_messages_for_a_while_only() -> None:
    scene = Scene()
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(guestbook(scene, Hanging()).answer, BOB)
            await until_all_wait()
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
