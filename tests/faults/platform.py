"""A chat platform on a socket, and the channel by which gateways in other processes reach it.

The platform lives in the test. What it has not been told to have been received it gives to every gateway that
listens; what gateways send is kept as it arrives, twice if it is sent twice.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import ByteStream
from anyio.streams.buffered import BufferedByteReceiveStream

from roost.core.addresses import DEFAULT_ACCOUNT, ChatType
from roost.core.channels import ChannelAbilities, Knowledge
from roost.core.deliveries import Confirmed, Delivery, SendResult, Unknown
from roost.core.envelopes import Conversation, Envelope, Sender
from roost.core.errors import RoostError
from roost.ports import Receive

NAME = "platform"
ABILITIES = ChannelAbilities(longest=4000)
LONGEST_LINE = 1 << 20

Line = dict[str, Any]


def _bytes(line: Line) -> bytes:
    return json.dumps(line).encode() + b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """A message that people see."""

    delivery: str
    to: str
    text: str


class Platform:
    """What people do and see. Nothing is deduplicated, and it cannot be asked what it was sent."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._messages: dict[str, Line] = {}
        self._listeners: set[asyncio.StreamWriter] = set()
        self._handlers: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()
        self._held: list[Callable[[], None]] | None = None
        self.arrived: list[Arrived] = []
        self.acknowledged: set[str] = set()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator["Platform"]:
        server = await asyncio.start_unix_server(self._connection, self._path, limit=LONGEST_LINE)
        try:
            yield self
        finally:
            server.close()
            for handler in self._handlers:
                handler.cancel()
            await asyncio.gather(*self._handlers, return_exceptions=True)
            await server.wait_closed()

    def say(self, external_id: str, text: str, sender: str) -> None:
        """A direct message of a person."""
        self._messages[external_id] = {"message": external_id, "text": text, "sender": sender}
        self.repeat(external_id)

    def repeat(self, external_id: str) -> None:
        """Give a message that was said to every gateway that listens, whether or not one has received it."""
        if external_id in self._messages:
            for listener in self._listeners:
                listener.write(_bytes(self._messages[external_id]))

    def do(self, what: str, **words: str) -> None:
        """Have every gateway that listens do something to itself."""
        for listener in self._listeners:
            listener.write(_bytes({"do": what, **words}))

    def hold_answers(self) -> None:
        """From now on sends arrive, and their senders are not told."""
        self._held = []

    def release_answers(self) -> None:
        held, self._held = self._held or [], None
        for tell in held:
            tell()

    def texts(self, to: str) -> list[str]:
        return [one.text for one in self.arrived if one.to == to]

    def tell(self) -> None:
        """Something happened: whoever waits looks again."""
        self._news.set()
        self._news = asyncio.Event()

    async def until(self, true: Callable[[], bool], within_s: float = 60) -> None:
        async with asyncio.timeout(within_s):
            while not true():
                await self._news.wait()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handler = asyncio.current_task()
        assert handler is not None
        self._handlers.add(handler)
        try:
            # Cancelled only when the platform ends, and asyncio would report that as an error.
            with suppress(ConnectionError, asyncio.CancelledError):
                while line := await reader.readline():
                    self._hear(json.loads(line), writer)
        finally:
            self._handlers.discard(handler)
            self._listeners.discard(writer)
            writer.transport.abort()

    def _hear(self, line: Line, writer: asyncio.StreamWriter) -> None:
        if "listen" in line:
            self._listeners.add(writer)
            waiting = (self._messages[name] for name in self._messages if name not in self.acknowledged)
            writer.writelines(_bytes(message) for message in waiting)
        if "received" in line:
            self.acknowledged.add(line["received"])
        if "send" in line:
            self.arrived.append(Arrived(delivery=line["send"], to=line["to"], text=line["text"]))
            self._answer(lambda: writer.write(_bytes({"sent": line["send"]})))
        self.tell()

    def _answer(self, tell: Callable[[], None]) -> None:
        if self._held is None:
            tell()
        else:
            self._held.append(tell)


@dataclass(slots=True)
class PlatformChannel:
    """A gateway's end of it. `orders` are what the test wants the gateway to do to itself."""

    stream: ByteStream
    name: str = NAME
    account: str = DEFAULT_ACCOUNT
    abilities: ChannelAbilities = ABILITIES
    orders: list[Line] = field(default_factory=list)
    _messages: list[Line] = field(default_factory=list)
    _sent: dict[str, anyio.Event] = field(default_factory=dict)
    _news: anyio.Event = field(default_factory=anyio.Event)

    @classmethod
    @asynccontextmanager
    async def connected(cls, path: str) -> AsyncIterator["PlatformChannel"]:
        async with await anyio.connect_unix(path) as stream, anyio.create_task_group() as group:
            channel = cls(stream)
            group.start_soon(channel._hear)
            yield channel
            group.cancel_scope.cancel()

    async def _hear(self) -> None:
        lines = BufferedByteReceiveStream(self.stream)
        with suppress(anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
            while True:
                line = json.loads(await lines.receive_until(b"\n", LONGEST_LINE))
                if "message" in line:
                    self._messages.append(line)
                elif "do" in line:
                    self.orders.append(line)
                else:
                    self._sent[line["sent"]].set()
                self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = anyio.Event()

    async def news(self) -> None:
        await self._news.wait()

    async def run(self, receive: Receive) -> None:
        await self.stream.send(_bytes({"listen": True}))
        while True:
            while not self._messages:
                await self._news.wait()
            line = self._messages.pop(0)
            # What is refused the platform keeps, and gives to whoever listens next.
            with suppress(RoostError):
                await receive(_envelope(line))
                await self.stream.send(_bytes({"received": line["message"]}))

    async def send(self, delivery: Delivery) -> SendResult:
        told = self._sent[delivery.id] = anyio.Event()
        line = {"send": delivery.id, "to": delivery.address.to, "text": delivery.text}
        try:
            await self.stream.send(_bytes(line))
        except anyio.BrokenResourceError as error:
            return Unknown(error=repr(error))
        await told.wait()
        return Confirmed(receipt=delivery.id)

    async def ask(self, delivery: Delivery) -> Knowledge:
        return Knowledge.UNKNOWN


def _envelope(line: Line) -> Envelope:
    return Envelope(
        channel=NAME,
        sender=Sender(id=line["sender"], name=line["sender"].title()),
        conversation=Conversation(chat_type=ChatType.DIRECT, peer=line["sender"]),
        text=line["text"],
        external_id=line["message"],
    )
