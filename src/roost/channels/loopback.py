"""A channel within the process, for tests, examples and embedding. It is also its own platform and its people's view.

One object is one account; it keeps all that was said on it, and what it keeps survives a `run` that ends.
"""

from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import count

import anyio
import anyio.lowlevel

from roost.core.addresses import DEFAULT_ACCOUNT, Address, ChatType
from roost.core.channels import ChannelAbilities, Knowledge
from roost.core.deliveries import Confirmed, Delivery, Rejected, SendResult
from roost.core.envelopes import Conversation, Envelope, Sender, reply_address
from roost.core.errors import InvalidInput, RoostError
from roost.ports import Receive

EVERYTHING = ChannelAbilities(longest=4000, dedupes=True, answers=True, threads=True)
DIRECT = Conversation(chat_type=ChatType.DIRECT)
MOST_WAITING = 1000
REDELIVERIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One message as people see it; what the agent wrote has no sender. `id` is the platform's."""

    id: str
    text: str
    sender: Sender | None = None


@dataclass(slots=True, eq=False)
class _Waiting:
    """A message that is not acknowledged, and how often it was refused."""

    envelope: Envelope
    refused: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Script:
    result: SendResult
    arrives: bool


class LoopbackChannel:
    """A `Channel` whose people speak through `say` and see `messages`."""

    def __init__(
        self,
        *,
        name: str = "loopback",
        account: str = DEFAULT_ACCOUNT,
        abilities: ChannelAbilities = EVERYTHING,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        self._name = name
        self._account = account
        self._abilities = abilities
        self._most_waiting = most_waiting
        self._waiting: deque[_Waiting] = deque()
        self._shown: defaultdict[Address, list[Shown]] = defaultdict(list)
        self._said: set[str] = set()
        self._receipts: dict[str, str] = {}
        self._scripts: deque[_Script] = deque()
        self._before, self._after = _Gate(), _Gate()
        self._ids = count(1)
        self._news = anyio.Event()

    @property
    def name(self) -> str:
        return self._name

    @property
    def account(self) -> str:
        return self._account

    @property
    def abilities(self) -> ChannelAbilities:
        return self._abilities

    # -- the gateway's side --------------------------------------------------------------------------

    async def run(self, receive: Receive) -> None:
        """A message that is refused with a `RoostError` is given again, a few times at once and then when
        `redeliver` is called or the next `run` begins. Any other error ends this one."""
        self.redeliver()
        while True:
            await anyio.lowlevel.checkpoint()
            message = await self._next_message()
            try:
                await receive(message.envelope)
            except RoostError:
                message.refused += 1
            else:
                self._acknowledge(message)

    async def send(self, delivery: Delivery) -> SendResult:
        await anyio.lowlevel.checkpoint()
        refusal = self._refusal(delivery)
        if refusal:
            return Rejected(error=refusal)
        script = self._scripts.popleft() if self._scripts else None
        await self._before.passed()
        receipt = self._arrive(delivery) if script is None or script.arrives else None
        await self._after.passed()
        return script.result if script else Confirmed(receipt=receipt)

    async def ask(self, delivery: Delivery) -> Knowledge:
        await anyio.lowlevel.checkpoint()
        if not self._abilities.answers:
            return Knowledge.UNKNOWN
        return Knowledge.SENT if delivery.id in self._receipts else Knowledge.NOT_SENT

    # -- the people's side ---------------------------------------------------------------------------

    async def say(
        self,
        text: str,
        *,
        sender: Sender,
        chat: Conversation = DIRECT,
        external_id: str | None = None,
        mentions_bot: bool = False,
    ) -> Envelope:
        """Write a message; waits while too many are not acknowledged. An `external_id` said before is the same
        message, delivered once more."""
        if not self._abilities.threads and (chat.thread or chat.topic):
            raise InvalidInput(
                f"{self._name} has no threads", hint="give it the ability, or write in the chat"
            )
        envelope = Envelope(
            channel=self._name,
            account=self._account,
            sender=sender,
            conversation=chat,
            text=text,
            external_id=external_id or f"in-{next(self._ids)}",
            mentions_bot=mentions_bot,
        )
        while len(self._waiting) >= self._most_waiting:
            await self._news.wait()
        self._waiting.append(_Waiting(envelope))
        self._show_said(envelope)
        self._tell()
        return envelope

    def redeliver(self) -> None:
        """Give again what was refused too often."""
        for message in self._waiting:
            message.refused = 0
        self._tell()

    @property
    def unacknowledged(self) -> tuple[Envelope, ...]:
        return tuple(message.envelope for message in self._waiting)

    async def wait_acknowledged(self) -> None:
        while self._waiting:
            await self._news.wait()

    def messages(self, address: Address) -> tuple[Shown, ...]:
        """All that is seen at a place, oldest first."""
        return tuple(self._shown.get(address, ()))

    def replies(self, address: Address) -> tuple[str, ...]:
        """What the agent wrote there."""
        return tuple(shown.text for shown in self.messages(address) if shown.sender is None)

    async def wait_replies(self, address: Address, at_least: int = 1) -> tuple[str, ...]:
        while len(self.replies(address)) < at_least:
            await self._news.wait()
        return self.replies(address)

    # -- faults --------------------------------------------------------------------------------------

    def answer_next(self, result: SendResult, *, arrives: bool = False) -> None:
        """Script the next send that has no script yet: what it tells, and whether the message really arrives."""
        self._scripts.append(_Script(result=result, arrives=arrives))

    def held_before_arrival(self) -> AbstractContextManager[anyio.Event]:
        """Within the block sends wait, unseen; the event is set when the first one does."""
        return self._before.closed()

    def held_after_arrival(self) -> AbstractContextManager[anyio.Event]:
        """Within the block sends wait after people saw the message; the event is set when the first one does."""
        return self._after.closed()

    # ------------------------------------------------------------------------------------------------

    async def _next_message(self) -> _Waiting:
        while True:
            for message in self._waiting:
                if message.refused <= REDELIVERIES:
                    return message
            await self._news.wait()

    def _acknowledge(self, message: _Waiting) -> None:
        if message in self._waiting:
            self._waiting.remove(message)
        self._tell()

    def _refusal(self, delivery: Delivery) -> str | None:
        address = delivery.address
        if (address.channel, address.account) != (self._name, self._account):
            return f"{address.channel}/{address.account} is not {self._name}/{self._account}"
        if address.thread and not self._abilities.threads:
            return f"{self._name} has no threads"
        if not delivery.text.strip():
            return "a message without words cannot be sent"
        if len(delivery.text) > self._abilities.longest:
            return f"{len(delivery.text)} characters are more than the {self._abilities.longest} a message may have"
        return None

    def _arrive(self, delivery: Delivery) -> str:
        known = self._receipts.get(delivery.id)
        if known is not None and self._abilities.dedupes:
            return known
        receipt = f"out-{next(self._ids)}"
        self._receipts[delivery.id] = receipt
        self._shown[delivery.address].append(Shown(id=receipt, text=delivery.text))
        self._tell()
        return receipt

    def _show_said(self, envelope: Envelope) -> None:
        address, name = reply_address(envelope), envelope.external_id or ""
        if address is not None and name not in self._said:
            self._said.add(name)
            self._shown[address].append(Shown(id=name, text=envelope.text, sender=envelope.sender))

    def _tell(self) -> None:
        self._news.set()
        self._news = anyio.Event()


class _Gate:
    """Where sends wait while it is closed."""

    def __init__(self) -> None:
        self._opened: anyio.Event | None = None
        self._waits = anyio.Event()

    @contextmanager
    def closed(self) -> Iterator[anyio.Event]:
        opened, self._waits = anyio.Event(), anyio.Event()
        self._opened = opened
        try:
            yield self._waits
        finally:
            self._opened = None
            opened.set()

    async def passed(self) -> None:
        if self._opened is not None:
            self._waits.set()
            await self._opened.wait()
