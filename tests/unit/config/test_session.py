import pytest

from roost.config.amounts import ByteSize, Duration
from roost.core.lifecycle import ResetMode
from roost.core.scopes import DmScope, SessionScope
from tests.unit.config.given import refused, settings


def test_conversations_have_the_specified_defaults() -> None:
    session = settings({}).session
    assert session.scope is SessionScope.PER_SENDER
    assert session.dm_scope is DmScope.MAIN
    assert session.main_key == "main"
    assert session.reset_triggers == ("/new", "/reset")
    assert session.agent_to_agent.max_ping_pong_turns == 5
    assert session.send_policy is None
    bindings = session.thread_bindings
    assert (bindings.enabled, bindings.idle_hours, bindings.max_age_hours) == (True, 24, 0)
    assert (bindings.spawn_sessions, bindings.default_spawn_context) == (True, "fork")
    maintenance = session.maintenance
    assert (maintenance.mode, maintenance.prune_after, maintenance.max_entries) == (
        "enforce",
        Duration.parse("30d"),
        5000,
    )
    assert (maintenance.max_disk_bytes, maintenance.high_water_bytes) == (ByteSize.parse("10gb"), None)


@pytest.mark.requirement("D31", "D33", "D42", "D43", "D44")
def test_the_whole_session_block_of_the_seeds_loads() -> None:
    given = settings(
        """
        { session: {
            scope: "per-sender", // group keys apart
            dmScope: "main",
            identityLinks: { alice: ["telegram:123456789", "discord:987654321012345678"] },
            reset: { mode: "daily", atHour: 4, idleMinutes: 120 },
            resetByType: {
              thread: { mode: "daily", atHour: 4 },
              direct: { mode: "idle", idleMinutes: 240 },
              group: { mode: "idle", idleMinutes: 120 },
            },
            resetByChannel: { discord: { mode: "idle", idleMinutes: 10080 } },
            resetTriggers: ["/new", "/reset"],
            store: "~/.openclaw/agents/{agentId}/sessions/sessions.json",
            mainKey: "main",
        } }
        """
    ).session
    assert given.reset is not None
    assert (given.reset.mode, given.reset.at_hour, given.reset.idle_minutes) == (ResetMode.DAILY, 4, 120)
    assert given.identity_links["alice"] == ("telegram:123456789", "discord:987654321012345678")
    assert given.reset_by_channel["discord"].idle_minutes == 10080


@pytest.mark.requirement("D20", "D46")
def test_the_send_policies_of_the_seeds_load() -> None:
    given = settings(
        """
        { session: { sendPolicy: {
            rules: [
              { action: "deny", match: { channel: "discord", chatType: "group" } },
              { action: "deny", match: { keyPrefix: "cron:" } },
              { action: "deny", match: { rawKeyPrefix: "agent:main:discord:" } },
            ],
            default: "allow",
        } } }
        """
    ).session.send_policy
    assert given is not None
    assert [rule.action for rule in given.rules] == ["deny", "deny", "deny"]


@pytest.mark.requirement("D20")
def test_a_send_rule_with_an_unknown_or_absent_match_is_refused() -> None:
    rules = [
        {"action": "deny", "match": {"chanel": "x"}},
        {"action": "deny"},
        {"action": "block", "match": {}},
    ]
    problems = refused({"session": {"sendPolicy": {"rules": rules}}})
    assert problems["session.sendPolicy.rules[0].match.chanel"].nearest == "channel"
    assert problems["session.sendPolicy.rules[1].match"].reason == "missing"
    assert problems["session.sendPolicy.rules[2].action"].allowed == "`allow` or `deny`"


@pytest.mark.requirement("D32")
@pytest.mark.parametrize(
    "scope", ["main", "per-peer", "per-channel-peer", "per-account-channel-peer", "owner-main"]
)
def test_every_scope_of_direct_messages_is_known(scope: str) -> None:
    assert settings({"session": {"dmScope": scope}}).session.dm_scope is DmScope(scope)


@pytest.mark.requirement("D61")
@pytest.mark.parametrize("turns", [0, 5, 20])
def test_ping_pong_turns_up_to_twenty_are_taken(turns: int) -> None:
    document = {"session": {"agentToAgent": {"maxPingPongTurns": turns}}}
    assert settings(document).session.agent_to_agent.max_ping_pong_turns == turns


@pytest.mark.requirement("D61")
@pytest.mark.parametrize("turns", [-1, 21])
def test_more_ping_pong_turns_are_refused(turns: int) -> None:
    document = {"session": {"agentToAgent": {"maxPingPongTurns": turns}}}
    assert refused(document)["session.agentToAgent.maxPingPongTurns"].allowed == "integer from 0 to 20"


def test_dm_is_an_older_name_of_direct_but_not_beside_it() -> None:
    by_type = settings({"session": {"resetByType": {"dm": {"mode": "none"}}}}).session.reset_by_type
    assert by_type is not None
    assert by_type.dm is not None
    assert "session.resetByType.dm" in refused({"session": {"resetByType": {"dm": {}, "direct": {}}}})


def test_one_id_cannot_belong_to_two_people() -> None:
    links = {"alice": ["telegram:1"], "bob": ["TELEGRAM:1", "discord:2"]}
    problem = refused({"session": {"identityLinks": links}})["session.identityLinks.bob[0]"]
    assert problem.reason == "`TELEGRAM:1` already belongs to `alice`"


@pytest.mark.parametrize("names", [["Alice", "alice"], ["a:b"], [" a"]])
def test_a_persons_name_is_one_word_in_one_case(names: list[str]) -> None:
    assert refused({"session": {"identityLinks": {name: [f"telegram:{name}"] for name in names}}})


@pytest.mark.requirement("P22")
def test_maintenance_goes_down_to_a_mark_below_its_limit() -> None:
    document = {"session": {"maintenance": {"maxDiskBytes": "1gb", "highWaterBytes": "2gb"}}}
    assert "session.maintenance.highWaterBytes" in refused(document)


@pytest.mark.requirement("P22")
def test_an_unknown_retention_key_is_refused() -> None:
    problem = refused({"session": {"maintenance": {"pruneAftr": "30d"}}})["session.maintenance.pruneAftr"]
    assert problem.nearest == "pruneAfter"
