"""Bindings: which agent answers where. The most specific one that fits wins; among equals the first."""

from dataclasses import dataclass
from enum import IntEnum

from roost.core.addresses import DEFAULT_ACCOUNT, ChatType
from roost.core.channeltraits import ChannelTraits
from roost.core.envelopes import Envelope
from roost.core.scopes import DmScope

ANY = "*"


class Tier(IntEnum):
    """How specific a match is; the lowest wins."""

    PEER = 0
    PARENT = 1
    ANY_PEER = 2
    ROLES = 3
    GUILD = 4
    TEAM = 5
    ACCOUNT = 6
    CHANNEL = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerMatch:
    """One chat, or with `*` every chat of a kind."""

    kind: ChatType
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Everything given must hold. `account` is the default one unless named; `*` is any."""

    channel: str
    account: str = DEFAULT_ACCOUNT
    peer: PeerMatch | None = None
    guild: str | None = None
    team: str | None = None
    roles: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    agent: str
    match: Match
    dm_scope: DmScope | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """The binding that won; `rule` names it as `explain` does."""

    binding: Binding
    rule: str


def choose(bindings: tuple[Binding, ...], envelope: Envelope, traits: ChannelTraits) -> Bound | None:
    """The binding that decides, if any fits."""
    best: tuple[Tier, int] | None = None
    for index, binding in enumerate(bindings):
        tier = fit(binding.match, envelope, traits)
        if tier is not None and (best is None or (tier, index) < best):
            best = tier, index
    if best is None:
        return None
    tier, index = best
    return Bound(binding=bindings[index], rule=f"bindings[{index}] by {tier.name.lower()}")


def fit(match: Match, envelope: Envelope, traits: ChannelTraits) -> Tier | None:
    """How specifically a match fits a message; None if it does not."""
    if not _around(match, envelope):
        return None
    if match.peer is not None:
        return _peer_tier(match.peer, envelope, traits)
    if match.guild is not None:
        return Tier.ROLES if match.roles else Tier.GUILD
    if match.team is not None:
        return Tier.TEAM
    return Tier.CHANNEL if match.account == ANY else Tier.ACCOUNT


def _around(match: Match, envelope: Envelope) -> bool:
    conversation = envelope.conversation
    return (
        match.channel == envelope.channel
        and match.account in (ANY, envelope.account)
        and match.guild in (None, conversation.guild)
        and match.team in (None, conversation.team)
        and (not match.roles or not match.roles.isdisjoint(envelope.sender.roles))
    )


def _peer_tier(peer: PeerMatch, envelope: Envelope, traits: ChannelTraits) -> Tier | None:
    conversation = envelope.conversation
    if peer.kind is not conversation.chat_type:
        return None
    if peer.id == ANY:
        return Tier.ANY_PEER
    wanted = traits.fold(peer.kind, peer.id)
    places = ((Tier.PEER, envelope.place), (Tier.PARENT, conversation.parent))
    return next((tier for tier, place in places if place and traits.fold(peer.kind, place) == wanted), None)
