"""Whose a session is, decided when it is opened: by its key, and by whether who opens it speaks there or names it from
elsewhere. Whoever comes first, it is the same one's."""

from dataclasses import dataclass

from roost.core.channeltraits import KNOWN_CHANNELS, Traits
from roost.core.errors import InvalidInput
from roost.core.identities import Identity, IdentityLink, Links, person_of
from roost.core.keys import KeyKind, SessionKey
from roost.core.principals import OWNER, Principal, PrincipalKind, node

_PEOPLES = frozenset({KeyKind.DIRECT, KeyKind.SLASH})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """`owners` are the entries by which the gateway's owner writes."""

    main_name: str = "main"
    owners: tuple[str, ...] = ()
    links: Links = ()
    traits: Traits = KNOWN_CHANNELS

    def met(self, key: SessionKey, speaker: Principal, parent_owner: Principal | None = None) -> Principal:
        """Of a session that a message on its own channel opens. What is kept under the name of a node is that node's."""
        if key.parent.is_main(self.main_name):
            return OWNER
        match key.kind:
            case KeyKind.GROUP | KeyKind.CHANNEL:
                return OWNER
            case KeyKind.SUBAGENT | KeyKind.ACP:
                if parent_owner is None:
                    raise InvalidInput(f"{key} is a child's key", hint="give the owner of its parent")
                return parent_owner
            case KeyKind.NODE:
                return node(key.name)
            case _:
                return speaker

    def named(self, key: SessionKey, opener: Principal, parent_owner: Principal | None = None) -> Principal:
        """Of a session that is opened by its key: of the person whom that names, and where it names nobody of who opens
        it, or configured the job or hook that does."""
        person = self._named(key) if key.kind in _PEOPLES else None
        return self.met(key, person or opener, parent_owner)

    def _named(self, key: SessionKey) -> Principal | None:
        """An id without a channel may be several people's."""
        if key.channel is not None:
            return self._known_as(Identity(channel=key.channel, id=key.name))
        link = next((one for one in self.links if one.canonical == key.name), None)
        if link is None:
            return None
        return OWNER if self._is_owners(link) else Principal(PrincipalKind.PERSON, link.canonical)

    def _known_as(self, identity: Identity) -> Principal:
        if any(identity.is_named_by(entry, self.traits) for entry in self.owners):
            return OWNER
        return person_of(identity, self.links, self.traits)

    def _is_owners(self, link: IdentityLink) -> bool:
        return any(self._overlap(member, entry) for member in link.members for entry in self.owners)

    def _overlap(self, member: str, entry: str) -> bool:
        """Whether somebody can be meant by both: an id alone holds on any channel."""
        channel, colon, native_id = member.strip().partition(":")
        if colon:
            return Identity(channel=channel.lower(), id=native_id).is_named_by(entry, self.traits)
        return member.strip() == entry.strip().rpartition(":")[2]
