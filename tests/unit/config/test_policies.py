from zoneinfo import ZoneInfo

import pytest

from roost.config import policies
from roost.core.addresses import Address, ChatType
from roost.core.admission import DmPolicy, GroupPolicy
from roost.core.bindings import Binding, Match, PeerMatch
from roost.core.facts import ConversationType
from roost.core.figures import DAY_MS, HOUR_MS
from roost.core.lifecycle import ResetMode, resolve
from roost.core.queuesettings import DropPolicy, QueueMode, QueueSettings
from roost.core.retention import Disk, Retention
from roost.core.runs import Lane
from roost.core.scopes import DmScope, SessionScope
from roost.core.sending import SendRules
from roost.core.sendpolicy import SendAction, SendMatch, SendPolicy, SendRule
from roost.core.tools import ProgramLimits
from roost.core.triggers import find_trigger
from roost.core.visibility import AgentToAgent, Level
from roost.core.workspacefiles import FileCaps
from tests.unit.config.given import settings


def test_an_empty_configuration_gives_cores_own_defaults() -> None:
    given = settings({})
    assert policies.routing_rules(given) == type(policies.routing_rules(given))()
    assert policies.queue_policy(given) == type(policies.queue_policy(given))()
    assert policies.pruning(given) == type(policies.pruning(given))()
    assert policies.compaction(given) == type(policies.compaction(given))()
    assert policies.context(given) == type(policies.context(given))()
    assert policies.file_caps(given) == type(policies.file_caps(given))()
    assert policies.user_zone(given) is None
    assert policies.retention(given) == type(policies.retention(given))()
    assert policies.reset_policy(given) == type(policies.reset_policy(given))()
    assert policies.channel_policy(given, "x") == type(policies.channel_policy(given, "x"))()
    assert policies.agent_to_agent(given) == AgentToAgent()
    assert policies.send_policy(given) is None


def test_a_channel_and_an_account_say_of_threads_only_what_differs() -> None:
    policy = policies.thread_policy(
        settings(
            """
            {
              session: { threadBindings: { idleHours: 2, maxAgeHours: 9, defaultSpawnContext: "isolated" } },
              channels: { slack: { threadBindings: { idleHours: 3 },
                                   accounts: { work: { threadBindings: { spawnSessions: false } }, home: {} } } },
            }
            """
        )
    )

    def at(channel: str, account: str = "default") -> tuple[int, int, bool, str]:
        own = policy.of(Address(channel=channel, to="x", account=account))
        return own.idle_ms // HOUR_MS, own.max_age_ms // HOUR_MS, own.spawns, own.context

    assert at("matrix") == (2, 9, True, "isolated")
    assert at("slack") == at("slack", "home") == (3, 9, True, "isolated")
    assert at("slack", "work") == (3, 9, False, "isolated")


@pytest.mark.requirement("D31", "D32", "D33")
def test_routing_has_the_default_agent_scope_links_and_bindings() -> None:
    rules = policies.routing_rules(
        settings(
            """
            {
              session: { mainKey: "home", scope: "global", dmScope: "per-peer", identityLinks: { al: ["x:1"] } },
              agents: { list: [{ id: "a" }, { id: "b", default: true }] },
              bindings: [
                { agentId: "a", match: { channel: "slack", accountId: "*", guildId: "g", roles: ["r"], teamId: "t" } },
                { agentId: "b", match: { channel: "slack", peer: { kind: "dm", id: "7" } },
                  session: { dmScope: "main" } },
              ],
            }
            """
        )
    )
    assert (rules.default_agent, rules.main_name, rules.scope) == ("b", "home", "global")
    assert [(link.name, link.members) for link in rules.links] == [("al", ("x:1",))]
    assert rules.bindings == (
        Binding(
            agent="a",
            match=Match(channel="slack", account="*", guild="g", team="t", roles=frozenset({"r"})),
        ),
        Binding(
            agent="b",
            match=Match(channel="slack", peer=PeerMatch(kind=ChatType.DIRECT, id="7")),
            dm_scope=DmScope.MAIN,
        ),
    )


def test_a_channels_policy_is_its_accounts() -> None:
    given = settings(
        """
        {
          commands: { ownerAllowFrom: ["x:9"] },
          session: { identityLinks: { al: ["x:1"] } },
          channels: { x: { dmPolicy: "open", groupPolicy: "disabled", requireMention: false, allowFrom: ["1"],
            accounts: { work: { dmPolicy: "allowlist", groupAllowFrom: ["2"] } } } },
        }
        """
    )
    policy = policies.channel_policy(given, "x").at("work")
    assert (policy.dm_policy, policy.group_policy) == (DmPolicy.ALLOWLIST, GroupPolicy.DISABLED)
    assert (policy.allow_from, policy.group_allow_from, policy.owner_ids) == (("1",), ("2",), ("x:9",))
    assert policy.require_mention is False
    assert policy.links == policies.identity_links(given)
    assert policies.channel_policy(given, "x").dm_policy is DmPolicy.OPEN
    assert policies.channel_policy(given, "other").dm_policy is DmPolicy.PAIRING


@pytest.mark.parametrize(
    ("channel", "account", "enabled"),
    [({}, {}, True), ({}, {"enabled": False}, False), ({"enabled": False}, {"enabled": True}, False)],
    ids=["on", "account off", "channel off"],
)
def test_an_account_is_on_only_where_its_channel_is(
    channel: dict[str, object], account: object, *, enabled: bool
) -> None:
    given = settings({"channels": {"x": {**channel, "accounts": {"work": account}}}})
    assert policies.channel_policy(given, "x").at("work").enabled is enabled


@pytest.mark.requirement("D42", "D43")
def test_resets_resolve_by_channel_then_type_then_base() -> None:
    policy = policies.reset_policy(
        settings(
            """
            { session: {
                reset: { mode: "daily", atHour: 6, idleMinutes: 120 },
                resetByType: { dm: { mode: "idle", idleMinutes: 240 }, thread: { atHour: 3 } },
                resetByChannel: { discord: { mode: "idle", idleMinutes: 10080 } },
            } }
            """
        )
    )
    direct = resolve(policy, ConversationType.DIRECT, "telegram")
    assert (direct.mode, direct.idle_minutes) == (ResetMode.IDLE, 240)
    thread = resolve(policy, ConversationType.THREAD, None)
    assert (thread.mode, thread.at_hour, thread.idle_minutes) == (ResetMode.DAILY, 3, 120)
    assert resolve(policy, ConversationType.GROUP, None).at_hour == 6
    assert resolve(policy, ConversationType.GROUP, "discord").idle_minutes == 10080


@pytest.mark.requirement("D42")
def test_the_older_idle_minutes_alone_mean_idle_only() -> None:
    policy = policies.reset_policy(settings({"session": {"idleMinutes": 60}}))
    rule = resolve(policy, ConversationType.DIRECT, None)
    assert (rule.mode, rule.idle_minutes) == (ResetMode.IDLE, 60)


@pytest.mark.requirement("D44")
def test_configured_triggers_join_the_built_in_ones() -> None:
    extras = policies.extra_triggers(settings({"session": {"resetTriggers": ["/Fresh", "/NEW"]}}))
    assert extras == ("/Fresh",)
    assert find_trigger("/fresh hello", extras=extras) is not None
    assert find_trigger("/reset", extras=extras) is not None


@pytest.mark.requirement("D20", "D46")
def test_a_send_policy_keeps_its_rules_in_order() -> None:
    policy = policies.send_policy(
        settings(
            """
            { session: { sendPolicy: { default: "deny", rules: [
                { action: "allow", match: { channel: "Discord", chatType: "dm" } },
                { action: "deny", match: { keyPrefix: "cron:", rawKeyPrefix: "agent:" } },
            ] } } }
            """
        )
    )
    assert policy == SendPolicy(
        default=SendAction.DENY,
        rules=(
            SendRule(action=SendAction.ALLOW, match=SendMatch(channel="discord", chat_type=ChatType.DIRECT)),
            SendRule(action=SendAction.DENY, match=SendMatch(key_prefix="cron:", raw_key_prefix="agent:")),
        ),
    )


def test_queueing_has_both_waits_and_what_channels_have_instead() -> None:
    policy = policies.queue_policy(
        settings(
            """
            { messages: {
                queue: { mode: "collect", debounceMs: 1, cap: 2, drop: "old", byChannel: { x: "abort" },
                  debounceMsByChannel: { x: 4 } },
                inbound: { debounceMs: 3, byChannel: { x: 5 } },
            } }
            """
        )
    )
    assert policy.base == QueueSettings(
        mode=QueueMode.COLLECT, debounce_ms=1, settle_ms=3, cap=2, drop=DropPolicy.OLD
    )
    assert dict(policy.mode_by_channel) == {"x": QueueMode.INTERRUPT}
    assert (dict(policy.debounce_by_channel), dict(policy.settle_by_channel)) == ({"x": 4}, {"x": 5})


@pytest.mark.requirement("S21")
def test_agents_reach_each_other_only_when_named() -> None:
    agents = {"list": [{"id": "ops"}, {"id": "home"}]}

    def allowed(access: object) -> frozenset[str] | None:
        given = settings({"agents": agents, "tools": {"agentToAgent": access}})
        return policies.agent_to_agent(given).allow

    assert allowed({"enabled": True}) == frozenset()
    assert allowed({"enabled": True, "allow": ["op*"]}) == frozenset({"ops"})
    assert allowed({"enabled": True, "allow": ["*"]}) is None


@pytest.mark.requirement("D30")
def test_a_sandbox_keeps_tools_to_their_tree_unless_lifted() -> None:
    agents = settings(
        {"agents": {"list": [{"id": "a"}, {"id": "b", "sandbox": {"sessionToolsVisibility": "all"}}]}}
    ).agents.list
    assert [policies.sandbox_lifted(agent) for agent in agents] == [False, True]


def test_a_limit_of_zero_is_no_limit() -> None:
    own = {"maxProcesses": 0, "maxMemory": "1mb", "maxFileSize": 0, "maxCpuSeconds": 5, "keepDiskFree": "1kb"}
    agent = settings({"agents": {"defaults": {"sandbox": own}}}).agents.default
    assert policies.sandbox_limits(agent) == ProgramLimits(
        processes=None,
        memory=1 << 20,
        open_files=1_024,
        file_size=None,
        cpu_seconds=5,
        free_disk=1 << 10,
    )


@pytest.mark.parametrize(("cores", "main"), [(1, 8), (2, 8), (16, 64)])
def test_lanes_have_their_limits(cores: int, main: int) -> None:
    assert policies.lane_limits(settings({}), cores) == {Lane.MAIN: main, Lane.SUBAGENT: 8}
    given = settings({"agents": {"defaults": {"maxConcurrent": 3, "subagents": {"maxConcurrent": 4}}}})
    assert policies.lane_limits(given, cores) == {Lane.MAIN: 3, Lane.SUBAGENT: 4}


def test_context_settings_reach_core() -> None:
    given = settings(
        """
        { agents: { defaults: {
            contextPruning: { mode: "off", ttl: "1h", tools: { allow: ["a*"], deny: ["ab"] },
              hardClear: { enabled: false, placeholder: "gone" } },
            compaction: { reserveTokens: 1, reserveTokensFloor: 2, keepRecentTokens: 3, recentTurnsPreserve: 4,
              enabled: false, identifierPolicy: "off", maxActiveTranscriptBytes: "1kb", timeoutSeconds: 6,
              notifyUser: true,
              memoryFlush: { softThresholdTokens: 5, enabled: false, forceFlushTranscriptBytes: "2kb" } },
            bootstrapMaxChars: 7, bootstrapTotalMaxChars: 8, userTimezone: "Europe/Berlin",
        } } }
        """
    )
    context = policies.context(given)
    assert (context.ahead, context.notifies, context.flushes) == (False, True, False)
    assert (context.compact_from_chars, context.flush_from_chars) == (1_024, 2_048)
    assert (context.identifiers, context.summary_timeout_ms) == ("off", 6_000)
    assert policies.file_caps(given) == FileCaps(each=7, total=8)
    assert policies.user_zone(given) == ZoneInfo("Europe/Berlin")
    pruning = policies.pruning(given)
    assert (pruning.enabled, pruning.ttl_ms, pruning.clear, pruning.placeholder) == (
        False,
        3_600_000,
        False,
        "gone",
    )
    assert (pruning.allow, pruning.deny) == (("a*",), ("ab",))
    compaction = policies.compaction(given)
    assert (compaction.reserve, compaction.reserve_floor, compaction.keep_recent) == (1, 2, 3)
    assert (compaction.keep_turns, compaction.flush_margin) == (4, 5)


@pytest.mark.requirement("D68")
def test_session_tools_reach_their_own_tree_unless_told_otherwise() -> None:
    plain = settings({})
    reach = policies.session_reach(plain, plain.agents.default)
    assert (reach.agent, reach.level, reach.lifted) == ("main", Level.TREE, False)
    assert (reach.a2a.enabled, reach.main_name, reach.scope) == (False, "main", SessionScope.PER_SENDER)
    given = settings(
        {
            "tools": {"sessions": {"visibility": "all"}, "agentToAgent": {"enabled": True, "allow": ["*"]}},
            "session": {"mainKey": "work", "scope": "global"},
            "agents": {"defaults": {"sandbox": {"sessionToolsVisibility": "all"}}},
        }
    )
    reach = policies.session_reach(given, given.agents.default)
    assert (reach.level, reach.lifted, reach.a2a.allow) == (Level.ALL, True, None)
    assert (reach.main_name, reach.scope) == ("work", SessionScope.GLOBAL)


@pytest.mark.requirement("D22")
def test_an_agent_delegates_to_those_its_configuration_names() -> None:
    given = settings({"agents": {"list": [{"id": "a", "subagents": {"allowAgents": ["b"]}}, {"id": "b"}]}})
    assert [policies.delegation(agent).named for agent in given.agents.list] == [frozenset({"b"}), None]


def test_retention_is_what_its_keys_say() -> None:
    given = settings(
        {
            "session": {
                "maintenance": {
                    "mode": "warn",
                    "pruneAfter": "2d",
                    "archiveDashboardAfter": "3d",
                    "maxEntries": 7,
                    "preserveRecent": True,
                    "resetArchiveRetention": "4d",
                    "maxDiskBytes": "1kb",
                    "highWaterBytes": "1000b",
                }
            },
            "cron": {"sessionRetention": False},
            "agents": {"defaults": {"subagents": {"archiveAfterMinutes": 0}}},
        }
    )
    assert policies.retention(given) == Retention(
        enforce=False,
        synthetic_ms=2 * DAY_MS,
        cron_ms=None,
        archive_children_ms=None,
        archive_dashboards_ms=3 * DAY_MS,
        generations_ms=4 * DAY_MS,
        most_sessions=7,
        spare_recent=True,
        disk=Disk(most=1024, goal=1000),
    )


@pytest.mark.requirement("F6")
@pytest.mark.parametrize(
    ("allow", "named"),
    [(["main"], False), (["main", "remote:office"], True), (["remote:*"], True), (["*"], True)],
)
def test_other_gateways_are_known_and_allowed_by_their_names(allow: list[str], named: bool) -> None:
    given = settings(
        {
            "gateway": {"remotes": {"office": {"url": "wss://office.example", "token": "t"}}},
            "tools": {"agentToAgent": {"enabled": True, "allow": allow}},
        }
    )
    assert policies.agent_to_agent(given).names("remote:office") is named
    assert policies.sending(given).remotes == {"office"}


@pytest.mark.requirement("D61")
def test_sends_know_the_agents_and_how_many_turns_there_are() -> None:
    assert policies.sending(settings({})) == SendRules(agents=frozenset({"main"}), max_turns=5)
    changed = settings(
        {"session": {"agentToAgent": {"maxPingPongTurns": 0}}, "agents": {"list": [{"id": "ops"}]}}
    )
    assert policies.sending(changed) == SendRules(agents=frozenset({"ops"}), max_turns=0)
