from dataclasses import replace

import pytest

from roost.core.addresses import ChatType
from roost.core.deliveries import DeliveryKind
from roost.core.keys import KeyKind, SessionKey
from roost.core.sendpolicy import (
    SendAction,
    SendMatch,
    SendPolicy,
    SendRule,
    Verdict,
    anything,
    decide,
    judge,
)
from roost.core.sessions import SendOverride
from roost.testing import builders
from tests import samples

ALLOW_DISCORD = SendRule(action=SendAction.ALLOW, match=SendMatch(channel="discord"))
DENY_GROUPS = SendRule(action=SendAction.DENY, match=SendMatch(channel="discord", chat_type=ChatType.GROUP))
MIXED = SendPolicy(rules=(ALLOW_DISCORD, DENY_GROUPS))
CLOSED = SendPolicy(default=SendAction.DENY)
UNKNOWN = SessionKey(agent="", kind=KeyKind.UNKNOWN)
DISCORD_GROUP = SessionKey(agent="main", kind=KeyKind.GROUP, channel="discord", name="7")


@pytest.mark.requirement("D20")
def test_a_deny_wins_over_an_allow_listed_before_it() -> None:
    group = decide(MIXED, samples.MAIN, channel="discord", chat_type=ChatType.GROUP)
    direct = decide(MIXED, samples.MAIN, channel="Discord", chat_type=ChatType.DIRECT)
    assert group == Verdict(allowed=False, rule="session.sendPolicy.rules[1]")
    assert direct == Verdict(allowed=True, rule="session.sendPolicy.rules[0]")


@pytest.mark.requirement("D20")
@pytest.mark.parametrize(("override", "allowed"), [(SendOverride.ALLOW, True), (SendOverride.DENY, False)])
@pytest.mark.parametrize("policy", [None, MIXED, CLOSED])
def test_the_sessions_own_setting_wins_over_every_rule(
    policy: SendPolicy | None, override: SendOverride, allowed: bool
) -> None:
    verdict = decide(policy, DISCORD_GROUP, override=override)
    assert verdict == Verdict(allowed=allowed, rule="the session's sendPolicy")


@pytest.mark.requirement("D46")
def test_a_key_prefix_fits_with_or_without_the_agent_and_a_raw_one_only_with_it() -> None:
    def denied(match: SendMatch) -> bool:
        return not decide(
            SendPolicy(rules=(SendRule(action=SendAction.DENY, match=match),)), samples.CRON
        ).allowed

    assert denied(SendMatch(key_prefix="cron:"))
    assert denied(SendMatch(key_prefix="agent:main:CRON:"))
    assert denied(SendMatch(raw_key_prefix="agent:main:cron:"))
    assert not denied(SendMatch(raw_key_prefix="cron:"))
    assert not denied(SendMatch(key_prefix="hook:"))


def test_without_a_policy_everything_may_be_sent() -> None:
    assert decide(None, UNKNOWN) == Verdict(allowed=True, rule="no session.sendPolicy")


@pytest.mark.parametrize("default", list(SendAction))
def test_where_no_rule_matches_the_default_decides(default: SendAction) -> None:
    policy = SendPolicy(default=default, rules=(DENY_GROUPS,))
    verdict = decide(policy, samples.MAIN, channel="telegram")
    assert verdict == Verdict(allowed=default is SendAction.ALLOW, rule="session.sendPolicy.default")


def test_channel_and_chat_type_are_read_from_the_key_where_nobody_gives_them() -> None:
    assert decide(MIXED, DISCORD_GROUP).rule == "session.sendPolicy.rules[1]"


def test_a_rule_about_what_nobody_knows_does_not_match() -> None:
    assert decide(MIXED, samples.MAIN) == Verdict(allowed=True, rule="session.sendPolicy.default")
    closed = SendPolicy(default=SendAction.DENY, rules=(ALLOW_DISCORD,))
    assert not decide(closed, samples.MAIN).allowed


@pytest.mark.parametrize(
    "key", [UNKNOWN, SessionKey(agent="main", kind=KeyKind.NAMED, name="a:b:c:direct:d:e")]
)
def test_a_key_that_could_mean_two_chats_is_denied_once_there_is_a_policy(key: SessionKey) -> None:
    assert decide(SendPolicy(), key) == Verdict(allowed=False, rule="a key that could mean two chats")


def test_a_doubtful_name_is_no_doubt_where_the_session_knows_its_chat() -> None:
    key = SessionKey(agent="main", kind=KeyKind.NAMED, name="a:b:c:direct:d:e")
    assert decide(SendPolicy(), key, chat_type=ChatType.DIRECT).allowed


@pytest.mark.requirement("D20")
@pytest.mark.parametrize("kind", DeliveryKind)
def test_a_denied_session_is_told_only_what_it_asked_for_by_a_command(kind: DeliveryKind) -> None:
    delivery = replace(builders.delivery("d1"), kind=kind)
    session = samples.session()
    denied = kind is not DeliveryKind.COMMAND
    assert judge(CLOSED, session, delivery).allowed is not denied
    muted = session._replace(overrides=replace(session.overrides, send_policy=SendOverride.DENY))
    assert judge(None, muted, delivery).allowed is not denied
    assert judge(None, session, delivery).allowed
    assert anything(muted, delivery).allowed
