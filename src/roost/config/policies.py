"""Settings as the values that core decides with."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import tzinfo
from zoneinfo import ZoneInfo

from roost.config.agents import Agent
from roost.config.amounts import Duration
from roost.config.budgets import DayBudget
from roost.config.channels import Account, Channel
from roost.config.context import PruningMode
from roost.config.gateway import AuthMode, Gateway
from roost.config.sandbox import SandboxVisibility
from roost.config.section import over
from roost.config.session import MaintenanceMode, Reset, ThreadBindings
from roost.config.settings import Settings
from roost.core.addresses import DEFAULT_ACCOUNT
from roost.core.addresses import Account as ChannelAccount
from roost.core.admission import ChannelPolicy
from roost.core.bindings import Binding, Match, PeerMatch
from roost.core.budgets import BudgetScope, Limit, Measure, Period
from roost.core.channeltraits import KNOWN_CHANNELS, Traits
from roost.core.commandaccess import CommandPolicy
from roost.core.compaction import CompactionSettings
from roost.core.delegation import Delegation
from roost.core.entrance import Attempts, Entrance, ProxyLogin
from roost.core.facts import ConversationType
from roost.core.figures import HOUR_MS
from roost.core.identities import IdentityLink, Links
from roost.core.lifecycle import ResetPolicy, ResetSetting
from roost.core.pruning import PruningSettings
from roost.core.queuesettings import QueuePolicy, QueueSettings
from roost.core.reach import SessionReach
from roost.core.remotes import allowed_as
from roost.core.retention import Disk, Retention
from roost.core.room import Room
from roost.core.routing import RoutingRules
from roost.core.runs import Lane
from roost.core.sending import SendRules
from roost.core.sendpolicy import SendMatch, SendPolicy, SendRule
from roost.core.threads import ThreadPolicy, ThreadSettings
from roost.core.tools import ProgramLimits
from roost.core.triggers import DEFAULT_TRIGGERS
from roost.core.upkeep import ContextSettings
from roost.core.visibility import AgentToAgent
from roost.core.workspacefiles import FileCaps


def identity_links(settings: Settings) -> Links:
    return tuple(
        IdentityLink(name=name, members=peers) for name, peers in settings.session.identity_links.items()
    )


def routing_rules(settings: Settings, traits: Traits = KNOWN_CHANNELS) -> RoutingRules:
    return RoutingRules(
        default_agent=settings.agents.default.id,
        main_name=settings.session.main_key,
        scope=settings.session.scope,
        dm_scope=settings.session.dm_scope,
        links=identity_links(settings),
        bindings=_bindings(settings),
        traits=traits,
        threads=thread_policy(settings),
        owners=settings.commands.owner_allow_from or (),
    )


def thread_policy(settings: Settings) -> ThreadPolicy:
    """Each channel and account over what holds for all."""
    base = settings.session.thread_bindings
    by_channel = {name: over(base, one.thread_bindings) for name, one in settings.channels.items()}
    return ThreadPolicy(
        base=_thread_settings(base),
        by_channel={name: _thread_settings(own) for name, own in by_channel.items()},
        by_account={
            ChannelAccount(name, account): _thread_settings(over(by_channel[name], own.thread_bindings))
            for name, channel in settings.channels.items()
            for account, own in channel.accounts.items()
        },
    )


def _thread_settings(own: ThreadBindings) -> ThreadSettings:
    return ThreadSettings(
        enabled=own.enabled,
        spawns=own.spawn_sessions,
        idle_ms=own.idle_hours * HOUR_MS,
        max_age_ms=own.max_age_hours * HOUR_MS,
        context=own.default_spawn_context,
    )


def _bindings(settings: Settings) -> tuple[Binding, ...]:
    return tuple(
        Binding(
            agent=binding.agent_id,
            match=Match(
                channel=binding.match.channel,
                account=binding.match.account_id or DEFAULT_ACCOUNT,
                peer=PeerMatch(kind=peer.kind, id=peer.id) if (peer := binding.match.peer) else None,
                guild=binding.match.guild_id,
                team=binding.match.team_id,
                roles=frozenset(binding.match.roles or ()),
            ),
            dm_scope=binding.session.dm_scope,
        )
        for binding in settings.bindings
    )


def channel_policy(settings: Settings, channel: str, *, traits: Traits = KNOWN_CHANNELS) -> ChannelPolicy:
    """Who is let in on a channel and its accounts; of one that is not configured nobody but by pairing."""
    configured = settings.channels.get(channel) or Channel.model_validate({})
    base = ChannelPolicy(
        owner_ids=settings.commands.owner_allow_from or (),
        links=identity_links(settings),
        traits=traits,
    )

    def own(account: Account) -> ChannelPolicy:
        return replace(
            base,
            enabled=configured.enabled and account.enabled,
            dm_policy=account.dm_policy,
            allow_from=account.allow_from,
            group_policy=account.group_policy,
            group_allow_from=account.group_allow_from,
            require_mention=account.require_mention,
        )

    return replace(own(configured), accounts={name: own(one) for name, one in configured.accounts.items()})


def command_policy(settings: Settings, traits: Traits = KNOWN_CHANNELS) -> CommandPolicy:
    return CommandPolicy(text=settings.commands.text, allow_from=settings.commands.allow_from, traits=traits)


def reset_policy(settings: Settings) -> ResetPolicy:
    session = settings.session
    by_type = session.reset_by_type
    typed = (
        {
            ConversationType.DIRECT: by_type.direct or by_type.dm,
            ConversationType.GROUP: by_type.group,
            ConversationType.THREAD: by_type.thread,
        }
        if by_type
        else {}
    )
    return ResetPolicy(
        base=_reset(session.reset) if session.reset else None,
        by_type={kind: _reset(reset) for kind, reset in typed.items() if reset},
        by_channel={name: _reset(reset) for name, reset in session.reset_by_channel.items()},
        idle_minutes=session.idle_minutes,
    )


def _reset(reset: Reset) -> ResetSetting:
    return ResetSetting(mode=reset.mode, at_hour=reset.at_hour, idle_minutes=reset.idle_minutes)


def extra_triggers(settings: Settings) -> tuple[str, ...]:
    """The reset triggers besides the built-in ones, which always hold."""
    return tuple(word for word in settings.session.reset_triggers if word.lower() not in DEFAULT_TRIGGERS)


def send_policy(settings: Settings) -> SendPolicy | None:
    policy = settings.session.send_policy
    if policy is None:
        return None
    rules = (
        SendRule(
            action=rule.action,
            match=SendMatch(
                channel=rule.match.channel,
                chat_type=rule.match.chat_type,
                key_prefix=rule.match.key_prefix,
                raw_key_prefix=rule.match.raw_key_prefix,
            ),
        )
        for rule in policy.rules
    )
    return SendPolicy(default=policy.default, rules=tuple(rules))


def queue_policy(settings: Settings) -> QueuePolicy:
    queue, inbound = settings.messages.queue, settings.messages.inbound
    base = QueueSettings(
        mode=queue.mode,
        debounce_ms=queue.debounce_ms,
        settle_ms=inbound.debounce_ms,
        cap=queue.cap,
        drop=queue.drop,
    )
    return QueuePolicy(
        base=base,
        mode_by_channel=queue.by_channel,
        debounce_by_channel=queue.debounce_ms_by_channel,
        settle_by_channel=inbound.by_channel,
    )


def agent_to_agent(settings: Settings) -> AgentToAgent:
    access = settings.tools.agent_to_agent
    agents = (agent.id for agent in settings.agents.list)
    return AgentToAgent.of(
        access.enabled, access.allow, (*agents, *map(allowed_as, settings.gateway.remotes))
    )


def session_reach(settings: Settings, agent: Agent, traits: Traits = KNOWN_CHANNELS) -> SessionReach:
    """How far the session tools of an agent's runs reach."""
    return SessionReach(
        agent=agent.id,
        level=settings.tools.sessions.visibility,
        lifted=sandbox_lifted(agent),
        a2a=agent_to_agent(settings),
        main_name=settings.session.main_key,
        scope=settings.session.scope,
        traits=traits,
    )


def sending(settings: Settings) -> SendRules:
    return SendRules(
        agents=frozenset(agent.id for agent in settings.agents.list),
        max_turns=settings.session.agent_to_agent.max_ping_pong_turns,
        remotes=frozenset(settings.gateway.remotes),
    )


def delegation(agent: Agent) -> Delegation:
    named = agent.subagents.allow_agents
    return Delegation(agent=agent.id, named=None if named is None else frozenset(named))


def sandbox_lifted(agent: Agent) -> bool:
    """Whether a sandboxed session of this agent keeps the configured visibility."""
    return agent.sandbox.session_tools_visibility is SandboxVisibility.ALL


def sandbox_limits(agent: Agent) -> ProgramLimits:
    """What a command of this agent may use in a sandbox."""
    own = agent.sandbox
    return ProgramLimits(
        processes=own.max_processes or None,
        memory=own.max_memory.bytes or None,
        open_files=own.max_open_files or None,
        file_size=own.max_file_size.bytes or None,
        cpu_seconds=own.max_cpu_seconds or None,
        free_disk=own.keep_disk_free.bytes or None,
    )


def lane_limits(settings: Settings, cores: int) -> Mapping[Lane, int]:
    """Runs at once by lane; a lane that is not named has no limit of its own."""
    defaults = settings.agents.defaults
    main = defaults.max_concurrent or max(8, 4 * cores)
    return {Lane.MAIN: main, Lane.SUBAGENT: defaults.subagents.max_concurrent}


def budget_limits(settings: Settings) -> tuple[Limit, ...]:
    """Every limit that is set."""
    own = settings.budgets
    scopes: tuple[tuple[BudgetScope, DayBudget, Period], ...] = (
        (BudgetScope.SESSION, own.per_session, own.per_session.period),
        (BudgetScope.TREE, own.per_tree, own.per_tree.period),
        (BudgetScope.AGENT, own.per_agent, own.per_agent.period),
        (BudgetScope.PERSON, own.per_person, own.per_person.period),
        (BudgetScope.DAY, own.per_day, Period.DAY),
    )
    limits = (limit for scope in scopes for limit in _limits(*scope))
    return tuple(limit for limit in limits if (limit.soft, limit.hard) != (None, None))


def _limits(scope: BudgetScope, budget: DayBudget, period: Period) -> tuple[Limit, Limit]:
    tokens, cost = budget.tokens, budget.cost
    return (
        Limit(scope=scope, measure=Measure.TOKENS, period=period, soft=tokens.soft, hard=tokens.hard),
        Limit(
            scope=scope,
            measure=Measure.COST,
            period=period,
            soft=cost.soft.micros if cost.soft else None,
            hard=cost.hard.micros if cost.hard else None,
        ),
    )


def retention(settings: Settings) -> Retention:
    own = settings.session.maintenance
    most = own.max_disk_bytes.bytes
    goal = most * 4 // 5 if own.high_water_bytes is None else own.high_water_bytes.bytes
    return Retention(
        enforce=own.mode is MaintenanceMode.ENFORCE,
        synthetic_ms=own.prune_after.milliseconds,
        cron_ms=_milliseconds(settings.cron.session_retention),
        archive_children_ms=settings.agents.defaults.subagents.archive_after_minutes * 60_000 or None,
        archive_dashboards_ms=own.archive_dashboard_after.milliseconds,
        generations_ms=_milliseconds(own.reset_archive_retention),
        most_sessions=own.max_entries,
        spare_recent=own.preserve_recent,
        disk=Disk(most=most, goal=goal),
    )


def room(settings: Settings) -> Room:
    own = settings.session.maintenance
    return Room(sessions=own.max_sessions, entries=own.max_session_entries)


def _milliseconds(duration: Duration | None) -> int | None:
    return None if duration is None else duration.milliseconds


def pruning(settings: Settings) -> PruningSettings:
    own = settings.agents.defaults.context_pruning
    return PruningSettings(
        enabled=own.mode is PruningMode.CACHE_TTL,
        ttl_ms=own.ttl.milliseconds,
        clear=own.hard_clear.enabled,
        placeholder=own.hard_clear.placeholder,
        allow=own.tools.allow,
        deny=own.tools.deny,
    )


def context(settings: Settings) -> ContextSettings:
    """How every agent's context is kept inside its window."""
    own = settings.agents.defaults.compaction
    most = own.max_active_transcript_bytes
    return ContextSettings(
        pruning=pruning(settings),
        compaction=compaction(settings),
        identifiers=own.identifier_policy,
        ahead=own.enabled,
        compact_from_chars=None if most is None else most.bytes,
        summary_timeout_ms=own.timeout_seconds * 1_000,
        notifies=own.notify_user,
        flushes=own.memory_flush.enabled,
        flush_from_chars=own.memory_flush.force_flush_transcript_bytes.bytes,
    )


def file_caps(settings: Settings) -> FileCaps:
    defaults = settings.agents.defaults
    return FileCaps(each=defaults.bootstrap_max_chars, total=defaults.bootstrap_total_max_chars)


def user_zone(settings: Settings) -> tzinfo | None:
    """The configured time zone, if there is one."""
    name = settings.agents.defaults.user_timezone
    return None if name is None else ZoneInfo(name)


def compaction(settings: Settings) -> CompactionSettings:
    own = settings.agents.defaults.compaction
    return CompactionSettings(
        reserve=own.reserve_tokens,
        reserve_floor=own.reserve_tokens_floor,
        keep_recent=own.keep_recent_tokens,
        keep_turns=own.recent_turns_preserve,
        flush_margin=own.memory_flush.soft_threshold_tokens,
    )


def entrance(settings: Settings) -> Entrance:
    """Who may knock at the gateway. Where a password is asked for, a token is none."""
    gateway = settings.gateway
    auth = gateway.auth
    return Entrance(
        asks=auth.mode is not AuthMode.NONE,
        own=auth.mode is AuthMode.TOKEN and auth.token is None,
        token=None if auth.mode is AuthMode.PASSWORD else auth.token,
        password=auth.password,
        attempts=Attempts(most=auth.rate_limit.max_attempts, window_ms=auth.rate_limit.window_ms),
        origins=frozenset(gateway.control_ui.allowed_origins),
        hosts=frozenset(gateway.allowed_hosts),
        proxies=gateway.trusted_proxies,
        login=_login(gateway) if auth.mode is AuthMode.TRUSTED_PROXY else None,
    )


def _login(gateway: Gateway) -> ProxyLogin:
    own = gateway.auth.trusted_proxy
    return ProxyLogin(
        proxies=gateway.trusted_proxies,
        header=own.user_header,
        owners=frozenset(own.allow_users),
    )
