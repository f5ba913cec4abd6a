from collections.abc import Callable

import pytest

from roost.config import ConfigRefused, Settings
from roost.config.reload import Reload, at_once, changes, until_restart
from tests.unit.config.given import settings


def _changes(old: object, new: object) -> Reload:
    return changes(settings(old), settings(new))


def test_nothing_changed_means_nothing_to_do() -> None:
    document = {"agents": {"list": [{"id": "a"}]}, "gateway": {"auth": {"token": "x"}}}
    assert _changes(document, document) == Reload(immediate=(), per_run=(), restart=())


@pytest.mark.requirement("S12")
def test_credentials_and_denials_take_effect_at_once() -> None:
    found = _changes(
        {"gateway": {"auth": {"token": "old"}}, "models": {"providers": {"p": {"apiKey": "old"}}}},
        {
            "gateway": {"auth": {"token": "new"}},
            "hooks": {"token": "new"},
            "models": {"providers": {"p": {"apiKey": "new"}}},
            "tools": {"deny": ["exec"], "sessions": {"visibility": "self"}},
            "session": {"sendPolicy": {"default": "deny"}},
            "channels": {"x": {"dmPolicy": "disabled"}},
        },
    )
    assert found.immediate == (
        "channels.x",
        "gateway.auth.token",
        "hooks.token",
        "models.providers.p.apiKey",
        "session.sendPolicy",
        "tools.deny",
        "tools.sessions.visibility",
    )
    assert found.per_run == ()


def test_a_channel_that_stays_changes_its_guards_at_once() -> None:
    threads = {"threadBindings": {"enabled": False}}
    found = _changes(
        {"channels": {"x": {"enabled": False, "accounts": {"work": threads}}}},
        {"channels": {"x": {"allowFrom": ["1"], "accounts": {"work": {}, "home": {}}}}},
    )
    assert found.immediate == (
        "channels.x.accounts.home",
        "channels.x.accounts.work.allowFrom",
        "channels.x.accounts.work.enabled",
        "channels.x.allowFrom",
        "channels.x.enabled",
    )
    assert found.per_run == ("channels.x.accounts.work.threadBindings.enabled",)


def test_port_bind_and_store_wait_for_a_restart() -> None:
    found = _changes(
        {},
        {
            "gateway": {"port": 1, "bind": "::1"},
            "database": "postgresql://x",
            "session": {"store": "x", "mirror": "y"},
        },
    )
    assert found == Reload(
        immediate=(),
        per_run=(),
        restart=("database", "gateway.bind", "gateway.port", "session.mirror", "session.store"),
    )


def test_until_a_restart_the_old_values_stay_and_the_others_change() -> None:
    old = settings({"session": {"store": "x"}, "gateway": {"port": 1}})
    new = settings(
        {
            "gateway": {"port": 2, "auth": {"token": "t"}},
            "database": "postgresql://x",
            "session": {"store": "y", "dmScope": "main"},
        }
    )
    kept = until_restart(old, new)
    assert changes(old, kept).restart == ()
    assert changes(kept, new).restart == ("database", "gateway.port", "session.store")
    assert (changes(kept, new).immediate, changes(kept, new).per_run) == ((), ())


@pytest.mark.requirement("S12")
def test_credentials_and_denials_can_be_taken_alone() -> None:
    provider = {"apiKey": "old", "baseUrl": "http://127.0.0.1:9/v1"}
    old = settings(
        {
            "gateway": {"auth": {"token": "old"}, "drainMs": 1},
            "models": {"providers": {"p": provider}},
            "agents": {"list": [{"id": "a"}, {"id": "b"}]},
            "channels": {"x": {"allowFrom": ["1"], "accounts": {"work": {}}}, "y": {}},
            "session": {"threadBindings": {"enabled": False}, "dmScope": "main"},
        }
    )
    new = settings(
        {
            "gateway": {"auth": {"token": "new"}, "drainMs": 2},
            "models": {"providers": {"p": {**provider, "apiKey": "new"}, "q": provider}},
            "agents": {"list": [{"id": "b", "tools": {"deny": ["exec"]}, "model": "q/m"}, {"id": "c"}]},
            "channels": {
                "x": {"accounts": {"work": {"enabled": False, "threadBindings": {"enabled": True}}}},
                "z": {"dmPolicy": "disabled"},
            },
            "session": {"sendPolicy": {"default": "deny"}},
            "tools": {"deny": ["cron"]},
        }
    )
    taken = at_once(old, new)
    assert changes(old, taken) == Reload(
        immediate=(
            "agents.list.b.tools.deny",
            "channels.x.accounts.work.allowFrom",
            "channels.x.accounts.work.enabled",
            "channels.x.allowFrom",
            "channels.y",
            "channels.z",
            "gateway.auth.token",
            "session.sendPolicy",
            "tools.deny",
        ),
        per_run=(),
        restart=(),
    )
    left = changes(taken, new)
    assert left.immediate == (
        "agents.list.a",
        "agents.list.c",
        "models.providers.p.apiKey",
        "models.providers.q",
    )
    # What nobody gave still gives way to what stands above it.
    bindings = taken.channels["x"].accounts["work"].thread_bindings
    assert "enabled" not in bindings.model_fields_set


def test_the_rest_takes_effect_with_the_next_run() -> None:
    found = _changes({}, {"messages": {"queue": {"mode": "collect"}}})
    assert found == Reload(immediate=(), per_run=("messages.queue.mode",), restart=())


@pytest.mark.requirement("S12")
def test_who_is_led_where_changes_with_the_doors() -> None:
    found = _changes({"bindings": []}, {"bindings": [{"agentId": "main", "match": {"channel": "x"}}]})
    assert found == Reload(immediate=("bindings",), per_run=(), restart=())


def test_agents_are_compared_by_id_with_what_they_inherit() -> None:
    found = _changes(
        {"agents": {"list": [{"id": "a"}, {"id": "b", "sandbox": {"mode": "off"}}, {"id": "c"}]}},
        {
            "agents": {
                "defaults": {"sandbox": {"mode": "all"}},
                "list": [
                    {"id": "d"},
                    {"id": "b", "sandbox": {"mode": "off"}},
                    {"id": "a", "tools": {"deny": ["x"]}},
                ],
            }
        },
    )
    assert found.immediate == (
        "agents.defaults.sandbox.mode",
        "agents.list.a.sandbox.mode",
        "agents.list.a.tools.deny",
        "agents.list.c",
        "agents.list.d",
    )
    assert found.per_run == ("agents.list.a.default",)
    assert "agents.list.b.sandbox.mode" not in (*found.immediate, *found.per_run)


def test_what_comes_or_goes_without_a_guard_waits_for_the_next_run() -> None:
    reset = {"session": {"resetByChannel": {"x": {"mode": "none"}}, "reset": {"mode": "none"}}}
    paths = ("session.reset", "session.resetByChannel.x")
    assert _changes({}, reset).per_run == _changes(reset, {}).per_run == paths


@pytest.mark.requirement("S24")
def test_a_report_of_changes_holds_no_values() -> None:
    found = _changes(
        {"gateway": {"auth": {"token": "planted-a"}}}, {"gateway": {"auth": {"token": "planted-b"}}}
    )
    assert "planted" not in repr(found)


@pytest.mark.requirement("S12")
@pytest.mark.parametrize("taken", [at_once, until_restart])
def test_a_gateway_is_not_opened_to_everybody_while_it_still_listens_beyond_loopback(
    taken: Callable[[Settings, Settings], Settings],
) -> None:
    clear = {"bind": "lan", "dangerouslyAllowClearText": True}
    old = settings({"gateway": {**clear, "auth": {"token": "t"}}})
    new = settings({"gateway": {"bind": "loopback", "auth": {"mode": "none"}}})
    with pytest.raises(ConfigRefused, match=r"gateway\.bind: beyond loopback the gateway needs auth"):
        taken(old, new)
    assert taken(new, new) == new
