"""Who is let in by which door, and who shares a conversation then."""

from dataclasses import replace

import pytest

from roost.core.admission import ChannelPolicy, DmPolicy
from roost.core.bindings import Binding, Match
from roost.core.doors import Door, door_findings
from roost.core.findings import Finding, Severity
from roost.core.identities import IdentityLink
from roost.core.routing import RoutingRules
from roost.core.scopes import DmScope, SessionScope

MAIN = RoutingRules(dm_scope=DmScope.MAIN)
COLLISION = "channels.dm.session_collision"


def door(*allowed: str, channel: str = "telegram", account: str | None = None, owner: str = "") -> Door:
    policy = ChannelPolicy(allow_from=allowed, owner_ids=tuple(owner.split()))
    return Door(channel=channel, account=account, policy=policy)


def with_policy(one: Door, policy: DmPolicy) -> Door:
    return replace(one, policy=replace(one.policy, dm_policy=policy))


OPEN = with_policy(door(), DmPolicy.OPEN)
TWO_CHANNELS = (door("1"), door("2", channel="discord"))


def told(*doors: Door, rules: RoutingRules = MAIN) -> dict[str, Finding]:
    found = list(door_findings(doors, rules))
    assert len({one.id for one in found}) == len(found)
    return {one.id: one for one in found}


def collisions(*doors: Door, rules: RoutingRules = MAIN) -> set[str]:
    found = told(*doors, rules=rules)
    return {name.removeprefix(f"{COLLISION}.") for name in found if name.startswith(COLLISION)}


@pytest.mark.requirement("D34")
@pytest.mark.parametrize(
    ("doors", "why"),
    [
        ((OPEN,), "telegram.open"),
        ((door("*"),), "telegram.open"),
        ((door("1", "2"),), "telegram.allow_from"),
        ((door("2", owner="telegram:1"),), "telegram.allow_from"),
        ((door("2", owner="irc:ada"),), "telegram.allow_from"),
        ((door(account="a"), door(account="b")), "telegram.accounts"),
        (TWO_CHANNELS, "across_channels"),
    ],
)
def test_several_people_in_one_session_of_direct_messages_are_found(
    doors: tuple[Door, ...], why: str
) -> None:
    assert collisions(*doors) == {why}
    finding = told(*doors)[f"{COLLISION}.{why}"]
    assert (finding.severity, finding.setting) == (Severity.WARN, "session.dmScope")
    assert "owner-main" in finding.fix
    for scope in set(DmScope) - {DmScope.MAIN}:
        assert collisions(*doors, rules=RoutingRules(dm_scope=scope)) == set()


@pytest.mark.requirement("D34")
@pytest.mark.parametrize(
    "doors",
    [
        (door(),),
        (door("1"),),
        (door("1", "1"),),
        (door("1", "telegram:1"),),
        (door("1", "discord:2", "un\x01usable"),),
        (door("1", owner="telegram:1"),),
        (door("1", owner="*"),),
        (door("1", owner="1 discord:2"), door("2", channel="discord", owner="1 discord:2")),
        (with_policy(door("1", "2", "*", owner="telegram:3"), DmPolicy.DISABLED), door("1", channel="irc")),
    ],
)
def test_one_person_shares_with_nobody(doors: tuple[Door, ...]) -> None:
    assert told(*doors) == {}


@pytest.mark.requirement("D34")
def test_people_whose_pairing_was_approved_count_like_those_who_are_listed() -> None:
    one, two = (
        replace(door(), policy=ChannelPolicy(paired=frozenset(people))) for people in ({"1"}, {"1", "2"})
    )
    assert collisions(one) == set()
    assert collisions(two) == {"telegram.allow_from"}


@pytest.mark.requirement("D34")
def test_one_person_on_two_channels_is_one_who_is_linked() -> None:
    link = IdentityLink(name="ada", members=("telegram:1", "discord:2"))
    linked = [replace(one, policy=replace(one.policy, links=(link,))) for one in TWO_CHANNELS]
    assert collisions(*linked, rules=replace(MAIN, links=(link,))) == set()


@pytest.mark.requirement("D34")
def test_under_the_global_scope_people_share_whatever_is_said_of_direct_messages() -> None:
    rules = RoutingRules(scope=SessionScope.GLOBAL, dm_scope=DmScope.PER_CHANNEL_PEER)
    finding = told(door("1", "2"), rules=rules)[f"{COLLISION}.telegram.allow_from"]
    assert finding.setting == "session.scope"
    assert "per-sender" in finding.fix


@pytest.mark.requirement("D34")
def test_people_meet_where_bindings_lead_them() -> None:
    work = Binding(agent="work", match=Match(channel="discord"))
    apart = replace(MAIN, bindings=(work,))
    assert collisions(*TWO_CHANNELS, rules=apart) == set()
    one_by_one = Binding(agent="main", match=Match(channel="telegram"), dm_scope=DmScope.MAIN)
    rules = RoutingRules(dm_scope=DmScope.PER_PEER, bindings=(work, one_by_one))
    finding = told(door("1", "2"), rules=rules)[f"{COLLISION}.telegram.allow_from"]
    assert finding.setting == "bindings[1].session.dmScope"
    accounts = (door("1", "2", account="a"), door("1", "2", account="b"))
    by_account = tuple(Binding(agent=name, match=Match(channel="telegram", account=name)) for name in "ab")
    assert collisions(*accounts, rules=replace(MAIN, bindings=by_account)) == {"telegram.allow_from"}


def test_an_open_door_is_named_with_its_setting() -> None:
    rules = RoutingRules(dm_scope=DmScope.PER_CHANNEL_PEER)
    found = told(replace(OPEN, account="work"), rules=rules)["channels.telegram.dm.open"]
    assert (found.severity, found.setting) == (Severity.CRITICAL, "channels.telegram.accounts.work.dmPolicy")
    assert told(door("*"), rules=rules)["channels.telegram.dm.open"].setting == "channels.telegram.allowFrom"


@pytest.mark.requirement("D34")
def test_names_that_two_channels_may_give_to_two_people_are_found() -> None:
    by_id = RoutingRules(dm_scope=DmScope.PER_PEER)
    two = (door(), door(channel="discord"))
    finding = told(*two, rules=by_id)["channels.dm.same_id"]
    assert (finding.severity, finding.setting) == (Severity.INFO, "session.dmScope")
    off = with_policy(two[1], DmPolicy.DISABLED)
    for doors in ((door(),), (door(), door(account="b")), (door(), off)):
        assert "channels.dm.same_id" not in told(*doors, rules=by_id)
    elsewhere = Binding(agent="main", match=Match(channel="discord"), dm_scope=DmScope.MAIN)
    assert "channels.dm.same_id" not in told(*two, rules=replace(by_id, bindings=(elsewhere,)))
