"""What an audit says of settings."""

from dataclasses import replace

import pytest

from roost.core.admission import DmPolicy, GroupPolicy
from roost.core.audit import Door, HookDoor, Trust, View, audit
from roost.core.edge import Edge
from roost.core.findings import Finding, Severity
from roost.core.scopes import DmScope, SessionScope
from roost.core.visibility import Level

MAIN = Door(channel="telegram", dm_policy=DmPolicy.PAIRING, scope=DmScope.MAIN)
APART = replace(MAIN, scope=DmScope.PER_CHANNEL_PEER)
OPEN = replace(APART, dm_policy=DmPolicy.OPEN)


def told(view: View) -> dict[str, Finding]:
    return {one.id: one for one in audit(view)}


def test_of_what_is_closed_nothing_is_said() -> None:
    assert audit(View()) == ()
    assert audit(View(doors=(MAIN, replace(APART, channel="signal", allow_from=("1", "2"))))) == ()


@pytest.mark.requirement("D34")
@pytest.mark.parametrize(
    ("doors", "why"),
    [
        ((replace(MAIN, dm_policy=DmPolicy.OPEN),), "open"),
        ((replace(MAIN, allow_from=("*",)),), "open"),
        ((replace(MAIN, allow_from=("1", "2")),), "allow_from"),
        ((replace(MAIN, account="a"), replace(MAIN, account="b")), "accounts"),
    ],
)
def test_several_people_in_one_session_of_direct_messages_are_found(
    doors: tuple[Door, ...], why: str
) -> None:
    finding = told(View(doors=doors))[f"channels.dm.session_collision.telegram.{why}"]
    assert (finding.severity, finding.setting) == (Severity.WARN, "session.dmScope")
    assert "owner-main" in finding.fix
    for scope in set(DmScope) - {DmScope.MAIN}:
        apart = told(View(doors=tuple(replace(door, scope=scope) for door in doors)))
        assert not [name for name in apart if "session_collision" in name]


@pytest.mark.requirement("D34")
@pytest.mark.parametrize(
    "doors",
    [
        (replace(MAIN, allow_from=("1", "1")),),
        (replace(MAIN, channel="signal", allow_from=("1",)), replace(MAIN, allow_from=("2",))),
        (replace(MAIN, dm_policy=DmPolicy.DISABLED, allow_from=("1", "2", "*")),),
    ],
)
def test_one_person_a_channel_shares_with_nobody(doors: tuple[Door, ...]) -> None:
    assert audit(View(doors=doors)) == ()


def test_an_open_door_is_named_with_its_setting() -> None:
    found = told(View(doors=(replace(OPEN, account="work"),)))
    door = found["channels.telegram.dm.open"]
    assert (door.severity, door.setting) == (
        Severity.CRITICAL,
        "channels.telegram.accounts.work.dmPolicy",
    )
    listed = told(View(doors=(replace(APART, allow_from=("*",)),)))
    assert listed["channels.telegram.dm.open"].setting == "channels.telegram.allowFrom"


@pytest.mark.parametrize(
    "door",
    [replace(APART, group_policy=GroupPolicy.OPEN), replace(APART, group_allow_from=("*",))],
)
def test_groups_that_anyone_speaks_in_are_named(door: Door) -> None:
    found = told(View(doors=(door,), trust=Trust(unconfined=("main",))))
    assert set(found) == {"channels.telegram.group.open", "security.trust_model.multi_user_heuristic"}
    assert "Agents without a sandbox: main." in found["security.trust_model.multi_user_heuristic"].text
    closed = replace(door, group_policy=GroupPolicy.DISABLED)
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
        "hooks.request_session_key_enabled",
        "hooks.request_session_key_prefixes_missing",
    }
    assert audit(View(hooks=replace(worst, enabled=False))) == ()
    assert audit(View(hooks=HookDoor(enabled=True, token_length=32))) == ()
    prefixed = told(View(hooks=HookDoor(enabled=True, token_length=32, names_sessions=True)))
    assert set(prefixed) == {"hooks.request_session_key_enabled"}


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
        ((APART, replace(APART, account="work")), Severity.WARN),
        ((APART, replace(APART, channel="irc")), Severity.CRITICAL),
    ],
    ids=["no channel", "one channel", "two channels"],
)
def test_an_owner_who_is_named_by_an_id_alone_is_found(doors: tuple[Door, ...], severity: Severity) -> None:
    trust = Trust(owners=("1001", "irc:ada"), placeless_owners=("1001",))
    (finding,) = audit(View(doors=doors, trust=trust))
    assert (finding.id, finding.severity) == ("commands.owner_allow_from_any_channel", severity)
    assert (finding.setting, "`channel:id`" in finding.fix) == ("commands.ownerAllowFrom", True)
    assert "1001" in finding.text
    assert "irc:ada" not in finding.text


def test_groups_in_the_owners_session_are_found() -> None:
    shared = Trust(scope=SessionScope.GLOBAL)
    assert set(told(View(doors=(APART,), trust=shared))) == {"security.trust_model.group_scope_main"}
    assert audit(View(doors=(replace(APART, group_policy=GroupPolicy.DISABLED),), trust=shared)) == ()


def test_the_worst_comes_first() -> None:
    view = View(edge=Edge(auth=False, proxies=("10.0.0.7/32",), token_length=3))
    assert [one.severity for one in audit(view)] == list(Severity)


@pytest.mark.requirement("D34")
def test_names_that_two_channels_may_give_to_two_people_are_found() -> None:
    by_id = replace(MAIN, scope=DmScope.PER_PEER)
    two = (by_id, replace(by_id, channel="discord"))
    finding = told(View(doors=two))["channels.dm.same_id"]
    assert (finding.severity, finding.setting) == (Severity.INFO, "session.dmScope")
    off = replace(two[1], dm_policy=DmPolicy.DISABLED)
    for doors in (
        (by_id,),
        (by_id, replace(by_id, account="b")),
        (by_id, off),
        (by_id, replace(MAIN, channel="x")),
    ):
        assert "channels.dm.same_id" not in told(View(doors=doors))
