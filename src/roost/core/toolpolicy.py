"""Which tools a run has, and for each it lacks the stage that removed it.

The stages come in a fixed order and each can only remove. In each a deny wins, and an allow list means these
and no others; `also_allow` adds to the profile of its own scope and to nothing else.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from types import MappingProxyType
from typing import TypeAlias

from roost.core import toolnames
from roost.core.models import ModelRef
from roost.core.rights import Rights


class Profile(StrEnum):
    MINIMAL = "minimal"
    CODING = "coding"
    MESSAGING = "messaging"
    FULL = "full"


class Stage(StrEnum):
    """In the order in which they remove."""

    PROFILE = "profile"
    PROVIDER = "provider"
    TOOLS = "tools"
    AGENT = "agent"
    CHAT = "chat"
    SANDBOX = "sandbox"
    SUBAGENT = "subagent"
    INHERITED = "inherited"


FILE_TOOLS = frozenset({toolnames.READ, toolnames.WRITE, toolnames.EDIT, toolnames.LIST})
SESSION_TOOLS = frozenset(
    {
        toolnames.SESSIONS_LIST,
        toolnames.SESSIONS_HISTORY,
        toolnames.SESSIONS_SEND,
        toolnames.SESSIONS_SPAWN,
        toolnames.SESSIONS_YIELD,
        toolnames.SUBAGENTS,
        toolnames.SESSION_STATUS,
    }
)
ORCHESTRATOR_TOOLS = frozenset(
    {
        toolnames.SESSIONS_SPAWN,
        toolnames.SUBAGENTS,
        toolnames.SESSIONS_LIST,
        toolnames.SESSIONS_HISTORY,
        toolnames.SESSIONS_YIELD,
    }
)

_OTHER_SESSION_TOOLS = (toolnames.AGENTS_LIST, "sessions", toolnames.SESSIONS_SEARCH, "conversations_*")
_NEVER_IN_A_CHILD = ("gateway", toolnames.CRON, "automations", "message", "progress_card")
_NEVER_IN_A_SANDBOX = ("gateway", toolnames.CRON, "automations", "nodes")

_GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "group:fs": tuple(sorted(FILE_TOOLS)),
        "group:runtime": (toolnames.EXEC,),
        "group:sessions": (*sorted(SESSION_TOOLS), *_OTHER_SESSION_TOOLS),
    }
)
_ALIASES: Mapping[str, str] = MappingProxyType({"bash": toolnames.EXEC})

_PROFILES: Mapping[Profile, tuple[str, ...]] = MappingProxyType(
    {
        Profile.MINIMAL: (toolnames.SESSION_STATUS,),
        Profile.CODING: (*FILE_TOOLS, toolnames.EXEC, *SESSION_TOOLS),
        Profile.MESSAGING: (
            toolnames.SESSIONS_LIST,
            toolnames.SESSIONS_HISTORY,
            toolnames.SESSIONS_SEND,
            toolnames.SESSION_STATUS,
            "message",
        ),
        Profile.FULL: ("*",),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRules:
    """One place of the configuration that speaks about tools. An empty `allow` allows nothing.

    Names may be `*` patterns or groups (`group:fs`, `group:runtime`, `group:sessions`).
    """

    profile: Profile | None = None
    allow: tuple[str, ...] | None = None
    also_allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildLayer:
    """The run is a sub-agent's. `allow` and `deny` are `tools.subagents.tools`."""

    orchestrator: bool = False
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPolicy:
    """Everything that speaks about the tools of one run."""

    tools: ToolRules = ToolRules()
    agent: ToolRules = ToolRules()
    provider: tuple[ToolRules, ...] = ()
    chat: tuple[ToolRules, ...] = ()
    sandboxed: bool = False
    child: ChildLayer | None = None
    inherited: Rights = field(default_factory=Rights)


@dataclass(frozen=True, slots=True)
class Removed:
    name: str
    stage: Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveTools:
    """In the order in which the tools were given."""

    names: tuple[str, ...]
    removed: tuple[Removed, ...]


_Keeps: TypeAlias = Callable[[str], bool]


def effective_tools(available: Iterable[str], policy: ToolPolicy) -> EffectiveTools:
    """Pass the available tools through every stage."""
    return _passed(tuple(dict.fromkeys(available)), policy)


# Most runs are asked about with the same tools and the same rules.
@lru_cache(maxsize=256)
def _passed(names: tuple[str, ...], policy: ToolPolicy) -> EffectiveTools:
    removed: list[Removed] = []
    for stage, keeps in _stages(policy):
        kept = tuple(name for name in names if keeps(name))
        removed += (Removed(name, stage) for name in names if name not in kept)
        names = kept
    return EffectiveTools(names=names, removed=tuple(removed))


def of_sessions(name: str) -> bool:
    """Whether a tool is one of `group:sessions`."""
    return _listed(name, ("group:sessions",))


def of_provider(scopes: Mapping[str, ToolRules], ref: ModelRef) -> tuple[ToolRules, ...]:
    """What `byProvider` says about a model: `provider/model` before `provider`."""
    found = scopes.get(str(ref), scopes.get(ref.provider))
    return () if found is None else (found,)


def _stages(policy: ToolPolicy) -> tuple[tuple[Stage, _Keeps], ...]:
    return (
        (Stage.PROFILE, _within_profile(_first_profile(policy))),
        (
            Stage.PROVIDER,
            _all_of([keeps for scope in policy.provider for keeps in _keeps_of(scope)]),
        ),
        (Stage.TOOLS, _within_lists(policy.tools.allow, policy.tools.deny)),
        (Stage.AGENT, _within_lists(policy.agent.allow, policy.agent.deny)),
        (Stage.CHAT, _all_of([keeps for scope in policy.chat for keeps in _keeps_of(scope)])),
        (Stage.SANDBOX, _within_lists(None, _NEVER_IN_A_SANDBOX if policy.sandboxed else ())),
        (Stage.SUBAGENT, _within_child(policy.child)),
        (Stage.INHERITED, policy.inherited.permits),
    )


def _first_profile(policy: ToolPolicy) -> ToolRules:
    """Profile and additions, each from the nearest scope that states it."""
    nearest, farther = policy.agent, policy.tools
    return ToolRules(
        profile=nearest.profile or farther.profile or Profile.FULL,
        also_allow=farther.also_allow if nearest.also_allow is None else nearest.also_allow,
    )


def _keeps_of(scope: ToolRules) -> tuple[_Keeps, _Keeps]:
    return _within_profile(scope), _within_lists(scope.allow, scope.deny)


def _all_of(rules: list[_Keeps]) -> _Keeps:
    return lambda name: all(keeps(name) for keeps in rules)


def _within_profile(scope: ToolRules) -> _Keeps:
    if scope.profile is None:
        return lambda name: True
    patterns = (*_PROFILES[scope.profile], *(scope.also_allow or ()))
    return lambda name: _listed(name, patterns)


def _within_lists(allow: tuple[str, ...] | None, deny: tuple[str, ...]) -> _Keeps:
    return lambda name: not _listed(name, deny) and (allow is None or _listed(name, allow))


def _within_child(child: ChildLayer | None) -> _Keeps:
    if child is None:
        return lambda name: True
    within_lists = _within_lists(child.allow, child.deny)
    denied = (*_NEVER_IN_A_CHILD, *_withheld(child))
    return lambda name: within_lists(name) and not _listed(name, denied)


def _withheld(child: ChildLayer) -> tuple[str, ...]:
    """The session tools this child lacks. One that `allow` names is given back, but spawning never is."""
    regained = frozenset(_expanded(child.allow or ())) - {toolnames.SESSIONS_SPAWN}
    kept = regained | (ORCHESTRATOR_TOOLS if child.orchestrator else frozenset())
    return tuple(name for name in (*SESSION_TOOLS, *_OTHER_SESSION_TOOLS) if name not in kept)


def _listed(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in _expanded(patterns))


def _expanded(names: Iterable[str]) -> Iterable[str]:
    for written in names:
        name = written.strip().lower()
        yield from _GROUPS.get(name, (_ALIASES.get(name, name),))
