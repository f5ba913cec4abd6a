"""The tool policy of an agent's runs, from the configuration."""

from roost.config import Settings
from roost.config.agents import Agent
from roost.config.sandbox import SandboxMode
from roost.config.tools import ToolScope
from roost.core.keys import SessionKey
from roost.core.rights import Rights
from roost.core.sessions import Session
from roost.core.terms import Terms
from roost.core.toolpolicy import ChildLayer, Scope, ToolPolicy, effective_tools
from roost.core.visibility import Level

TOOLS = (
    "read",
    "write",
    "edit",
    "list",
    "exec",
    "sessions_list",
    "sessions_history",
    "sessions_search",
    "sessions_send",
    "sessions_spawn",
    "sessions_yield",
    "subagents",
    "session_status",
    "agents_list",
)
"""Every tool there is."""


def is_sandboxed(agent: Agent, key: SessionKey, main_name: str) -> bool:
    """Whether the configuration puts a session of this agent into a sandbox."""
    mode = agent.sandbox.mode
    return mode is SandboxMode.ALL or (mode is SandboxMode.NON_MAIN and not key.is_main(main_name))


def level_of(settings: Settings, session: Session) -> Level:
    """How far the session tools of a session reach: of a child, no further than its requester's did."""
    own, terms = settings.tools.sessions.visibility, session.lineage.terms
    return own if terms is None else min(own, terms.rights.level)


def spawns_of(agent: Agent, session: Session) -> int:
    """How many levels of children may still follow below a session."""
    if session.lineage.parent is None:
        return agent.subagents.max_spawn_depth
    return (session.lineage.terms or Terms()).rights.spawns


def policy_of(settings: Settings, agent: Agent, session: Session, *, sandboxed: bool) -> ToolPolicy:
    child = session.lineage.parent is not None
    terms = session.lineage.terms or Terms()
    layer = _layer(settings, orchestrator=terms.rights.spawns > 0) if child else None
    return _policy(settings, agent, sandboxed=sandboxed, child=layer, inherited=terms.rights)


def rights_of_child(settings: Settings, agent: Agent, depth: int) -> Rights:
    """What an agent may do by itself in a session at some depth."""
    spawns = max(agent.subagents.max_spawn_depth - depth, 0)
    sandboxed = agent.sandbox.mode is not SandboxMode.OFF
    layer = _layer(settings, orchestrator=spawns > 0)
    policy = _policy(settings, agent, sandboxed=sandboxed, child=layer, inherited=Rights())
    return Rights(
        allow=frozenset(effective_tools(TOOLS, policy).names),
        sandboxed=sandboxed,
        network=agent.sandbox.network or not sandboxed,
        level=settings.tools.sessions.visibility,
        spawns=spawns,
    )


def _policy(
    settings: Settings, agent: Agent, *, sandboxed: bool, child: ChildLayer | None, inherited: Rights
) -> ToolPolicy:
    return ToolPolicy(
        tools=_scope(settings.tools),
        agent=_scope(agent.tools),
        sandboxed=sandboxed,
        child=child,
        inherited=inherited,
    )


def _layer(settings: Settings, *, orchestrator: bool) -> ChildLayer:
    own = settings.tools.subagents.tools
    return ChildLayer(orchestrator=orchestrator, allow=own.allow, deny=own.deny)


def _scope(scope: ToolScope) -> Scope:
    return Scope(
        profile=scope.profile,
        allow=scope.allow,
        also_allow=scope.also_allow,
        deny=scope.deny,
    )
