"""Routing: to which agent and session a message belongs, and by which rule.

A pure function of the envelope, the one who speaks, the configuration and whose session is found; it is never read back
from a key.
"""

from dataclasses import dataclass, field, replace

from roost.core.addresses import DEFAULT_ACCOUNT, ChatType
from roost.core.bindings import Binding, choose
from roost.core.channeltraits import KNOWN_CHANNELS, ChannelTraits, Traits
from roost.core.envelopes import Envelope
from roost.core.errors import InvalidInput
from roost.core.identities import Identity, Links, linked_name
from roost.core.keys import KeyKind, SessionKey
from roost.core.ownership import Ownership
from roost.core.principals import Principal, PrincipalKind
from roost.core.scopes import DmScope, SessionScope, main_key
from roost.core.sessions import Facts, Session
from roost.core.threads import ThreadPolicy

NO_GROUP_ID = "unknown"
BOUND = "the binding of its thread"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingRules:
    """The part of the configuration that decides where messages go, and whose that is. `owners` are the entries by which the
    gateway's owner writes."""

    default_agent: str = "main"
    main_name: str = "main"
    scope: SessionScope = SessionScope.PER_SENDER
    dm_scope: DmScope = DmScope.MAIN
    links: Links = ()
    bindings: tuple[Binding, ...] = ()
    traits: Traits = KNOWN_CHANNELS
    threads: ThreadPolicy = field(default_factory=ThreadPolicy)
    owners: tuple[str, ...] = ()

    @property
    def ownership(self) -> Ownership:
        return Ownership(main_name=self.main_name, owners=self.owners, links=self.links, traits=self.traits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where a message goes. `agent_rule` and `key_rule` are what decided."""

    agent: str
    key: SessionKey
    agent_rule: str
    key_rule: str

    @property
    def rule(self) -> str:
        return " and ".join(dict.fromkeys((self.agent_rule, self.key_rule)))


def route(
    envelope: Envelope, principal: Principal, rules: RoutingRules, thread_binding: SessionKey | None = None
) -> Route:
    """The session of a message. A thread that was bound to a session stays with it, whatever else holds."""
    bound = choose(rules.bindings, envelope, rules.traits.of(envelope.channel))
    agent, agent_rule = (
        (bound.binding.agent, bound.rule) if bound else (rules.default_agent, "the default agent")
    )
    if thread_binding is not None:
        owner = thread_binding.agent or agent
        return Route(agent=owner, key=thread_binding, agent_rule=BOUND, key_rule=BOUND)
    scope = (bound and bound.binding.dm_scope) or rules.dm_scope
    key, key_rule = _Chat(envelope, principal, rules, agent, scope).key()
    return Route(agent=agent, key=key, agent_rule=agent_rule, key_rule=key_rule)


def is_by_name(key: SessionKey) -> bool:
    """Whether it names a person, and no channel."""
    return key.kind is KeyKind.DIRECT and key.channel is None


def is_anothers(session: Session, owner: Principal, facts: Facts) -> bool:
    """Whether a session named after a person alone is not of the one it would be opened for: two channels may know two
    people by one id, and the name of a link that is gone may be anyone's id. Who opened it has it, by whichever name."""
    opener = (session.facts.channel, session.facts.peer)
    return is_by_name(session.key) and session.owner != owner and opener != (facts.channel, facts.peer)


def apart(found: Route, envelope: Envelope, principal: Principal, rules: RoutingRules) -> Route:
    """The session of one whose name leads to another's: that of his id on his channel."""
    chat = _Chat(envelope, principal, replace(rules, links=()), found.agent, DmScope.PER_CHANNEL_PEER)
    key, _ = chat.key()
    return replace(found, key=key, key_rule=f"{found.key_rule}, but {found.key} is somebody else's")


@dataclass(frozen=True, slots=True)
class _Chat:
    """One message on its way to a key."""

    envelope: Envelope
    principal: Principal
    rules: RoutingRules
    agent: str
    dm_scope: DmScope

    def key(self) -> tuple[SessionKey, str]:
        if self.rules.scope is SessionScope.GLOBAL:
            return self._main, "session.scope=global"
        conversation = self.envelope.conversation
        key, rule = self._direct() if conversation.chat_type is ChatType.DIRECT else self._group()
        return replace(key, thread=self._fold(conversation.thread)), rule

    def _direct(self) -> tuple[SessionKey, str]:
        rule = f"session.dmScope={self.dm_scope}"
        scope = self.dm_scope.for_speaker(is_owner=self.principal.is_owner)
        peer = self._fold(self.envelope.place)
        if scope is DmScope.MAIN:
            return self._main, rule
        if peer is None:
            return self._nobody()
        person = linked_name(
            Identity(channel=self.envelope.channel, id=peer), self.rules.links, self.rules.traits
        )
        if person is not None:
            return self._peer_key(person), f"session.identityLinks.{person}"
        if scope is DmScope.PER_PEER and not self._is_taken(peer):
            return self._peer_key(peer), rule
        account = self.envelope.account if scope is DmScope.PER_ACCOUNT_CHANNEL_PEER else None
        return self._peer_key(peer, self.envelope.channel, account), rule

    def _group(self) -> tuple[SessionKey, str]:
        conversation = self.envelope.conversation
        key = SessionKey(
            agent=self.agent,
            kind=KeyKind(conversation.chat_type),
            name=self._fold(conversation.peer) or NO_GROUP_ID,
            channel=self.envelope.channel,
            account=self._group_account,
            topic=self._fold(conversation.topic),
        )
        return key, f"a {conversation.chat_type} chat"

    def _nobody(self) -> tuple[SessionKey, str]:
        if self.principal.kind is PrincipalKind.PERSON:
            raise InvalidInput(
                "a direct message without a peer has no session", hint="the connector must name the peer"
            )
        return self._main, "a message of no peer"

    def _is_taken(self, peer: str) -> bool:
        """Whether a stranger's id is the name of a linked person, whose session it must not open."""
        return peer.lower() in {link.canonical for link in self.rules.links}

    def _peer_key(self, peer: str, channel: str | None = None, account: str | None = None) -> SessionKey:
        return SessionKey(agent=self.agent, kind=KeyKind.DIRECT, name=peer, channel=channel, account=account)

    @property
    def _group_account(self) -> str | None:
        """Two accounts in one room share its session, unless accounts are kept apart."""
        apart = self.dm_scope is DmScope.PER_ACCOUNT_CHANNEL_PEER and self.envelope.account != DEFAULT_ACCOUNT
        return self.envelope.account if apart else None

    @property
    def _main(self) -> SessionKey:
        return main_key(self.agent, self.rules.main_name, self.rules.scope)

    @property
    def _traits(self) -> ChannelTraits:
        return self.rules.traits.of(self.envelope.channel)

    def _fold(self, native_id: str | None) -> str | None:
        return self._traits.fold(self.envelope.conversation.chat_type, native_id) if native_id else None
