"""What the configuration says to the engine, as core values. A run keeps the rules it began with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from typing import TypeAlias

from roost.core.admission import ChannelPolicy
from roost.core.lifecycle import ResetPolicy
from roost.core.models import ModelSpec
from roost.core.queuesettings import QueuePolicy
from roost.core.recovery import MAX_AGE_MS
from roost.core.routing import RoutingRules
from roost.core.runs import Run
from roost.core.scheduling import Limits
from roost.core.sendpolicy import SendPolicy
from roost.core.sessions import Session
from roost.core.tools import Place
from roost.core.upkeep import ContextSettings
from roost.core.workspacefiles import WorkspaceFile
from roost.ports import Model, Tool

NewId: TypeAlias = Callable[[], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """A model that is asked beside the one that answers."""

    model: Model
    spec: ModelSpec
    thinking: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What a run works with: the model that answers and why, its system text, its tools and where they act.

    `files` are those that the system text shows. Without a `summariser` the model itself condenses its context.
    """

    model: Model
    spec: ModelSpec
    reason: str
    system: str
    place: Place
    tools: tuple[Tool, ...] = ()
    thinking: str | None = None
    files: tuple[WorkspaceFile, ...] = ()
    context: ContextSettings = field(default_factory=ContextSettings)
    summariser: Voice | None = None


Cast: TypeAlias = Callable[[Session, Run], Part]
"""Who plays a run. Raises `InvalidInput` where the model that was asked for cannot be had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """`doors` say who is let in, by channel; a channel without one lets in nobody but by pairing.

    A run in which nothing happens for `idle_ms`, or whose model says nothing for `stream_idle_ms`, is given up.
    """

    cast: Cast
    doors: Mapping[str, ChannelPolicy] = field(default_factory=dict)
    routing: RoutingRules = field(default_factory=RoutingRules)
    queue: QueuePolicy = field(default_factory=QueuePolicy)
    resets: ResetPolicy = field(default_factory=ResetPolicy)
    triggers: tuple[str, ...] = ()
    sending: SendPolicy | None = None
    zone: tzinfo = UTC
    limits: Limits = field(default_factory=lambda: Limits(ceiling=32))
    recovery_max_age_ms: int = MAX_AGE_MS
    idle_ms: int = 1_800_000
    stream_idle_ms: int = 120_000
    most_steps: int = 200

    def door(self, channel: str) -> ChannelPolicy:
        return self.doors.get(channel, ChannelPolicy())
