import pytest

from tests.unit.config.given import loaded

NEVER = "mode `idle` without `idleMinutes` never resets a session"


def _remarks(document: object) -> list[str]:
    return [str(remark) for remark in loaded(document).warnings]


def test_an_ordinary_configuration_has_nothing_to_remark() -> None:
    assert _remarks({"session": {"reset": {"mode": "idle", "idleMinutes": 5}}}) == []


@pytest.mark.requirement("D42")
def test_an_idle_reset_without_minutes_is_remarked_wherever_it_stands() -> None:
    session = {
        "reset": {"mode": "idle"},
        "resetByType": {"dm": {"mode": "idle"}, "group": {"mode": "idle", "idleMinutes": 5}},
        "resetByChannel": {"discord": {"mode": "idle"}},
    }
    assert _remarks({"session": session}) == [
        f"session.reset: {NEVER}",
        f"session.resetByType.dm: {NEVER}",
        f"session.resetByChannel.discord: {NEVER}",
    ]


def test_a_type_takes_its_minutes_from_the_base_and_a_channel_does_not() -> None:
    session = {
        "reset": {"idleMinutes": 5},
        "resetByType": {"direct": {"mode": "idle"}},
        "resetByChannel": {"discord": {"mode": "idle"}},
    }
    assert _remarks({"session": session}) == [f"session.resetByChannel.discord: {NEVER}"]


def test_a_heartbeat_in_the_session_itself_is_remarked_once() -> None:
    [remark] = _remarks(
        {"agents": {"defaults": {"heartbeat": {"isolatedSession": False}}, "list": [{"id": "a"}]}}
    )
    assert remark.startswith("agents.defaults.heartbeat.isolatedSession: ")
    [remark] = _remarks(
        {"agents": {"list": [{"id": "a"}, {"id": "b", "heartbeat": {"isolatedSession": False}}]}}
    )
    assert remark.startswith("agents.list.b.heartbeat.isolatedSession: ")


@pytest.mark.requirement("S19")
def test_an_open_gateway_is_remarked() -> None:
    [remark] = _remarks({"gateway": {"auth": {"mode": "none"}}})
    assert remark.startswith("gateway.auth.mode: ")


def test_a_setting_of_retention_that_does_nothing_is_remarked() -> None:
    [remark] = _remarks({"session": {"maintenance": {"coldStorage": {"enabled": True}}}})
    assert remark.startswith("session.maintenance.coldStorage.enabled: ")


def test_what_is_asked_for_and_not_there_is_remarked() -> None:
    found = _remarks(
        {
            "commands": {"config": True, "bash": True, "restart": False},
            "tools": {"sessions_spawn": {"attachments": {"enabled": True}}},
            "agents": {"list": [{"id": "a"}, {"id": "b", "subagents": {"delegationMode": "prefer"}}]},
        }
    )
    assert [remark.partition(":")[0] for remark in found] == [
        "commands.config",
        "commands.bash",
        "tools.sessions_spawn.attachments.enabled",
        "agents.list.b.subagents.delegationMode",
    ]
    [remark] = _remarks({"agents": {"defaults": {"subagents": {"delegationMode": "prefer"}}}})
    assert remark.startswith("agents.defaults.subagents.delegationMode: ")


def test_an_entry_by_sender_that_counts_for_nobody_is_remarked_where_it_stands() -> None:
    deny = {"deny": ["exec"]}
    by_sender = {"discord:5": deny, "discord:6": deny, "7": deny, "8": deny, "owner": deny, "*": deny}
    found = _remarks(
        {
            "channels": {
                "telegram": {
                    "toolsBySender": by_sender,
                    "groups": {"-100": {"toolsBySender": {"slack:U1": deny}}},
                    "accounts": {"same": {}, "own": {"toolsBySender": {"slack:U2": deny}, "groups": {}}},
                }
            },
            "session": {"identityLinks": {"bob": ["telegram:9", "discord:6"]}},
            "commands": {"ownerAllowFrom": ["telegram:8"]},
        }
    )
    assert [remark.partition(": ")[0] for remark in found] == [
        'channels.telegram.toolsBySender["discord:5"]',
        "channels.telegram.toolsBySender.8",
        'channels.telegram.groups.-100.toolsBySender["slack:U1"]',
        'channels.telegram.accounts.own.toolsBySender["slack:U2"]',
    ]
