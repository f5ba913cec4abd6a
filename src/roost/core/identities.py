"""One person, several ids: who is named by an entry of a list, and which ids the owner declared to be one."""

from dataclasses import dataclass
from typing import TypeAlias

from roost.core.addresses import ChatType
from roost.core.channeltraits import Traits
from roost.core.errors import InvalidInput
from roost.core.principals import Principal, PrincipalKind, person


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Someone as one channel knows them."""

    channel: str
    id: str

    def is_named_by(self, entry: str, traits: Traits) -> bool:
        """Whether an entry means this one: `channel:id`, or the id alone, which then holds on any channel."""
        declared = traits.of(self.channel)
        channel, colon, native_id = entry.strip().partition(":")
        if colon and channel.lower() == self.channel:
            entry = native_id
        elif colon and traits.know(channel.lower()):
            # An id may be chosen freely on some channels: it must not spell someone on another.
            return False
        return declared.fold(ChatType.DIRECT, entry.strip()) == declared.fold(ChatType.DIRECT, self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityLink:
    """A person's name, and the entries that mean this person."""

    name: str
    members: tuple[str, ...]

    def __post_init__(self) -> None:
        # An unlinked person is known as `channel:id`: without a colon no name can pass for one.
        if not self.name.strip() or ":" in self.name:
            raise InvalidInput(f"{self.name!r} cannot name a person", hint="use a word without a colon")

    @property
    def canonical(self) -> str:
        return self.name.strip().lower()


Links: TypeAlias = tuple[IdentityLink, ...]


def linked_name(identity: Identity, links: Links, traits: Traits) -> str | None:
    """The name of the first link that lists this identity."""
    for link in links:
        if any(identity.is_named_by(member, traits) for member in link.members):
            return link.canonical
    return None


def person_of(identity: Identity, links: Links, traits: Traits) -> Principal:
    """The person behind an identity."""
    name = linked_name(identity, links, traits)
    if name is not None:
        return Principal(PrincipalKind.PERSON, name)
    return person(identity.channel, traits.of(identity.channel).fold(ChatType.DIRECT, identity.id))
