"""Letters where nobody sends them on."""

from dataclasses import replace

import anyio
import pytest

from roost.channels.loopback import LoopbackChannel
from roost.core.addresses import Account, Address
from roost.core.admission import ChannelPolicy
from roost.core.deliveries import DeliveryState
from roost.core.errors import InvalidInput
from roost.core.letters import Letter
from roost.core.principals import OWNER
from roost.engine.letters import LONGEST_WAIT_MS, Letters, Posted
from roost.engine.rulebook import Rulebook
from roost.testing.builders import Names
from roost.testing.clock import NOON
from tests.unit.engine.scenes import Scene
from tests.waiting import until_all_wait

TO = Address(channel="loopback", to="alice")


def posting(scene: Scene) -> Letters:
    names = Names()
    return Letters(
        scene.store,
        scene.clock,
        lambda: names("id"),
        Rulebook(scene.rules),
        {Account("loopback"): LoopbackChannel()},
    )


def letter(text: str = "hello") -> Letter:
    return Letter(name="n", by=OWNER, to=TO, text=text, at=NOON)


async def test_to_an_account_that_is_off_nothing_is_sent() -> None:
    scene = Scene()
    door = ChannelPolicy(accounts={"default": ChannelPolicy(enabled=False)})
    scene.rules = replace(scene.rules, doors={"loopback": door})
    with pytest.raises(InvalidInput, match=r"loopback is off \(set `enabled`"):
        await posting(scene).send(letter())
    assert await scene.store.deliveries(DeliveryState.INTENT, 10) == ()


async def test_who_waits_too_long_is_told_how_far_it_is() -> None:
    scene, found = Scene(), list[Posted]()

    async def send() -> None:
        found.append(await posting(scene).send(letter()))

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(send)
            while not found:
                await until_all_wait()
                scene.clock.advance(LONGEST_WAIT_MS)
    assert [part.state for part in found[0].parts] == [DeliveryState.INTENT]


async def test_the_same_letter_at_the_same_time_is_sent_once() -> None:
    scene, found = Scene(), list[Posted]()
    letters = posting(scene)

    async def send() -> None:
        found.append(await letters.send(letter()))

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(send)
            group.start_soon(send)
            while len(found) < 2:
                await until_all_wait()
                scene.clock.advance(LONGEST_WAIT_MS)
    assert found[0] == found[1]
    assert len(await scene.store.deliveries(DeliveryState.INTENT, 10)) == 1
