"""Sends whose outcome nobody knows: made up for where the channel allows it, and shown where it does not."""

from dataclasses import replace

import anyio
import pytest

from roost.channels.loopback import LoopbackChannel
from roost.core.backoff import GIVE_UP_MS, QUICK_MS
from roost.core.channels import ChannelAbilities, Knowledge
from roost.core.deliveries import Delivery, DeliveryState, SendResult, Unknown
from roost.engine.outbox import LONGEST_SEND_MS
from roost.testing import builders
from roost.testing.builders import CHAT
from tests.unit.engine.scenes import Scene
from tests.unit.engine.sends import found, put, serving
from tests.waiting import until_all_wait


class Broken(LoopbackChannel):
    """A channel that does not keep its promise."""

    async def send(self, delivery: Delivery) -> SendResult:
        raise ZeroDivisionError


MUTE = ChannelAbilities(longest=4000)
ASKED = ChannelAbilities(longest=4000, answers=True)
DEDUPES = ChannelAbilities(longest=4000, dedupes=True)
IN_DOUBT = [
    (MUTE, DeliveryState.UNCERTAIN),
    (ASKED, DeliveryState.INTENT),
    (DEDUPES, DeliveryState.INTENT),
]


@pytest.mark.requirement("P9")
@pytest.mark.parametrize(("abilities", "state"), IN_DOUBT)
async def test_a_send_that_breaks_is_in_doubt_and_ends_nothing(
    abilities: ChannelAbilities, state: DeliveryState
) -> None:
    scene = Scene()
    await put(scene, builders.delivery("d1"))
    async with serving(scene, Broken(abilities=abilities)):
        await until_all_wait()
        broken = await found(scene, "d1")
        assert broken.state is state
        assert "ZeroDivisionError" in (broken.error or "")


@pytest.mark.requirement("P9")
@pytest.mark.parametrize("arrived", [True, False])
@pytest.mark.parametrize("abilities", [ASKED, DEDUPES])
async def test_what_comes_after_a_send_in_doubt_waits_where_that_can_be_made_up_for(
    abilities: ChannelAbilities, arrived: bool
) -> None:
    scene, channel = Scene(), LoopbackChannel(abilities=abilities)
    await put(scene, builders.delivery("d1", text="one"), builders.delivery("d2", text="two"))
    channel.answer_next(Unknown(error="no answer"), arrives=arrived)
    async with serving(scene, channel):
        await until_all_wait()
        assert (await found(scene, "d2")).attempts == 0
        scene.clock.advance(QUICK_MS[0])
        with anyio.fail_after(60):
            assert await channel.wait_replies(CHAT, 2) == ("one", "two")
    assert [(await found(scene, name)).state for name in ("d1", "d2")] == [DeliveryState.CONFIRMED] * 2


class Forgetful(LoopbackChannel):
    """A channel that does not know what it sent."""

    async def ask(self, delivery: Delivery) -> Knowledge:
        return Knowledge.UNKNOWN


@pytest.mark.requirement("P9")
async def test_what_a_channel_knows_nothing_of_is_not_sent_a_second_time() -> None:
    scene, channel = Scene(), Forgetful(abilities=ASKED)
    await put(scene, builders.delivery("d1"))
    channel.answer_next(Unknown(error="no answer"))
    async with serving(scene, channel):
        await until_all_wait()
        scene.clock.advance(QUICK_MS[0])
        await until_all_wait()
    lost = await found(scene, "d1")
    assert (lost.state, lost.error) == (DeliveryState.UNCERTAIN, "no answer")
    assert channel.replies(CHAT) == ()


@pytest.mark.requirement("P9")
@pytest.mark.parametrize("abilities", [ASKED, DEDUPES])
async def test_a_send_that_stays_in_doubt_is_shown_after_half_an_hour(abilities: ChannelAbilities) -> None:
    scene, channel = Scene(), LoopbackChannel(abilities=abilities)
    old = scene.clock.now() - GIVE_UP_MS
    await put(scene, replace(builders.delivery("d1"), attempts=len(QUICK_MS), created_at=old))
    channel.answer_next(Unknown(error="no answer"))
    async with serving(scene, channel):
        await until_all_wait()
    assert (await found(scene, "d1")).state is DeliveryState.UNCERTAIN


async def renewed(scene: Scene) -> None:
    (lease,) = await scene.store.gateways()
    await scene.store.renew_lease(lease)


@pytest.mark.requirement("P9")
@pytest.mark.parametrize(("abilities", "state"), IN_DOUBT)
async def test_a_send_that_is_never_answered_is_given_up_in_doubt(
    abilities: ChannelAbilities, state: DeliveryState
) -> None:
    scene, channel = Scene(), LoopbackChannel(abilities=abilities)
    await put(scene, builders.delivery("d1"))
    with channel.held_before_arrival() as held:
        async with serving(scene, channel):
            await held.wait()
            for _ in range(LONGEST_SEND_MS // 5_000):
                await until_all_wait()
                assert (await found(scene, "d1")).state is DeliveryState.SENDING
                scene.clock.advance(5_000)
                await renewed(scene)
            await until_all_wait()
            given_up = await found(scene, "d1")
            assert given_up.state is state
            assert "60 s" in (given_up.error or "")
