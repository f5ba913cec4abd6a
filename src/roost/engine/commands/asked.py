"""A command on its way: who asked for what, what it is answered with, and what a handler works with."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from roost.core.addresses import Address
from roost.core.admission import AdmissionRule
from roost.core.arrivals import Arrival
from roost.core.channels import ChannelAbilities
from roost.core.commandlines import Line
from roost.core.effects import Effects
from roost.core.identities import Identity
from roost.core.keys import SessionKey
from roost.core.principals import Principal
from roost.core.queries import SessionContext
from roost.core.runs import Cause, Request, Run, RunState
from roost.core.sessions import Overrides, Session
from roost.core.threads import ThreadBinding
from roost.core.trees import Tree
from roost.core.visibility import PersonCaller
from roost.engine.rules import Part, Rules
from roost.ports import Channel, Store

NO_CHANNEL = ChannelAbilities(longest=100_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """Who wrote a command, as the channel knows them, and the rule that let them in."""

    principal: Principal
    identity: Identity
    rule: AdmissionRule

    @property
    def caller(self) -> PersonCaller:
        return PersonCaller(principal=self.principal)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """`session` is the one the message belongs to, as it was when the command was read; one that is not `stored`
    is what this message would open."""

    line: Line
    speaker: Speaker
    arrival: Arrival
    session: Session
    stored: bool

    @property
    def argument(self) -> str:
        return self.line.argument

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(self.line.argument.lower().split())

    @property
    def key(self) -> SessionKey:
        return self.arrival.inbound.key

    @property
    def at(self) -> int:
        return self.arrival.inbound.received_at

    @property
    def reply_to(self) -> Address | None:
        return self.arrival.inbound.reply_to


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a command comes to, in the transaction that accepts it.

    `text` is its answer; `effects` come first, `overrides` last. `ends` are runs to be ended after the commit, `stopped` all
    that a stop was about. With `forward` the message goes on to the agent, in that form.
    """

    text: str | None = None
    effects: Effects = ()
    overrides: Overrides | None = None
    ends: tuple[str, ...] = ()
    forward: Arrival | None = None
    stopped: tuple[str, ...] | None = None


Answer: TypeAlias = Callable[[Tree], Said]
"""Decided under the session's lock: pure, and may be called again. A `RoostError` it raises is the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What handlers work with. `started_at` is when this gateway began to serve."""

    store: Store
    rules: Rules
    channels: tuple[Channel, ...]
    started_at: int

    def abilities(self, address: Address) -> ChannelAbilities:
        """Of the channel behind an address; one that is not there limits nothing."""
        here = (one for one in self.channels if (one.name, one.account) == (address.channel, address.account))
        return next((one.abilities for one in here), NO_CHANNEL)

    async def thread(self, asked: Asked) -> ThreadBinding | None:
        """What the thread of a message is bound to, as long as that holds."""
        bound = await self.store.thread_binding(asked.reply_to) if asked.reply_to else None
        return self.rules.routing.threads.living(bound, asked.at)

    def part(self, asked: Asked) -> Part:
        """What the next turn of this session would be played with, whoever spoke in it before."""
        return self.rules.cast(asked.session, self.turn(asked))

    async def next_part(self, asked: Asked) -> Part:
        """What the next turn would be played with, with the system text that it would see."""
        found = await self.store.conversation(asked.session.session_id)
        next_one = SessionContext(session=asked.session, entries=found.entries if found else ())
        return self.rules.part(next_one, self.turn(asked))

    def turn(self, asked: Asked) -> Run:
        """The turn that would be next, if this were a message."""
        inbound = asked.arrival.inbound
        return Run(
            id=asked.arrival.run_id,
            key=asked.key,
            state=RunState.QUEUED,
            cause=Cause(principal=inbound.principal, kind=inbound.provenance.kind, trace=inbound.trace),
            request=Request(reply_to=inbound.reply_to),
            queued_at=asked.at,
            ready_at=asked.at,
        )


Handler: TypeAlias = Callable[[Means, Asked], Awaitable[Answer]]
"""Looks up what it needs, then answers. What it does before its answer is committed may happen twice."""


def saying(text: str) -> Answer:
    """An answer that nothing changes."""
    return lambda tree: Said(text=text)


def overrides_of(tree: Tree) -> Overrides:
    return tree.session.session.overrides if tree.session.session else Overrides()
