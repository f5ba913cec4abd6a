"""What the configuration says to the engine, as core values. A run keeps the rules it began with."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from typing import TypeAlias

from roost.core import sendpolicy
from roost.core.addresses import Account, Address
from roost.core.admission import AdmissionRule, ChannelPolicy
from roost.core.budgets import BudgetScope, Limit
from roost.core.casting import fallback_reason, helps
from roost.core.catalogue import Catalogue
from roost.core.commandaccess import CommandPolicy
from roost.core.deliveries import Delivery
from roost.core.effects import Effects
from roost.core.entrance import Entrance
from roost.core.exports import Piece, Reached
from roost.core.findings import Finding
from roost.core.guests import LetIn
from roost.core.heartbeats import Beat, Beating
from roost.core.hooks import HookRules
from roost.core.inbound import Inbound
from roost.core.jsonvalue import JsonObject
from roost.core.keys import SessionKey
from roost.core.lifecycle import ResetPolicy
from roost.core.models import ModelFailed, ModelSpec
from roost.core.queries import SessionContext
from roost.core.queuesettings import QueuePolicy
from roost.core.recovery import MAX_AGE_MS
from roost.core.retention import Retention
from roost.core.rights import Rights
from roost.core.room import Room
from roost.core.routing import RoutingRules
from roost.core.runs import Run
from roost.core.sendpolicy import SendPolicy, Verdict
from roost.core.sessions import Session
from roost.core.snapshots import Snapshot
from roost.core.systemtext import instructed
from roost.core.toolpolicy import Removed
from roost.core.tools import Place
from roost.core.turntaking import Limits
from roost.core.upkeep import ContextSettings
from roost.core.whereabouts import Met, met_at
from roost.core.workspacefiles import WorkspaceFile, is_private
from roost.ports import Model, Remote, SecretScanner, Tool

NewId: TypeAlias = Callable[[], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answerer:
    """A model that may be asked beside the one that answers, or in its place, there `without` some of its tools."""

    model: Model
    spec: ModelSpec
    thinking: str | None = None
    without: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """A system text, and the files it shows."""

    system: str
    files: tuple[WorkspaceFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What a run works with: the model that answers and why, its system text, its tools and where they act.

    `removed` are tools it has not, and the stage of the policy that took each away.
    When the model fails, the first of the `fallbacks` plays on to the end of the run.
    `rights` are what a child of the run gets at most. `files` are those that the system text shows;
    `personal` is what stands in their place where nobody but the owner speaks and listens. Without a `summariser` the model itself condenses its context.
    """

    model: Model
    spec: ModelSpec
    reason: str
    system: str
    place: Place
    tools: tuple[Tool, ...] = ()
    thinking: str | None = None
    removed: tuple[Removed, ...] = ()
    fallbacks: tuple[Answerer, ...] = ()
    files: tuple[WorkspaceFile, ...] = ()
    rights: Rights = field(default_factory=Rights)
    context: ContextSettings = field(default_factory=ContextSettings)
    summariser: Answerer | None = None
    personal: Briefing | None = None

    def in_private(self) -> "Part":
        own = self.personal
        return self if own is None else replace(self, system=own.system, files=own.files)

    def after(self, failed: ModelFailed) -> "Part | None":
        """The same part played by the next model; None where no other would help or none is left."""
        if not self.fallbacks or not helps(failed):
            return None
        voice, *rest = self.fallbacks
        return replace(
            self,
            model=voice.model,
            spec=voice.spec,
            thinking=voice.thinking,
            tools=tuple(tool for tool in self.tools if tool.spec.name not in voice.without),
            reason=fallback_reason(self.spec, self.reason, failed),
            fallbacks=tuple(rest),
        )

    def beside(self, played: "Part") -> "Part":
        """By these rules, for who plays on by older ones: without a tool that he lacks, or that his model may not use now."""
        barred = next((one.without for one in self.fallbacks if one.spec.ref == played.spec.ref), frozenset())
        his = {tool.spec.name for tool in played.tools} - barred
        return replace(self, tools=tuple(tool for tool in self.tools if tool.spec.name in his))


Cast: TypeAlias = Callable[[Session, Run], Part]
"""Who plays a run. Raises `InvalidInput` where the model that was asked for cannot be had."""


Export: TypeAlias = Callable[[SessionKey, bool], Awaitable[tuple[str, ...]]]
"""Writes the transcripts of a session to files and says where; the flag is for the bytes as they are, secrets too."""

Pieces: TypeAlias = Callable[[SessionKey, bool, Reached | None, Callable[[bytes], bytes]], Awaitable[Piece]]
"""The same for who writes them elsewhere, a piece at a time; what is told last says how each line may be shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRules:
    """What chat commands go by: who may use them, what they can name, which words beside them start afresh, and what masks
    the transcripts they show."""

    policy: CommandPolicy = field(default_factory=CommandPolicy)
    triggers: tuple[str, ...] = ()
    models: Catalogue = field(default_factory=lambda: Catalogue(()))
    agents: tuple[str, ...] = ("main",)
    version: str = ""
    export: Export | None = None
    pieces: Pieces | None = None
    scanner: SecretScanner | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAgent:
    id: str
    name: str | None
    model: str
    fallbacks: tuple[str, ...] = ()
    workspace: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownConfig:
    """What clients are shown of the configuration: where it is, what it says without its credentials, a name for it, and
    the agents of it, the default one first. `shared` names the part of it that all gateways of a store should have in
    common."""

    path: str = ""
    exists: bool = False
    document: JsonObject = field(default_factory=dict)
    fingerprint: str = ""
    shared: str = ""
    agents: tuple[KnownAgent, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigIssue:
    """Why what the configuration says now is not in force; `path` is empty where it is about no place in it."""

    path: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerRules:
    """Whether jobs run, and the look-arounds of agents, by their ids."""

    enabled: bool = True
    beats: Mapping[str, Beating] = field(default_factory=dict)

    def beat(self, agent: str) -> Beat | None:
        found = self.beats.get(agent)
        return None if found is None else found.beat


Joined: TypeAlias = Callable[[Snapshot, Inbound, Met], Effects]
"""What follows from who writes into a session, beside the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Housekeeping:
    """How a gateway keeps house.

    `retention`, `room`: what is kept for how long, and how much there may be.
    `recovery_max_age_ms`: up to which age an unfinished run is taken up again.
    `announce_ms`: how long a child may think about its announcement.
    `transcript`: where the transcript of a session is, if it has a file.
    `shown`, `hidden`: what clients are shown of the configuration, and what they are never told.
    `completions`: whether chat completions are answered; `entrance`: who of clients may knock.
    `timers`, `hooks`: what happens without a person, and who may ask for it by a webhook.
    `remotes`: the other gateways that messages can be sent to.
    `audit`: what all this leaves open to others.
    """

    retention: Retention = field(default_factory=Retention)
    room: Room = field(default_factory=Room)
    recovery_max_age_ms: int = MAX_AGE_MS
    announce_ms: int = 120_000
    transcript: Callable[[Session], str | None] = lambda session: None
    shown: ShownConfig = field(default_factory=ShownConfig)
    hidden: tuple[bytes, ...] = ()
    completions: bool = False
    entrance: Entrance = field(default_factory=Entrance)
    timers: TimerRules = field(default_factory=TimerRules)
    hooks: HookRules = field(default_factory=HookRules)
    remotes: Mapping[str, Remote] = field(default_factory=dict)
    audit: Callable[[LetIn], tuple[Finding, ...]] = lambda let_in: ()
    joined: Joined = lambda snapshot, inbound, met: ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """`doors` say who is let in, by channel; a channel without one lets in nobody but by pairing. `let_in` are those who
    were.

    A run in which nothing happens for `idle_ms` is given up; a model that says nothing for `stream_idle_ms` has failed.
    """

    cast: Cast
    doors: Mapping[str, ChannelPolicy] = field(default_factory=dict)
    let_in: LetIn = field(default_factory=dict)
    routing: RoutingRules = field(default_factory=RoutingRules)
    queue: QueuePolicy = field(default_factory=QueuePolicy)
    resets: ResetPolicy = field(default_factory=ResetPolicy)
    sending: SendPolicy | None = None
    zone: tzinfo = UTC
    commands: CommandRules = field(default_factory=CommandRules)
    limits: Limits = field(default_factory=lambda: Limits(ceiling=32))
    budgets: tuple[Limit, ...] = ()
    house: Housekeeping = field(default_factory=Housekeeping)
    idle_ms: int = 1_800_000
    stream_idle_ms: int = 120_000
    most_steps: int = 200

    def door(self, at: Account) -> ChannelPolicy:
        return self.doors.get(at.channel, ChannelPolicy()).at(at.account).letting_in(self.let_in.get(at))

    def judge(self, session: Session, delivery: Delivery) -> Verdict:
        """Whether a message may go out. By an account that is off nothing does, nor the answer to a command."""
        account = delivery.address.served_by
        if not self.door(account).enabled:
            return Verdict(allowed=False, rule=f"{AdmissionRule.ENABLED} of {account}")
        return sendpolicy.judge(self.sending, session, delivery)

    @property
    def each_pays(self) -> bool:
        """Whether what may be spent is limited by person."""
        return any(limit.scope is BudgetScope.PERSON for limit in self.budgets)

    def part(self, found: SessionContext, run: Run) -> Part:
        """What a run in a conversation works with."""
        part = self.cast(found.session, run)
        if is_private(found.session, run, found.entries, self.door):
            part = part.in_private()
        return replace(part, system=instructed(part.system, run.request.instructions))

    def met_at(self, session: Session) -> Address | None:
        return met_at(session, self.door)
