"""Who may speak on a channel, and as whom. Runs first, before a message has a session.

What is empty, missing or malformed admits nobody.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias, assert_never

from roost.core.addresses import ChatType
from roost.core.channeltraits import KNOWN_CHANNELS, Traits
from roost.core.envelopes import Envelope
from roost.core.grants import EVERY, Scope
from roost.core.identities import Identity, Links, person_of
from roost.core.keytext import CONTROL
from roost.core.principals import OWNER, Principal

ANYONE = "*"


class DmPolicy(StrEnum):
    """`PAIRING` lets a stranger ask the owner, `ALLOWLIST` knows the listed only."""

    PAIRING = "pairing"
    ALLOWLIST = "allowlist"
    OPEN = "open"
    DISABLED = "disabled"


class GroupPolicy(StrEnum):
    OPEN = "open"
    ALLOWLIST = "allowlist"
    DISABLED = "disabled"


class AdmissionRule(StrEnum):
    """The rule that decided, as `explain` names it."""

    ENABLED = "enabled=false"
    SENDER_ID = "sender.id"
    GROUP_ID = "conversation.peer"
    OWNER = "commands.ownerAllowFrom"
    ALLOW_FROM = "allowFrom"
    PAIRED = "pairing"
    DM_PAIRING = "dmPolicy=pairing"
    DM_ALLOWLIST = "dmPolicy=allowlist"
    DM_OPEN = "dmPolicy=open"
    DM_DISABLED = "dmPolicy=disabled"
    GROUP_ALLOW_FROM = "groupAllowFrom"
    GROUP_ALLOWLIST = "groupPolicy=allowlist"
    GROUP_OPEN = "groupPolicy=open"
    GROUP_DISABLED = "groupPolicy=disabled"
    MENTION = "requireMention"
    CREDENTIAL = "gateway.auth"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelPolicy:
    """Who is let in on one channel; where it is not `enabled`, nobody. Lists hold ids, `channel:id`, or `*` where they
    allow.

    `paired` are the ids whose pairing was approved; `owner_ids` those by which the owner writes. `accounts` are those
    of its accounts that say for themselves whom they let in.
    """

    enabled: bool = True
    dm_policy: DmPolicy = DmPolicy.PAIRING
    allow_from: tuple[str, ...] = ()
    paired: frozenset[str] = frozenset()
    owner_ids: tuple[str, ...] = ()
    group_policy: GroupPolicy = GroupPolicy.ALLOWLIST
    group_allow_from: tuple[str, ...] = ()
    require_mention: bool = True
    links: Links = ()
    traits: Traits = KNOWN_CHANNELS
    accounts: Mapping[str, "ChannelPolicy"] = field(default_factory=dict)

    def at(self, account: str) -> "ChannelPolicy":
        """What holds for one account."""
        return self.accounts.get(account, self)

    def letting_in(self, paired: frozenset[str] | None) -> "ChannelPolicy":
        """The same, also for those who were let in by pairing."""
        return replace(self, paired=paired) if paired else self


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """`scopes` are those of the credential; in a chat there is none, and who writes there is bound by who he is alone."""

    principal: Principal
    rule: AdmissionRule
    scopes: Collection[Scope] = EVERY


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingRequired:
    """The sender is unknown; the owner may let this person in."""

    rule: AdmissionRule


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The message goes no further; `reason` says why to the owner, not to the sender."""

    reason: str
    rule: AdmissionRule


Admission: TypeAlias = Admitted | PairingRequired | Refused


def decide(envelope: Envelope, policy: ChannelPolicy) -> Admission:
    """Whether a message is taken, and as whose."""
    if not policy.enabled:
        return Refused(reason="this channel, or this account of it, is off", rule=AdmissionRule.ENABLED)
    sender = envelope.sender.id
    if not sender or not _is_id(sender):
        return Refused(
            reason=f"the channel gave no usable sender id: {sender!r}", rule=AdmissionRule.SENDER_ID
        )
    speaker = _Speaker(Identity(channel=envelope.channel, id=sender), policy)
    match envelope.conversation.chat_type:
        case ChatType.DIRECT:
            return _direct(speaker, policy)
        case ChatType.GROUP | ChatType.CHANNEL:
            return _in_group(speaker, policy, envelope)
        case other:
            assert_never(other)


@dataclass(frozen=True, slots=True)
class _Speaker:
    identity: Identity
    policy: ChannelPolicy

    @property
    def is_owner(self) -> bool:
        return self.is_listed(self.policy.owner_ids)

    @property
    def person(self) -> Principal:
        return person_of(self.identity, self.policy.links, self.policy.traits)

    def is_listed(self, entries: Iterable[str]) -> bool:
        """Whether a list names this sender; a wildcard names nobody."""
        return any(self.identity.is_named_by(entry, self.policy.traits) for entry in entries)

    def is_allowed(self, entries: tuple[str, ...]) -> bool:
        return any(entry.strip() == ANYONE for entry in entries) or self.is_listed(entries)


def _direct(speaker: _Speaker, policy: ChannelPolicy) -> Admission:
    if policy.dm_policy is DmPolicy.DISABLED:
        return Refused(reason="direct messages are off on this channel", rule=AdmissionRule.DM_DISABLED)
    if speaker.is_owner:
        return Admitted(principal=OWNER, rule=AdmissionRule.OWNER)
    if speaker.is_allowed(policy.allow_from):
        return Admitted(principal=speaker.person, rule=AdmissionRule.ALLOW_FROM)
    match policy.dm_policy:
        case DmPolicy.OPEN:
            return Admitted(principal=speaker.person, rule=AdmissionRule.DM_OPEN)
        case DmPolicy.ALLOWLIST:
            return Refused(reason="the sender is not in allowFrom", rule=AdmissionRule.DM_ALLOWLIST)
        case DmPolicy.PAIRING if speaker.is_listed(policy.paired):
            return Admitted(principal=speaker.person, rule=AdmissionRule.PAIRED)
        case DmPolicy.PAIRING:
            return PairingRequired(rule=AdmissionRule.DM_PAIRING)
        case other:
            assert_never(other)


def _in_group(speaker: _Speaker, policy: ChannelPolicy, envelope: Envelope) -> Admission:
    if not envelope.conversation.peer:
        return Refused(reason="the channel gave no group id", rule=AdmissionRule.GROUP_ID)
    rule = _group_rule(speaker, policy)
    match rule:
        case AdmissionRule.GROUP_DISABLED:
            return Refused(reason="groups are off on this channel", rule=rule)
        case AdmissionRule.GROUP_ALLOWLIST:
            return Refused(reason="the sender is not in groupAllowFrom", rule=rule)
        case _ if policy.require_mention and not envelope.mentions_bot:
            return Refused(reason="the message does not mention the agent", rule=AdmissionRule.MENTION)
        case _:
            return Admitted(principal=OWNER if rule is AdmissionRule.OWNER else speaker.person, rule=rule)


def _group_rule(speaker: _Speaker, policy: ChannelPolicy) -> AdmissionRule:
    match policy.group_policy:
        case GroupPolicy.DISABLED:
            return AdmissionRule.GROUP_DISABLED
        case _ if speaker.is_owner:
            return AdmissionRule.OWNER
        case GroupPolicy.OPEN:
            return AdmissionRule.GROUP_OPEN
        case GroupPolicy.ALLOWLIST if speaker.is_allowed(policy.group_allow_from):
            return AdmissionRule.GROUP_ALLOW_FROM
        case GroupPolicy.ALLOWLIST:
            return AdmissionRule.GROUP_ALLOWLIST
        case other:
            assert_never(other)


def _is_id(text: str) -> bool:
    return text == text.strip() and text != ANYONE and CONTROL.search(text) is None
