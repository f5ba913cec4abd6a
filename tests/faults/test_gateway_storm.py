"""A real gateway on a real file, to which things happen at any moment: no message is lost, none comes to two ends."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from random import Random

import anyio
import pytest

from roost.clock import SystemClock
from roost.core.inbound import InboundState
from roost.core.leases import Gateway
from roost.stores.sqlite import SqliteStore
from roost.testing.fake_http import Asked, Reply
from roost.testing.fake_openai import FakeOpenAI, reply_of
from tests.faults.numbered import (
    COMPACT,
    answer,
    command_id,
    condenses,
    external_id,
    judge,
    judge_commands,
    summary,
    words,
)
from tests.faults.platform import NAME, Platform
from tests.faults.processes import Process
from tests.scale import count, seeds

MESSAGES = count(60, 500)
SENDERS = ("ada", "bob", "eve")
GATEWAY = "storm"
SILENCE_MS, CAP = "250", "3"
LONGEST_PAUSE_S = 0.12

Happening = Callable[["Storm"], Awaitable[None]]


class Storm:
    def __init__(self, platform: Platform, server: FakeOpenAI, folder: Path, chance: Random) -> None:
        self.platform, self.chance = platform, chance
        self.said = self.commands = self.kills = 0
        self._folder, self._model_url = folder, server.base_url
        self.process = self._started()

    def _started(self) -> Process:
        return Process(self.platform, self._folder, self._model_url, GATEWAY, SILENCE_MS, CAP)

    async def say(self) -> None:
        """A few messages in a row, as people write."""
        for _ in range(min(self.chance.choice((1, 1, 2, 5)), MESSAGES - self.said)):
            text, sender = words(self.said, self.chance), self.chance.choice(SENDERS)
            self.platform.say(external_id(self.said), text, sender)
            self.said += 1

    async def repeat(self) -> None:
        """A platform may deliver a message again."""
        self.platform.repeat(external_id(self.chance.randrange(self.said + 1)))

    async def stop(self) -> None:
        self.platform.do("stop")

    async def compact(self) -> None:
        self.platform.say(command_id(self.commands), COMPACT, self.chance.choice(SENDERS))
        self.commands += 1

    async def reload(self) -> None:
        self.platform.do("reload", seed=str(self.chance.random()))

    async def kill(self) -> None:
        self.process.kill()
        self.kills += 1
        self.process = self._started()
        if self.chance.random() < 0.8:
            await self.process.until_said("serves")

    async def happen(self, odds: Mapping[Happening, int]) -> None:
        (what,) = self.chance.choices(list(odds), list(odds.values()))
        await what(self)
        await anyio.sleep(self.chance.random() * LONGEST_PAUSE_S)

    async def calm(self) -> None:
        """What is left is answered by whoever lives last."""
        names = {external_id(number) for number in range(self.said)}
        names |= {command_id(number) for number in range(self.commands)}
        await self.process.until_said("serves")
        await self.platform.until(lambda: names <= self.platform.acknowledged)
        self.platform.do("settle")
        await self.process.until_said("settled")


# What can happen to a gateway from outside, with its odds. Resets and timeouts lie in what is said to it.
DISTURBANCES: Mapping[Happening, int] = {
    Storm.say: 30,
    Storm.repeat: 4,
    Storm.stop: 3,
    Storm.compact: 8,
    Storm.reload: 4,
    Storm.kill: count(6, 3),
}


def pause(chance: Random) -> anyio.Event:
    """An event that comes a moment later."""
    event = anyio.Event()
    asyncio.get_running_loop().call_later(chance.random() * LONGEST_PAUSE_S, event.set)
    return event


def model(chance: Random) -> Callable[[Asked], Reply]:
    def reply(asked: Asked) -> Reply:
        messages = asked.body["messages"]
        assert isinstance(messages, list)
        if condenses(str(messages[0]["content"])):
            return reply_of(summary(lambda: pause(chance)))
        turns = [
            (one["role"] == "assistant", str(one["content"] or ""))
            for one in messages
            if one["role"] in ("user", "assistant")
        ]
        last = messages[-1]["role"]
        return reply_of(answer(turns, last_is_result=last == "tool", pause=lambda: pause(chance)))

    return reply


@pytest.mark.requirement("P3", "P4", "P10", "P13", "P14")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", seeds(1, 3))
async def test_every_numbered_message_comes_to_one_end_whatever_happens_meanwhile(
    tmp_path: Path, seed: int
) -> None:
    chance = Random(seed)
    async with (
        Platform(tmp_path / "platform").opened() as platform,
        FakeOpenAI(otherwise=model(chance)) as server,
    ):
        storm = Storm(platform, server, tmp_path, chance)
        try:
            while storm.said < MESSAGES:
                await storm.happen(DISTURBANCES)
            await storm.calm()
        finally:
            storm.process.kill()
    assert storm.process.errors == ""
    store = SqliteStore.open(tmp_path / "roost.db", SystemClock())
    await store.acquire_lease(Gateway(name=GATEWAY, holder="the test"))
    ends = await judge(store, NAME, MESSAGES, [one.text for one in platform.arrived])
    condensed = await judge_commands(store, NAME, storm.commands)
    await store.close()
    print(dict(ends), f"{storm.kills} kills, {condensed} times condensed")  # noqa: T201 — shown when it fails
    assert ends.total() == MESSAGES
    assert ends[InboundState.PENDING] == 0
