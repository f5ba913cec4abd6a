"""Who may do what to which session: one guard, on the operation, after all names are resolved.

Every door asks `decide`. A list or search asks `scope` instead, which a query can apply; both mean the same.
Missing rights are refusals, and what belongs to other people looks like nothing at all.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import TypeAlias, assert_never

from roost.core.errors import Forbidden, NotFound, RoostError
from roost.core.keys import CHILD_KINDS, SessionKey
from roost.core.principals import Principal

LEVEL_SETTING = "tools.sessions.visibility"
A2A_SETTING = "tools.agentToAgent.enabled"
ALLOW_SETTING = "tools.agentToAgent.allow"
CLAMP_SETTING = "agents.defaults.sandbox.sessionToolsVisibility"

SANDBOX_TEXT = "That session is not available from this sandbox."
ABSENT_TEXT = "There is no such session."
ABSENT_HINT = "take the key from sessions_list"


class Operation(StrEnum):
    LIST = "list"
    HISTORY = "history"
    SEARCH = "search"
    SEND = "send"
    SPAWN = "spawn"
    STATUS = "status"
    PATCH = "patch"
    RESET = "reset"
    DELETE = "delete"
    STOP = "stop"
    EXPORT = "export"


class Level(IntEnum):
    """How far session tools reach; each level contains the ones before it."""

    SELF = 0
    TREE = 1
    AGENT = 2
    ALL = 3

    @classmethod
    def parse(cls, text: str) -> "Level | None":
        return cls.__members__.get(text.strip().upper())


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentToAgent:
    """Which agents may reach each other; None is every agent, the empty set nobody."""

    enabled: bool = False
    allow: frozenset[str] | None = frozenset()

    @classmethod
    def of(cls, enabled: bool, patterns: Iterable[str], agents: Iterable[str]) -> "AgentToAgent":
        """Read the setting against the configured agents; `*` in a pattern stands for any text."""
        given = tuple(patterns)
        if "*" in given:
            return cls(enabled=enabled, allow=None)
        return cls(enabled=enabled, allow=frozenset(one for one in agents if _named(one, given)))

    def names(self, agent: str) -> bool:
        return self.allow is None or agent in self.allow


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCaller:
    """A tool call: an agent in its session, for the principal whose message caused the run.

    `lifted` is what the sandbox setting `all` does: a sandboxed caller keeps its configured level.
    """

    agent: str
    key: SessionKey
    principal: Principal
    level: Level = Level.TREE
    sandboxed: bool = False
    lifted: bool = False
    a2a: AgentToAgent = field(default_factory=AgentToAgent)

    @property
    def clamped(self) -> bool:
        return self.sandboxed and not self.lifted

    @property
    def reach(self) -> Level:
        """The level that counts."""
        return min(self.level, Level.TREE) if self.clamped else self.level


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonCaller:
    """A person or operator, through whichever door."""

    principal: Principal

    @property
    def rules_all(self) -> bool:
        return self.principal.is_owner


Caller: TypeAlias = AgentCaller | PersonCaller


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A session as the guard sees it. `ancestors` are the sessions above it, nearest first."""

    key: SessionKey
    agent: str
    owner: Principal
    ancestors: tuple[SessionKey, ...] = ()
    participants: frozenset[Principal] = frozenset()


class Reason(StrEnum):
    SELF_ONLY = "self_visibility_restricted"
    TREE_ONLY = "tree_visibility_restricted"
    SPAWNED_ONLY = "spawned_visibility_restricted"
    CROSS_AGENT = "cross_agent_visibility_restricted"
    A2A_DISABLED = "agent_to_agent_disabled"
    A2A_NOT_ALLOWED = "agent_to_agent_not_allowed"
    NOT_YOURS = "other_principal"
    NOT_A_DESCENDANT = "not_a_descendant"
    NOT_OWN_SESSION = "not_own_session"
    OWN_RUN = "own_run"
    SANDBOXED = "sandboxed"
    NOT_FOR_TOOLS = "not_for_tools"


@dataclass(frozen=True, slots=True)
class Allowed:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """`reason` and `setting` are for the owner's record; a caller is shown `error()` and nothing else."""

    reason: Reason | None
    message: str
    hint: str = ""
    setting: str | None = None
    absent: bool = False

    def error(self) -> RoostError:
        return (
            NotFound(self.message, hint=self.hint) if self.absent else Forbidden(self.message, hint=self.hint)
        )


Decision: TypeAlias = Allowed | Denied


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleScope:
    """The rows a caller may see, in a form that a query can apply.

    A row is in scope when it is `self_key`, or descends from `tree_of`, or belongs to one of `agents` (None:
    every agent) and its owner is `owner` (None: any owner). A run always sees where it runs and what hangs
    below it; whose rows those are was decided when it was let in.
    """

    owner: Principal | None = None
    self_key: SessionKey | None = None
    tree_of: SessionKey | None = None
    agents: frozenset[str] | None = frozenset()

    def admits(self, target: Target) -> bool:
        if target.key == self.self_key or self.tree_of in target.ancestors:
            return True
        owned = self.owner is None or self.owner == target.owner
        return owned and (self.agents is None or target.agent in self.agents)


EVERYTHING = VisibleScope(agents=None)


def decide(operation: Operation, caller: Caller, target: Target) -> Decision:
    """Whether this caller may do this to that session."""
    match caller:
        case PersonCaller():
            reason = _against_person(operation, caller, target)
        case AgentCaller():
            reason = _out_of_reach(caller, target) or _against_agent(operation, caller, target)
        case _:
            assert_never(caller)
    return Allowed() if reason is None else _denied(caller, reason)


def decide_beyond(caller: AgentCaller, gateway: str) -> Decision:
    """Whether a tool call may send to the sessions of another gateway, by what that is called in the list of those that
    may reach each other. All of them are the owner's, whose credential lets us in there."""
    reason = _out_of_reach_beyond(caller, gateway)
    return Allowed() if reason is None else _denied(caller, reason)


def kept_to_own_agent(caller: AgentCaller) -> Denied | None:
    """Why a caller reaches no other agent's sessions but those it spawned; None: it reaches some."""
    reason = _across(caller, caller.agent)
    return None if reason is None else _denied(caller, reason)


def absent(caller: Caller) -> Denied:
    """What a caller is shown when there is no such session."""
    if isinstance(caller, AgentCaller) and caller.sandboxed:
        return Denied(reason=None, message=SANDBOX_TEXT)
    return Denied(reason=None, message=ABSENT_TEXT, hint=ABSENT_HINT, absent=True)


def scope(operation: Operation, caller: Caller) -> VisibleScope:
    """The rows for which `decide` allows a listing or a search."""
    match caller:
        case PersonCaller():
            return EVERYTHING if caller.rules_all else VisibleScope(owner=caller.principal, agents=None)
        case AgentCaller():
            return VisibleScope(
                owner=None if caller.principal.is_owner else caller.principal,
                self_key=None if _unlisted(operation, caller) else caller.key,
                tree_of=caller.key if caller.reach >= Level.TREE else None,
                agents=_reachable_agents(caller),
            )
        case _:
            assert_never(caller)


_TAKING_PART = frozenset({Operation.SEND, Operation.STATUS, Operation.PATCH, Operation.RESET, Operation.STOP})
_HIDING = frozenset({Reason.NOT_YOURS, Reason.NOT_A_DESCENDANT, Reason.NOT_OWN_SESSION})


def _against_person(operation: Operation, caller: PersonCaller, target: Target) -> Reason | None:
    if caller.rules_all or target.owner == caller.principal:
        return None
    takes_part = caller.principal in target.participants and operation in _TAKING_PART
    return None if takes_part else Reason.NOT_YOURS


def _out_of_reach(caller: AgentCaller, target: Target) -> Reason | None:
    if target.key == caller.key or (caller.reach >= Level.TREE and caller.key in target.ancestors):
        return None
    if not caller.principal.is_owner and target.owner != caller.principal:
        return Reason.NOT_YOURS
    if target.agent == caller.agent:
        restricted = {Level.SELF: Reason.SELF_ONLY, Level.TREE: Reason.TREE_ONLY}
        return restricted.get(caller.reach)
    return _across(caller, target.agent)


def _out_of_reach_beyond(caller: AgentCaller, gateway: str) -> Reason | None:
    if not caller.principal.is_owner:
        return Reason.NOT_YOURS
    return Reason.SANDBOXED if caller.sandboxed else _across(caller, gateway)


def _across(caller: AgentCaller, other: str) -> Reason | None:
    if caller.reach < Level.ALL:
        return Reason.CROSS_AGENT
    if not caller.a2a.enabled:
        return Reason.A2A_DISABLED
    both = caller.a2a.names(caller.agent) and caller.a2a.names(other)
    return None if both else Reason.A2A_NOT_ALLOWED


def _against_agent(operation: Operation, caller: AgentCaller, target: Target) -> Reason | None:
    """What reaching a session does not yet allow."""
    own_session = target.key == caller.key
    match operation:
        case Operation.LIST:
            return Reason.SPAWNED_ONLY if own_session and _unlisted(operation, caller) else None
        case Operation.STOP:
            return None if caller.key in target.ancestors else Reason.NOT_A_DESCENDANT
        case Operation.SPAWN:
            return None if own_session else Reason.NOT_OWN_SESSION
        case Operation.RESET:
            return Reason.OWN_RUN if own_session else _against_change(caller, target)
        case Operation.PATCH:
            return None if own_session else _against_change(caller, target)
        case Operation.EXPORT | Operation.DELETE:
            return Reason.NOT_FOR_TOOLS
        case Operation.HISTORY | Operation.SEARCH | Operation.SEND | Operation.STATUS:
            return None
        case _:
            assert_never(operation)


def _against_change(caller: AgentCaller, target: Target) -> Reason | None:
    may = caller.principal.is_owner or caller.principal in {target.owner, *target.participants}
    return None if may else Reason.NOT_YOURS


def _unlisted(operation: Operation, caller: AgentCaller) -> bool:
    """A sandboxed top-level session lists what it spawned, not itself."""
    return operation is Operation.LIST and caller.clamped and caller.key.kind not in CHILD_KINDS


def _reachable_agents(caller: AgentCaller) -> frozenset[str] | None:
    if caller.reach < Level.AGENT:
        return frozenset()
    crosses = caller.reach is Level.ALL and caller.a2a.enabled and caller.a2a.names(caller.agent)
    if not crosses:
        return frozenset({caller.agent})
    return None if caller.a2a.allow is None else caller.a2a.allow | {caller.agent}


def _denied(caller: Caller, reason: Reason) -> Denied:
    shown, setting = absent(caller), _setting(caller, reason)
    if not shown.absent or reason in _HIDING:
        return replace(shown, reason=reason, setting=setting)
    hint = f"the owner can change {setting}" if setting else "ask the person to do it"
    return Denied(reason=reason, setting=setting, message=_PLAIN[reason], hint=hint)


def _setting(caller: Caller, reason: Reason) -> str | None:
    by_level = {Reason.SELF_ONLY, Reason.TREE_ONLY, Reason.CROSS_AGENT, Reason.SPAWNED_ONLY}
    if reason in by_level:
        clamped = isinstance(caller, AgentCaller) and caller.clamped
        return CLAMP_SETTING if clamped and reason is not Reason.SELF_ONLY else LEVEL_SETTING
    return {Reason.A2A_DISABLED: A2A_SETTING, Reason.A2A_NOT_ALLOWED: ALLOW_SETTING}.get(reason)


_PLAIN = MappingProxyType(
    {
        Reason.SELF_ONLY: "Session tools reach this session only.",
        Reason.TREE_ONLY: "Session tools reach this session and the ones it spawned.",
        Reason.CROSS_AGENT: "Session tools do not reach other agents' sessions.",
        Reason.A2A_DISABLED: "Agents may not reach each other's sessions.",
        Reason.A2A_NOT_ALLOWED: "These two agents may not reach each other's sessions.",
        Reason.OWN_RUN: "A session cannot be reset by the run that is going on in it.",
        Reason.NOT_FOR_TOOLS: "Tools cannot export or delete sessions.",
    }
)


def _named(agent: str, patterns: tuple[str, ...]) -> bool:
    return any(agent == pattern or ("*" in pattern and _globs(pattern, agent)) for pattern in patterns)


def _globs(pattern: str, agent: str) -> bool:
    parts = (re.escape(part) for part in pattern.split("*"))
    return re.fullmatch(".*".join(parts), agent, re.IGNORECASE) is not None
