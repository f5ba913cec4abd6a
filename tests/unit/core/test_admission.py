"""Admission: who is let in, as whom, and by which rule."""

from dataclasses import replace

import pytest

from roost.core.addresses import ChatType
from roost.core.admission import (
    AdmissionRule,
    Admitted,
    ChannelPolicy,
    DmPolicy,
    GroupPolicy,
    PairingRequired,
    Refused,
    decide,
)
from roost.core.envelopes import Conversation, Envelope, Sender
from roost.core.identities import IdentityLink
from roost.core.principals import OWNER, Principal, PrincipalKind, person

DIRECT = Envelope(
    channel="telegram",
    sender=Sender(id="123"),
    conversation=Conversation(chat_type=ChatType.DIRECT, peer="123"),
    text="hi",
)
MENTION = replace(DIRECT, conversation=Conversation(chat_type=ChatType.GROUP, peer="-100"), mentions_bot=True)
ANN = person("telegram", "123")
ALL_CLOSED = ChannelPolicy(dm_policy=DmPolicy.ALLOWLIST, group_policy=GroupPolicy.ALLOWLIST)


def by(sender: str | None, envelope: Envelope = DIRECT) -> Envelope:
    return replace(envelope, sender=Sender(id=sender))


def test_a_stranger_must_pair_by_default() -> None:
    assert decide(DIRECT, ChannelPolicy()) == PairingRequired(rule=AdmissionRule.DM_PAIRING)


@pytest.mark.parametrize(
    ("policy", "rule"),
    [
        (ChannelPolicy(paired=frozenset({"123"})), AdmissionRule.PAIRED),
        (ChannelPolicy(allow_from=("123",)), AdmissionRule.ALLOW_FROM),
        (ChannelPolicy(allow_from=(" TELEGRAM:123 ",)), AdmissionRule.ALLOW_FROM),
        (ChannelPolicy(dm_policy=DmPolicy.ALLOWLIST, allow_from=("9", "123")), AdmissionRule.ALLOW_FROM),
        (ChannelPolicy(dm_policy=DmPolicy.ALLOWLIST, allow_from=("*",)), AdmissionRule.ALLOW_FROM),
        (ChannelPolicy(dm_policy=DmPolicy.OPEN), AdmissionRule.DM_OPEN),
    ],
)
def test_a_known_person_is_let_in_as_that_person(policy: ChannelPolicy, rule: AdmissionRule) -> None:
    assert decide(DIRECT, policy) == Admitted(principal=ANN, rule=rule)


@pytest.mark.parametrize(
    ("policy", "rule"),
    [
        (ChannelPolicy(dm_policy=DmPolicy.DISABLED, allow_from=("*",)), AdmissionRule.DM_DISABLED),
        (ChannelPolicy(dm_policy=DmPolicy.DISABLED, owner_ids=("123",)), AdmissionRule.DM_DISABLED),
        (ChannelPolicy(dm_policy=DmPolicy.ALLOWLIST), AdmissionRule.DM_ALLOWLIST),
        (
            ChannelPolicy(dm_policy=DmPolicy.ALLOWLIST, allow_from=("discord:123",)),
            AdmissionRule.DM_ALLOWLIST,
        ),
        (ChannelPolicy(dm_policy=DmPolicy.ALLOWLIST, paired=frozenset({"123"})), AdmissionRule.DM_ALLOWLIST),
    ],
)
def test_whoever_the_policy_does_not_know_is_refused(policy: ChannelPolicy, rule: AdmissionRule) -> None:
    refusal = decide(DIRECT, policy)
    assert isinstance(refusal, Refused)
    assert refusal.rule is rule
    assert refusal.reason


def test_an_account_that_says_nothing_itself_lets_in_whom_its_channel_does() -> None:
    channel = ChannelPolicy(dm_policy=DmPolicy.OPEN, accounts={"work": ALL_CLOSED})
    assert (channel.at("work"), channel.at("home")) == (ALL_CLOSED, channel)


@pytest.mark.requirement("S21")
@pytest.mark.parametrize("envelope", [DIRECT, MENTION], ids=["direct", "group"])
@pytest.mark.parametrize("owners", [(), ("telegram:123",)], ids=["a stranger", "the owner"])
def test_what_is_off_lets_in_nobody(envelope: Envelope, owners: tuple[str, ...]) -> None:
    door = ChannelPolicy(
        enabled=False, dm_policy=DmPolicy.OPEN, group_policy=GroupPolicy.OPEN, owner_ids=owners
    )
    refusal = decide(envelope, door)
    assert isinstance(refusal, Refused)
    assert refusal.rule == "enabled=false"


@pytest.mark.parametrize("policy", [ChannelPolicy(), ALL_CLOSED, ChannelPolicy(dm_policy=DmPolicy.OPEN)])
@pytest.mark.parametrize("envelope", [DIRECT, MENTION])
def test_the_owner_is_let_in_as_the_owner(policy: ChannelPolicy, envelope: Envelope) -> None:
    known = replace(policy, owner_ids=("telegram:123",))
    assert decide(envelope, known) == Admitted(principal=OWNER, rule=AdmissionRule.OWNER)


@pytest.mark.requirement("S21")
@pytest.mark.parametrize("owners", [(), ("",), (" ",), ("*",), ("telegram:",), ("discord:123",), (":123",)])
def test_nobody_is_the_owner_by_an_empty_entry_or_a_wildcard(owners: tuple[str, ...]) -> None:
    policy = ChannelPolicy(dm_policy=DmPolicy.OPEN, group_policy=GroupPolicy.OPEN, owner_ids=owners)
    for envelope in (DIRECT, MENTION):
        admitted = decide(envelope, policy)
        assert isinstance(admitted, Admitted)
        assert admitted.principal == ANN


@pytest.mark.requirement("S21")
@pytest.mark.parametrize("sender", [None, "", " ", "*", " 123", "12\n3", "\x00"])
@pytest.mark.parametrize("envelope", [DIRECT, MENTION])
def test_a_sender_without_a_usable_id_is_refused_by_the_most_open_policy(
    sender: str | None, envelope: Envelope
) -> None:
    policy = ChannelPolicy(
        dm_policy=DmPolicy.OPEN, allow_from=("*", ""), group_policy=GroupPolicy.OPEN, owner_ids=("*", "")
    )
    refusal = decide(by(sender, envelope), policy)
    assert isinstance(refusal, Refused)
    assert refusal.rule is AdmissionRule.SENDER_ID


@pytest.mark.requirement("S21")
@pytest.mark.parametrize("entries", [(), ("",), (" ",), ("telegram:",)])
@pytest.mark.parametrize("envelope", [DIRECT, MENTION])
def test_an_empty_list_admits_nobody(entries: tuple[str, ...], envelope: Envelope) -> None:
    policy = replace(ALL_CLOSED, allow_from=entries, group_allow_from=entries, paired=frozenset(entries))
    assert isinstance(decide(envelope, policy), Refused)
    assert not isinstance(decide(envelope, replace(policy, dm_policy=DmPolicy.PAIRING)), Admitted)


@pytest.mark.requirement("S21")
def test_a_wildcard_pairs_nobody() -> None:
    assert isinstance(decide(DIRECT, ChannelPolicy(paired=frozenset({"*"}))), PairingRequired)


@pytest.mark.parametrize("chat_type", [ChatType.GROUP, ChatType.CHANNEL])
@pytest.mark.parametrize(
    ("policy", "rule"),
    [
        (ChannelPolicy(group_policy=GroupPolicy.OPEN), AdmissionRule.GROUP_OPEN),
        (ChannelPolicy(group_allow_from=("123",)), AdmissionRule.GROUP_ALLOW_FROM),
        (ChannelPolicy(group_allow_from=("*",)), AdmissionRule.GROUP_ALLOW_FROM),
    ],
)
def test_a_member_who_mentions_the_agent_is_let_in(
    policy: ChannelPolicy, rule: AdmissionRule, chat_type: ChatType
) -> None:
    envelope = replace(MENTION, conversation=Conversation(chat_type=chat_type, peer="1"))
    assert decide(envelope, policy) == Admitted(principal=ANN, rule=rule)


@pytest.mark.parametrize(
    ("policy", "rule"),
    [
        (ChannelPolicy(), AdmissionRule.GROUP_ALLOWLIST),
        (ChannelPolicy(allow_from=("*",), paired=frozenset({"123"})), AdmissionRule.GROUP_ALLOWLIST),
        (
            ChannelPolicy(group_policy=GroupPolicy.DISABLED, group_allow_from=("*",)),
            AdmissionRule.GROUP_DISABLED,
        ),
        (ChannelPolicy(group_policy=GroupPolicy.DISABLED, owner_ids=("123",)), AdmissionRule.GROUP_DISABLED),
    ],
)
def test_a_group_is_closed_to_whoever_its_own_policy_does_not_know(
    policy: ChannelPolicy, rule: AdmissionRule
) -> None:
    refusal = decide(MENTION, policy)
    assert isinstance(refusal, Refused)
    assert refusal.rule is rule


def test_in_a_group_the_agent_hears_only_what_mentions_it_unless_told_otherwise() -> None:
    policy = ChannelPolicy(group_policy=GroupPolicy.OPEN, owner_ids=("7",))
    overheard = replace(MENTION, mentions_bot=False)
    for message in (overheard, by("7", overheard)):
        refusal = decide(message, policy)
        assert isinstance(refusal, Refused)
        assert refusal.rule is AdmissionRule.MENTION
    assert isinstance(decide(overheard, replace(policy, require_mention=False)), Admitted)


@pytest.mark.requirement("S21")
def test_a_group_message_without_a_group_is_refused() -> None:
    policy = ChannelPolicy(group_policy=GroupPolicy.OPEN, owner_ids=("123",))
    refusal = decide(replace(MENTION, conversation=Conversation(chat_type=ChatType.GROUP)), policy)
    assert isinstance(refusal, Refused)
    assert refusal.rule is AdmissionRule.GROUP_ID


def test_linked_identities_are_let_in_as_one_person() -> None:
    link = IdentityLink(name="ann", members=("telegram:123", "discord:456"))
    policy = ChannelPolicy(dm_policy=DmPolicy.OPEN, links=(link,))
    on_discord = replace(by("456"), channel="discord")
    for envelope in (DIRECT, on_discord):
        admitted = decide(envelope, policy)
        assert isinstance(admitted, Admitted)
        assert admitted.principal == Principal(PrincipalKind.PERSON, "ann")


@pytest.mark.requirement("P2")
def test_an_id_that_spells_the_owner_on_another_channel_is_not_the_owner() -> None:
    policy = ChannelPolicy(dm_policy=DmPolicy.OPEN, owner_ids=("telegram:123",))
    admitted = decide(replace(by("telegram:123"), channel="webchat"), policy)
    assert isinstance(admitted, Admitted)
    assert not admitted.principal.is_owner
