"""One person, several ids: who is named by an entry of a list, and which ids the owner declared to be one."""

from collections.abc import Collection
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


def names_channel(entry: str, channels: Collection[str], traits: Traits) -> bool:
    """Whether an entry names one of these channels, or one that is known: an id alone holds on any."""
    channel, colon, _ = entry.strip().partition(":")
    name = channel.lower()
    return bool(colon) and (name in channels or traits.know(name))


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """Whom an entry means in the settings of one channel: by an id there, by `channel:id`, or by the name of a link."""

    channel: str
    links: Links
    traits: Traits

    def at(self, entry: str) -> Identity:
        """Who has the id that an entry gives."""
        channel, colon, native_id = entry.strip().partition(":")
        if colon and (channel.lower() == self.channel or self.traits.know(channel.lower())):
            return Identity(channel=channel.lower(), id=native_id.strip())
        return Identity(channel=self.channel, id=entry.strip())

    def can_mean(self, entry: str) -> bool:
        """Whether an entry can be about anybody who speaks on this channel."""
        one = self.at(entry)
        if one.id and one.channel == self.channel:
            return True
        return self._linked(one) is not None

    def means(self, entry: str, someone: Principal) -> bool:
        """Whether an entry is about a person, by any id or name of theirs."""
        name = self._name(someone)
        if name is None:
            return _known_as(someone).is_named_by(entry, self.traits)
        return name in (_folded(entry), self._linked(self.at(entry)))

    def is_anothers(self, entry: str, someone: Principal) -> bool:
        """Whether an entry is the name of a link, and not of this person's: an id can be chosen to spell it."""
        return any(link.canonical == _folded(entry) != self._name(someone) for link in self.links)

    def _name(self, someone: Principal) -> str | None:
        # A link may be younger than what was said.
        return self._linked(_known_as(someone)) if ":" in someone.id else someone.id

    def _linked(self, identity: Identity) -> str | None:
        return linked_name(identity, self.links, self.traits)


def _known_as(someone: Principal) -> Identity:
    channel, _, native_id = someone.id.partition(":")
    return Identity(channel=channel, id=native_id)


def _folded(name: str) -> str:
    return name.strip().lower()
