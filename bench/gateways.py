"""A gateway to be measured: the real engine and store, a model in another process, and people who wait for answers."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import anyio

from bench.model_process import HANGS
from roost.clock import SystemClock
from roost.core.addresses import DEFAULT_ACCOUNT, ChatType
from roost.core.admission import ChannelPolicy, DmPolicy
from roost.core.channels import ChannelAbilities, Knowledge
from roost.core.deliveries import Confirmed, Delivery, SendResult
from roost.core.envelopes import Conversation, Envelope, Sender
from roost.core.feeds import FeedItem
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.models import ModelRef, ModelSpec
from roost.core.principals import OWNER
from roost.core.queuesettings import QueuePolicy, QueueSettings
from roost.core.routing import RoutingRules
from roost.core.runs import Lane, Run
from roost.core.scopes import DmScope
from roost.core.sessions import Session
from roost.core.tools import Place
from roost.core.turntaking import Limits
from roost.core.visibility import PersonCaller
from roost.engine.feed import Feed
from roost.engine.gateway import Engine
from roost.engine.ids import FreshIds
from roost.engine.rules import Part, Rules
from roost.models.endpoints import Endpoint
from roost.models.openai import OpenAIModel
from roost.ports import Receive
from roost.stores.sqlite import SqliteStore

NAME = "desk"
CEILING = 128


@contextmanager
def model_process() -> Iterator[str]:
    """The base URL of a model that answers at once."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.model_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()


class Desk:
    """A channel that keeps nothing: each message is handed over at once, and its answer ends the wait for it."""

    name = NAME
    account = DEFAULT_ACCOUNT
    abilities = ChannelAbilities(longest=100_000, dedupes=True)

    def __init__(self) -> None:
        self._said, self._heard = anyio.create_memory_object_stream[Envelope](10_000)
        self._waiting: dict[str, asyncio.Future[str]] = {}

    async def run(self, receive: Receive) -> None:
        async def hand_over(envelope: Envelope) -> None:
            await receive(envelope)

        async with anyio.create_task_group() as group:
            async for envelope in self._heard:
                group.start_soon(hand_over, envelope)

    async def send(self, delivery: Delivery) -> SendResult:
        waiting = self._waiting.pop(delivery.address.to, None)
        if waiting is not None:
            waiting.set_result(delivery.text)
        return Confirmed(receipt=delivery.id)

    async def ask(self, delivery: Delivery) -> Knowledge:
        return Knowledge.UNKNOWN

    def close(self) -> None:
        self._said.close()
        self._heard.close()

    def expect(self, person: str) -> "asyncio.Future[str]":
        """What this person is told next."""
        told = self._waiting[person] = asyncio.get_running_loop().create_future()
        return told

    def write(self, person: str, external_id: str) -> "asyncio.Future[str]":
        """The answer to come; one message a person at a time."""
        answer = self.expect(person)
        self.hand_in(person, external_id)
        return answer

    def hand_in(self, person: str, external_id: str) -> None:
        envelope = Envelope(
            channel=NAME,
            sender=Sender(id=person),
            conversation=Conversation(chat_type=ChatType.DIRECT, peer=person),
            text="A question of ordinary length, as people ask them.",
            external_id=external_id,
        )
        self._said.send_nowait(envelope)


@dataclass
class Gate:
    """What a measurement holds. `model` names how the next runs are answered."""

    desk: Desk
    endpoint: OpenAIModel
    store: SqliteStore
    model: str = "4"
    turns: int = 0
    owners: tuple[str, ...] = ()
    feed: Feed = field(init=False)

    async def turn(self, person: str) -> str:
        """From the message to its answer in the channel."""
        self.turns += 1
        answer = await self.desk.write(person, f"e{self.turns}")
        if not answer.startswith("word"):
            raise RuntimeError(f"no answer: {answer}")
        return answer

    @asynccontextmanager
    async def heard(self, person: str) -> AsyncIterator[list[FeedItem]]:
        """Someone listens to a person's session; what they heard."""
        key, items = SessionKey.parse(f"agent:main:{NAME}:direct:{person}"), list[FeedItem]()

        async def listen(feed: AsyncIterator[FeedItem]) -> None:
            async for item in feed:
                items.append(item)

        me = PersonCaller(principal=OWNER)
        async with self.feed.subscribe(key, me) as feed, anyio.create_task_group() as group:
            group.start_soon(listen, feed)
            yield items
            group.cancel_scope.cancel()

    def cast(self, session: Session, run: Run) -> Part:
        hangs = run.key.name.startswith(HANGS)
        return Part(
            model=self.endpoint,
            spec=ModelSpec(
                ref=ModelRef("fake", HANGS if hangs else self.model),
                context_window=1_000_000,
                max_tokens=4_096,
            ),
            reason="the only model",
            system="You are measured.",
            place=Place(workspace="/nonexistent"),
        )


GateKind = TypeVar("GateKind", bound=Gate)


@asynccontextmanager
async def served(
    path: Path, model_url: str, kind: Callable[[Desk, OpenAIModel, SqliteStore], GateKind]
) -> AsyncIterator[GateKind]:
    """A gateway that serves, on a file with whatever is in it."""
    clock = SystemClock()
    store = SqliteStore.open(path, clock)
    endpoint = OpenAIModel(Endpoint(provider="fake", base_url=model_url), clock)
    gate = kind(Desk(), endpoint, store)
    rules = Rules(
        cast=gate.cast,
        doors={NAME: ChannelPolicy(dm_policy=DmPolicy.OPEN, owner_ids=gate.owners)},
        routing=RoutingRules(dm_scope=DmScope.PER_CHANNEL_PEER),
        queue=QueuePolicy(base=QueueSettings(debounce_ms=0)),
        limits=Limits(ceiling=CEILING, lanes={Lane.SUBAGENT: 8}),
    )
    engine = Engine(store, clock, FreshIds(clock), rules, [gate.desk], jitter=lambda: 0.0)
    gate.feed = engine.feed
    try:
        async with engine.serving(Gateway(name="bench", holder="bench")):
            yield gate
    finally:
        gate.desk.close()
        await endpoint.aclose()
        await store.close()


def gates(path: Path, model_url: str) -> AbstractAsyncContextManager[Gate]:
    return served(path, model_url, Gate)
