"""`session`: which messages share a conversation, when it starts afresh, what it may send."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated

from roost.config.amounts import ByteSize, Duration
from roost.config.frozen import FrozenMap
from roost.config.section import Loc, Section, Takes, about
from roost.config.spelling import (
    AnyCaseChannel,
    ChannelName,
    Chat,
    Count,
    Days,
    DaysOrNever,
    Flag,
    Hour,
    MainName,
    PathTemplate,
    PersonName,
    Positive,
    Size,
    Text,
    Texts,
    whole,
)
from roost.core.lifecycle import ResetMode
from roost.core.scopes import DmScope, SessionScope
from roost.core.sendpolicy import SendAction
from roost.core.terms import SpawnContext


class MaintenanceMode(StrEnum):
    ENFORCE = "enforce"
    WARN = "warn"


class Reset(Section):
    mode: Annotated[ResetMode | None, about("What ends a session. Unset: `daily`.")] = None
    at_hour: Annotated[Hour | None, about("Hour of the daily reset, local time of the host. Unset: 4.")] = (
        None
    )
    idle_minutes: Annotated[
        Positive | None,
        about(
            "Minutes without a message after which a session ends; with `daily`, the first to expire wins."
        ),
    ] = None


class ResetByType(Section):
    direct: Annotated[Reset | None, about("Reset of direct messages.")] = None
    group: Annotated[Reset | None, about("Reset of groups and rooms.")] = None
    thread: Annotated[Reset | None, about("Reset of threads and topics.")] = None
    dm: Annotated[Reset | None, about("Older name of `direct`; not both.")] = None

    def conflicts(self) -> Iterable[tuple[Loc, str]]:
        if self.dm is not None and self.direct is not None:
            yield ("dm",), "`dm` is an older name of `direct`: keep one of them"


class SendMatch(Section):
    channel: Annotated[AnyCaseChannel | None, about("The channel of the session.")] = None
    chat_type: Annotated[Chat | None, about("The kind of chat.")] = None
    key_prefix: Annotated[
        Text | None, about("Start of the session key, with or without its `agent:<id>:` head.")
    ] = None
    raw_key_prefix: Annotated[Text | None, about("Start of the whole session key.")] = None


class SendRule(Section):
    action: Annotated[SendAction, about("What the rule does; a matching `deny` wins over every `allow`.")]
    match: Annotated[SendMatch, about("All given fields must hold.")]


class SendPolicy(Section):
    default: Annotated[SendAction, about("When no rule matches.")] = SendAction.ALLOW
    rules: Annotated[tuple[SendRule, ...], about("Rules by channel, chat type or key.")] = ()


class AgentToAgentTurns(Section):
    max_ping_pong_turns: Annotated[
        int, whole(0, 20), about("Reply-back turns after a `sessions_send`; 0 leaves the announce only.")
    ] = 5


class ThreadBindings(Section):
    enabled: Annotated[Flag, about("Whether a chat thread can be bound to a session.")] = True
    idle_hours: Annotated[Count, about("Hours without a message after which a binding ends; 0: never.")] = 24
    max_age_hours: Annotated[Count, about("Hours after which a binding ends in any case; 0: never.")] = 0
    spawn_sessions: Annotated[Flag, about("Whether a spawn may bind its child to a thread.")] = True
    default_spawn_context: Annotated[SpawnContext, about("What a thread-bound child starts with.")] = (
        SpawnContext.FORK
    )


class ColdStorage(Section):
    enabled: Annotated[Flag, about("Whether archived transcripts are compressed.")] = False
    after_days: Annotated[Positive, about("Days after which they are.")] = 30


class Maintenance(Section):
    mode: Annotated[MaintenanceMode, about("`warn` reports what `enforce` would remove.")] = (
        MaintenanceMode.ENFORCE
    )
    prune_after: Annotated[
        Days,
        about(
            "Age at which unused sessions that no person talks to are removed: hooks, children, heartbeats."
        ),
    ] = Duration.parse("30d")
    archive_dashboard_after: Annotated[
        Days, about("Age at which unused dashboard sessions are archived.")
    ] = Duration.parse("7d")
    max_entries: Annotated[
        Positive,
        about("Sessions that are not archived; of more, the oldest that no person talks to are archived."),
    ] = 5000
    max_sessions: Annotated[
        Positive, about("Sessions there may be, archived ones too; a client or hook opens no more.")
    ] = 250_000
    max_session_entries: Annotated[
        Positive,
        about("Entries of a session since it last started afresh; of more a client or hook adds none."),
    ] = 100_000
    preserve_recent: Annotated[
        Flag, about("Whether sessions used within a day are exempt from `maxEntries`.")
    ] = False
    reset_archive_retention: Annotated[
        DaysOrNever,
        about("How long generations closed by a reset are kept. Unset: as long as their session."),
    ] = None
    max_disk_bytes: Annotated[
        Size, about("Size of the store at which the oldest sessions that no person talks to are removed.")
    ] = ByteSize.parse("10gb")
    high_water_bytes: Annotated[
        Size | None, about("Size that a removal goes down to. Unset: 80 % of `maxDiskBytes`.")
    ] = None
    cold_storage: Annotated[ColdStorage, about("Compression of what is archived.")] = ColdStorage()

    def conflicts(self) -> Iterable[tuple[Loc, str]]:
        if self.high_water_bytes is not None and self.high_water_bytes > self.max_disk_bytes:
            yield ("highWaterBytes",), f"it is above maxDiskBytes ({self.max_disk_bytes})"


class Session(Section):
    # Who shares a conversation holds as soon as who is let in does.
    scope: Annotated[SessionScope, about("`global` puts everything into one session.", Takes.AT_ONCE)] = (
        SessionScope.PER_SENDER
    )
    dm_scope: Annotated[
        DmScope,
        about(
            "Which direct messages share a session. `owner-main`: the owner's share the main session, everyone "
            "else has one per channel and person.",
            Takes.AT_ONCE,
        ),
    ] = DmScope.MAIN
    identity_links: Annotated[
        FrozenMap[PersonName, Texts],
        about("One person's ids on several channels (`telegram:123`), under one name.", Takes.AT_ONCE),
    ] = FrozenMap()
    main_key: Annotated[MainName, about("Name of an agent's main session.")] = "main"
    store: Annotated[
        PathTemplate | None,
        about("Where `sessions.json` and JSONL files are placed; `{agentId}` is filled in.", Takes.RESTART),
    ] = None
    mirror: Annotated[
        PathTemplate | None,
        about("Where transcripts are mirrored as JSONL after commit. Unset: not.", Takes.RESTART),
    ] = None
    reset: Annotated[Reset | None, about("When a session starts afresh. Unset: daily at 4.")] = None
    reset_by_type: Annotated[ResetByType | None, about("Resets by kind of chat, over `reset`.")] = None
    reset_by_channel: Annotated[
        FrozenMap[ChannelName, Reset],
        about("Resets by the channel that is spoken on, in place of all others."),
    ] = FrozenMap()
    idle_minutes: Annotated[
        Positive | None, about("Idle reset only; counts when neither `reset` nor `resetByType` is given.")
    ] = None
    reset_triggers: Annotated[
        Texts, about("Messages that start a session afresh, besides `/new` and `/reset`.")
    ] = (
        "/new",
        "/reset",
    )
    send_policy: Annotated[
        SendPolicy | None, about("What may be sent. Unset: everything.", Takes.AT_ONCE)
    ] = None
    agent_to_agent: Annotated[AgentToAgentTurns, about("Conversations between agents.")] = AgentToAgentTurns()
    thread_bindings: Annotated[ThreadBindings, about("Sessions bound to a chat thread.")] = ThreadBindings()
    maintenance: Annotated[Maintenance, about("What is kept, and for how long.")] = Maintenance()

    def conflicts(self) -> Iterable[tuple[Loc, str]]:
        owners: dict[str, str] = {}
        names: set[str] = set()
        for name, peers in self.identity_links.items():
            if name.lower() in names:
                yield ("identityLinks", name), "the name is given twice, in another case"
            names.add(name.lower())
            for index, peer in enumerate(peers):
                owner = owners.setdefault(peer.lower(), name)
                if owner != name:
                    yield ("identityLinks", name, index), f"`{peer}` already belongs to `{owner}`"
