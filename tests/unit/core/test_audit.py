"""What an audit says of settings."""

from dataclasses import replace

import pytest

from roost.core.admission import ChannelPolicy, GroupPolicy
from roost.core.audit import HookDoor, Trust, View, audit
from roost.core.doors import Door
from roost.core.edge import Edge
from roost.core.findings import Finding, Severity
from roost.core.routing import RoutingRules
from roost.core.scopes import DmScope, SessionScope
from roost.core.visibility import Level

APART = RoutingRules(dm_scope=DmScope.PER_CHANNEL_PEER)
DOOR = Door(channel="telegram", policy=ChannelPolicy())


def told(view: View) -> dict[str, Finding]:
    return {one.id: one for one in audit(view)}


def test_of_what_is_closed_nothing_is_said() -> None:
    assert audit(View()) == ()
    assert audit(View(doors=(DOOR, replace(DOOR, channel="signal")))) == ()


@pytest.mark.parametrize(
    "policy",
    [ChannelPolicy(group_policy=GroupPolicy.OPEN), ChannelPolicy(group_allow_from=("*",))],
)
def test_groups_that_anyone_speaks_in_are_named(policy: ChannelPolicy) -> None:
    door = replace(DOOR, policy=policy)
    found = told(View(doors=(door,), trust=Trust(unconfined=("main",))))
    assert set(found) == {"channels.telegram.group.open", "security.trust_model.multi_user_heuristic"}
    assert "Agents without a sandbox: main." in found["security.trust_model.multi_user_heuristic"].text
    closed = replace(DOOR, policy=replace(policy, group_policy=GroupPolicy.DISABLED))
    assert audit(View(doors=(closed,))) == ()


def test_hooks_are_looked_at_only_where_they_answer() -> None:
    worst = HookDoor(
        enabled=True,
        token_length=8,
        shared_token=True,
        any_agent=True,
        default_session=False,
        names_sessions=True,
        prefixes=False,
    )
    found = told(View(hooks=worst))
    assert set(found) == {
        "hooks.token_too_short",
        "hooks.token_reuse_gateway_token",
        "hooks.default_session_key_unset",
        "hooks.allowed_agent_ids_unrestricted",
        "hooks.request_session_key_prefixes_missing",
    }
    assert audit(View(hooks=replace(worst, enabled=False))) == ()
    assert audit(View(hooks=HookDoor(enabled=True, token_length=32))) == ()
    prefixed = told(View(hooks=HookDoor(enabled=True, token_length=32, names_sessions=True)))
    assert set(prefixed) == {"hooks.request_session_key_enabled"}


def test_names_of_sessions_that_no_prefix_fits_are_no_danger() -> None:
    """An empty list of prefixes fits no name, so there is nothing to be had."""
    hooks = HookDoor(enabled=True, token_length=32, names_sessions=True, prefixes=False)
    (finding,) = audit(View(hooks=hooks, edge=Edge(loopback=False, encrypted=True)))
    assert finding.id == "hooks.request_session_key_prefixes_missing"
    assert finding.severity is Severity.INFO


def test_hooks_that_the_network_reaches_are_critical() -> None:
    hooks = HookDoor(enabled=True, token_length=32, names_sessions=True)
    found = told(View(hooks=hooks, edge=Edge(loopback=False, encrypted=True)))
    assert found["hooks.request_session_key_enabled"].severity is Severity.CRITICAL


@pytest.mark.parametrize(
    ("trust", "name", "severity"),
    [
        (Trust(owners=("*",)), "commands.owner_allow_from_anyone", Severity.CRITICAL),
        (Trust(lifted=("a",)), "agents.sandbox.session_tools_visibility_all", Severity.WARN),
        (Trust(networked=("a",)), "agents.sandbox.network_enabled", Severity.INFO),
        (Trust(clear=("far",)), "models.provider_clear_text", Severity.WARN),
        (Trust(clear_store=True), "database.clear_text", Severity.WARN),
        (
            Trust(crosses=True, across=("*",), visibility=Level.ALL),
            "security.trust_model.cross_agent_session_access_default",
            Severity.WARN,
        ),
        (
            Trust(crosses=True, across=("a", "b")),
            "security.trust_model.cross_agent_session_access_default",
            Severity.INFO,
        ),
    ],
)
def test_trust_between_sessions_is_looked_at(trust: Trust, name: str, severity: Severity) -> None:
    (finding,) = audit(View(trust=trust))
    assert (finding.id, finding.severity) == (name, severity)


@pytest.mark.requirement("P2")
@pytest.mark.parametrize(
    ("doors", "severity"),
    [
        ((), Severity.WARN),
        ((replace(DOOR, account="home"), replace(DOOR, account="work")), Severity.WARN),
        ((DOOR, replace(DOOR, channel="irc")), Severity.CRITICAL),
    ],
    ids=["no channel", "one channel", "two channels"],
)
def test_an_owner_who_is_named_by_an_id_alone_is_found(doors: tuple[Door, ...], severity: Severity) -> None:
    trust = Trust(owners=("1001", "irc:ada"), placeless_owners=("1001",))
    (finding,) = audit(View(doors=doors, trust=trust, routing=APART))
    assert (finding.id, finding.severity) == ("commands.owner_allow_from_any_channel", severity)
    assert (finding.setting, "`channel:id`" in finding.fix) == ("commands.ownerAllowFrom", True)
    assert "1001" in finding.text
    assert "irc:ada" not in finding.text


def test_groups_in_the_owners_session_are_found() -> None:
    shared = RoutingRules(scope=SessionScope.GLOBAL)
    assert set(told(View(doors=(DOOR,), routing=shared))) == {"security.trust_model.group_scope_main"}
    closed = replace(DOOR, policy=ChannelPolicy(group_policy=GroupPolicy.DISABLED))
    assert audit(View(doors=(closed,), routing=shared)) == ()


def test_the_worst_comes_first() -> None:
    view = View(edge=Edge(auth=False, proxies=("10.0.0.7/32",), token_length=3))
    assert [one.severity for one in audit(view)] == list(Severity)
