"""Every seam of Roost. What is not here cannot be swapped.

A docstring is the contract; one suite a port runs it against every implementation.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeAlias

from roost.core.channels import ChannelAbilities, Knowledge
from roost.core.deliveries import Delivery, SendResult
from roost.core.envelopes import Envelope
from roost.core.errors import RoostError
from roost.core.exchanges import Exchange
from roost.core.inbound import Accepted
from roost.core.models import ModelEvent, ModelRequest, ToolSpec
from roost.core.redaction import SecretScanner
from roost.core.remotes import Taken
from roost.core.tools import Ended, Invocation, ToolCommand, ToolOutcome, ToolTraits
from roost.core.topics import Topic, TopicKind
from roost.ports.runs import Recover, Starter
from roost.ports.store import Begin, Render, Store, Told

__all__ = [
    "Accepted",
    "Begin",
    "Channel",
    "Clock",
    "Egress",
    "Ended",
    "Model",
    "Receive",
    "Recover",
    "Remote",
    "Render",
    "Report",
    "Sandbox",
    "SecretScanner",
    "Starter",
    "Store",
    "Told",
    "Tool",
    "ToolCommand",
    "Topic",
    "TopicKind",
    "Unreached",
]


class Clock(Protocol):
    """Where time comes from."""

    def now(self) -> int:
        """UTC milliseconds."""
        ...

    async def sleep(self, milliseconds: int) -> None:
        """Return when that much time of this clock has passed."""
        ...

    def later(self, milliseconds: int, act: Callable[[], None]) -> Callable[[], None]:
        """Do something on the event loop when that much time has passed, unless what is answered is called before."""
        ...


class Model(Protocol):
    """One provider's way of answering. Holds no state of a conversation."""

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """Make one call. Text and thinking come as they are written; `Finished` is last and holds all of it.

        Leaving the context ends the call at once, also at the provider. Every failure, before or in the middle
        of the answer, is a `ModelFailed` with its kind; a stream that ends without its end is transient.
        """
        ...


Receive: TypeAlias = Callable[[Envelope], Awaitable[None]]


class Channel(Protocol):
    """A platform on which people write. `name` and `account` are those of its addresses."""

    @property
    def name(self) -> str: ...

    @property
    def account(self) -> str: ...

    @property
    def abilities(self) -> ChannelAbilities: ...

    async def run(self, receive: Receive) -> None:
        """Hand every message to `receive` until cancelled. A message is acknowledged to the platform only after
        `receive` returned; if it raised, the platform is left to deliver it again."""
        ...

    async def send(self, delivery: Delivery) -> SendResult:
        """Send one message, no longer than the channel's longest. Raises nothing that a result can say."""
        ...

    async def ask(self, delivery: Delivery) -> Knowledge:
        """Whether a message was sent; `UNKNOWN` where the platform cannot be asked."""
        ...


class Unreached(RoostError):
    """Nothing was sent: nobody was there to take it."""

    code = "unreached"


class Unanswered(RoostError):
    """Whether it was taken is not known: no answer came."""

    code = "unanswered"


class Egress(Protocol):
    """The way out to a web address that somebody gave."""

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        """Post to an address, and to where it sends on, none of which may be private; the status of the answer. Raises
        `Unreached` where nothing was sent, `Unanswered` where that is open, and another `RoostError` where it may not
        be."""
        ...


class Remote(Protocol):
    """Another gateway."""

    async def carry(
        self, exchange: Exchange, limit_ms: int, taken: Callable[[Taken], Awaitable[None]]
    ) -> str | None:
        """Say a message in a session of that gateway and wait for what is answered; None for an answer without words. It
        may take so long there. `taken` hears that the gateway has it, and how far it is. Carried again, it is the same
        message by its id, and is answered once. Raises `Unreached` where it may be reached later, and another
        `RoostError` where it was refused or will not be answered."""
        ...


Report: TypeAlias = Callable[[str], Awaitable[None]]


class Tool(Protocol):
    """Something an agent can do."""

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def traits(self) -> ToolTraits: ...

    async def run(self, invocation: Invocation, report: Report) -> ToolOutcome:
        """Do it. `report` shows output as it comes. Arguments that do not fit the schema, and anything a model can
        put right, are an outcome with `is_error` that says how; being cancelled ends everything it began."""
        ...


class Sandbox(Protocol):
    """Runs programs, confined or not, within the limits of their place."""

    async def run(self, command: ToolCommand, output: Callable[[bytes], None]) -> Ended:
        """Run to the end. Every process it started is gone before this returns, also when cancelled, out of time or
        beyond a limit; and soon after whoever called is killed.

        A sandboxed place without the means for it raises `Forbidden` that says what to install.
        """
        ...
