"""A person who shall be forgotten: what is theirs, and what stays of it where others were there too."""

from dataclasses import dataclass, replace
from typing import assert_never

from roost.core.addresses import ChatType
from roost.core.channeltraits import Traits
from roost.core.errors import InvalidInput
from roost.core.identities import Identity, Links, person_of
from roost.core.keys import KeyKind, SessionKey
from roost.core.messages import (
    AssistantMessage,
    Body,
    Compaction,
    Notice,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from roost.core.notices import derived_id
from roost.core.principals import Principal, PrincipalKind, person

ERASED = "[erased]"
ANYWHERE = ""
_PERSONAL = frozenset({KeyKind.DIRECT, KeyKind.SLASH})


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Someone by every name they have had here. `secret` makes what stands in their place, and is kept nowhere."""

    principals: frozenset[Principal]
    identities: frozenset[Identity]
    secret: str

    @classmethod
    def named(cls, text: str, links: Links, traits: Traits, secret: str) -> "Person":
        """Who is meant by `channel:id`, or by the name under which several ids were declared to be one."""
        name = text.strip().removeprefix(f"{PrincipalKind.PERSON}:")
        channel, _, native_id = name.partition(":")
        if channel and native_id:
            own = Identity(channel=channel.lower(), id=native_id)
            name = person_of(own, links, traits).id
        members = [one for link in links if link.canonical == name.lower() for one in link.members]
        if not members and not (channel and native_id):
            raise InvalidInput(
                f"{text!r} names nobody", hint="give channel:id, or a name in session.identityLinks"
            )
        identities = frozenset(_identity(one, traits) for one in members or (name,))
        linked = [Principal(PrincipalKind.PERSON, name.lower())] if members else []
        # A link may be younger than what was said.
        apart = (person(one.channel, one.id) for one in identities if one.channel != ANYWHERE)
        return cls(principals=frozenset((*linked, *apart)), identities=identities, secret=secret)

    def is_at(self, channel: str | None, to: str | None, traits: Traits) -> bool:
        """Whether that is the chat with this person."""
        if not channel or not to:
            return False
        folded = traits.of(channel).fold(ChatType.DIRECT, to.removeprefix(f"{channel}:"))
        return any(Identity(channel=one, id=folded) in self.identities for one in (channel, ANYWHERE))

    def has(self, key: SessionKey) -> bool:
        """Whether the key says that the conversation is this person's, whoever owns it."""
        if key.kind not in _PERSONAL or key.channel is None:
            return False
        return any(Identity(channel=one, id=key.name) in self.identities for one in (key.channel, ANYWHERE))

    def may_have(self, key: SessionKey) -> bool:
        """Whether it can be: several people may have one id, each on a channel of their own, and the name of a link may be
        anyone's id."""
        names = {one.id for one in self.identities} if key.channel is None else set()
        names |= {one.id for one in self.principals if ":" not in one.id}
        return key.kind in _PERSONAL and key.name in names

    @property
    def stand_in(self) -> Principal:
        """Whose the totals are from now on."""
        return Principal(PrincipalKind.PERSON, f"erased-{derived_id('person', self.secret)}")

    def stand_in_for(self, key: SessionKey) -> SessionKey:
        """Where the totals of a session are from now on."""
        return SessionKey.named(key.agent, f"erased-{derived_id('session', self.secret, str(key))}")


def _identity(entry: str, traits: Traits) -> Identity:
    """What an entry of a link means; an id alone holds on every channel."""
    channel, colon, native_id = entry.strip().partition(":")
    if not colon:
        return Identity(channel=ANYWHERE, id=channel)
    known_as = traits.of(channel.lower()).fold(ChatType.DIRECT, native_id)
    return Identity(channel=channel.lower(), id=known_as)


def blanked(body: Body, person: Person) -> Body:
    """An entry without what it said. Calls and results still pair, and what was used stays counted."""
    words = (Text(ERASED),)
    match body:
        case UserMessage():
            theirs = body.provenance.principal in person.principals
            who = person.stand_in if theirs else body.provenance.principal
            provenance = replace(body.provenance, principal=who, source_session=None, voices=())
            return replace(body, content=words, sender=None, provenance=provenance)
        case AssistantMessage():
            calls = (replace(one, arguments={}) for one in body.content if isinstance(one, ToolCall))
            error = body.error and ERASED
            return replace(body, content=(*words, *calls), error=error)
        case ToolResult():
            return replace(body, content=words, details=None)
        case Compaction():
            return replace(body, summary=ERASED)
        case Notice():
            return replace(body, data={})
        case _:
            assert_never(body)
