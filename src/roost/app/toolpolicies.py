"""The tool policy of an agent's runs, from the configuration."""

from collections.abc import Iterator
from dataclasses import dataclass

from roost.config import Settings
from roost.config.agents import Agent
from roost.config.channels import ChatTools as ChatToolsSection
from roost.config.policies import identity_links, sandbox_lifted
from roost.config.sandbox import SandboxMode
from roost.config.tools import ToolScope
from roost.core import toolnames
from roost.core.addresses import ChatType
from roost.core.channeltraits import KNOWN_CHANNELS
from roost.core.chattools import ANYBODY, Chat, ChatTools, chat_of, scopes
from roost.core.identities import Naming
from roost.core.keys import SessionKey
from roost.core.models import ModelRef
from roost.core.rights import Rights
from roost.core.runs import Run
from roost.core.sessions import Session
from roost.core.terms import Terms
from roost.core.toolpolicy import ChildLayer, ToolPolicy, ToolRules, effective_tools, of_provider
from roost.core.visibility import Level


def is_sandboxed(agent: Agent, key: SessionKey, main_name: str) -> bool:
    """Whether the configuration puts a session of this agent into a sandbox."""
    mode = agent.sandbox.mode
    return mode is SandboxMode.ALL or (mode is SandboxMode.NON_MAIN and not key.is_main(main_name))


def level_of(settings: Settings, session: Session) -> Level:
    """How far the session tools of a session reach: of a child, no further than its requester's did."""
    own, terms = settings.tools.sessions.visibility, session.lineage.terms
    return own if terms is None else min(own, terms.rights.level)


def level_passed_on(settings: Settings, agent: Agent, session: Session, *, sandboxed: bool) -> Level:
    """The most that a session may give to children: what its own sandbox keeps from it is kept from them, also from those
    of an agent that is not kept so."""
    level = level_of(settings, session)
    return min(level, Level.TREE) if sandboxed and not sandbox_lifted(agent) else level


def spawns_of(agent: Agent, session: Session) -> int:
    """How many levels of children may still follow below a session."""
    if session.lineage.parent is None:
        return agent.subagents.max_spawn_depth
    return (session.lineage.terms or Terms()).rights.spawns


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTurn:
    """The run whose tools are asked for, and the model that plays it."""

    session: Session
    run: Run
    model: ModelRef


def policy_of(settings: Settings, agent: Agent, turn: ToolTurn, *, sandboxed: bool) -> ToolPolicy:
    session = turn.session
    child = session.lineage.parent is not None
    terms = session.lineage.terms or Terms()
    layer = _layer(settings, orchestrator=terms.rights.spawns > 0) if child else None
    rules = (settings.tools, agent.tools)
    by_provider = ({name: _scope(own) for name, own in one.by_provider.items()} for one in rules)
    return ToolPolicy(
        tools=_scope(settings.tools),
        agent=_scope(agent.tools),
        provider=tuple(scope for named in by_provider for scope in of_provider(named, turn.model)),
        chat=_in_chat(settings, turn),
        sandboxed=sandboxed,
        child=layer,
        inherited=terms.rights,
    )


def _in_chat(settings: Settings, turn: ToolTurn) -> tuple[ToolRules, ...]:
    chat = chat_of(turn.session, turn.run)
    if chat is None:
        return ()
    naming = Naming(channel=chat.channel, links=identity_links(settings), traits=KNOWN_CHANNELS)
    return scopes(map(_chat_tools, _levels(settings, chat)), turn.run.cause.principal, naming)


def _levels(settings: Settings, chat: Chat) -> Iterator[ChatToolsSection]:
    """The channel or its account, then the group, in whatever case its id is written."""
    channel = settings.channels.get(chat.channel)
    if channel is None:
        return
    own = channel.accounts.get(chat.account, channel)
    yield own
    traits, peer = KNOWN_CHANNELS.of(chat.channel), chat.peer or ""
    ids = {name: traits.fold(ChatType.GROUP, name) for name in own.groups}
    named = [name for name, one in ids.items() if one == traits.fold(ChatType.GROUP, peer)]
    yield from (own.groups[name] for name in named or ids.keys() & {ANYBODY})


def _chat_tools(own: ChatToolsSection) -> ChatTools:
    by_sender = {name: _scope(scope) for name, scope in own.tools_by_sender.items()}
    return ChatTools(tools=_scope(own.tools), by_sender=by_sender)


def rights_of_child(settings: Settings, agent: Agent, depth: int) -> Rights:
    """What an agent may do by itself in a session at some depth."""
    spawns = max(agent.subagents.max_spawn_depth - depth, 0)
    sandboxed = agent.sandbox.mode is not SandboxMode.OFF
    layer = _layer(settings, orchestrator=spawns > 0)
    policy = ToolPolicy(
        tools=_scope(settings.tools), agent=_scope(agent.tools), sandboxed=sandboxed, child=layer
    )
    return Rights(
        allow=frozenset(effective_tools(toolnames.EVERY, policy).names),
        sandboxed=sandboxed,
        network=agent.sandbox.network or not sandboxed,
        level=settings.tools.sessions.visibility,
        spawns=spawns,
    )


def _layer(settings: Settings, *, orchestrator: bool) -> ChildLayer:
    own = settings.tools.subagents.tools
    return ChildLayer(orchestrator=orchestrator, allow=own.allow, deny=own.deny)


def _scope(scope: ToolScope) -> ToolRules:
    return ToolRules(
        profile=scope.profile,
        allow=scope.allow,
        also_allow=scope.also_allow,
        deny=scope.deny,
    )
