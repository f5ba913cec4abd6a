"""OpenClaw's `sessions.json`: what is known of each key, read as values.

It is untrusted. Content, names, preferences, times and counts are taken; whatever gives a right, a route, a
path or a policy is not, and is only named so that the owner can set it again.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from roost.core.addresses import ChatType, Origin
from roost.core.channeltraits import Traits
from roost.core.groupnames import legacy_key
from roost.core.jsonl import LATEST, Malformed, read_object
from roost.core.jsonl_messages import micros_of
from roost.core.jsonvalue import JsonObject, JsonValue, as_count, as_object, as_optional, as_text
from roost.core.keys import KeyKind, SessionKey
from roost.core.sessions import Counters, Labels, Overrides
from roost.transfer.paths import is_session_id

LABEL_CHARS = 512
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_MODEL = re.compile(r"[\w.:@+-]+(?:/[\w.:@+-]+)*", re.ASCII)
_THINKING = re.compile(r"[a-z]{1,16}")

# What an import must not decide (S25), by the names it has had.
_RIGHTS = frozenset({
    "authProfileOverride", "completionOwnerSessionKey", "createdActor", "cwd", "delivery", "deliveryContext",
    "elevatedLevel", "execAsk", "execCwd", "execHost", "execNode", "execSecurity", "groupActivation",
    "inheritedToolAllow", "inheritedToolDeny", "lastAccountId", "lastChannel", "lastThreadId", "lastTo", "owner",
    "permissionMode", "principal", "queueCap", "queueDebounceMs", "queueDrop", "queueMode", "reasoningLevel", "sandbox",
    "sendPolicy", "sessionFile", "spawnedCwd", "spawnedWorkspaceDir", "subagentControlScope", "subagentRole",
    "verboseLevel", "workspaceDir",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexTimes:
    """UTC milliseconds; 0 is not said."""

    created: int = 0
    updated: int = 0
    started: int = 0
    interacted: int = 0
    archived: int = 0
    pinned: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """One key of the index. `earlier` are session ids it had before, `parent` the key that spawned it."""

    name: str
    session_id: str | None = None
    earlier: tuple[str, ...] = ()
    parent: str | None = None
    provider: str | None = None
    labels: Labels = field(default_factory=Labels)
    origin: Origin = field(default_factory=Origin)
    overrides: Overrides = field(default_factory=Overrides)
    counters: Counters = field(default_factory=Counters)
    times: IndexTimes = field(default_factory=IndexTimes)
    left_out: tuple[str, ...] = ()


def read_index(content: bytes) -> tuple[IndexEntry, ...] | Malformed:
    """The entries of a whole index, in its order."""
    try:
        index = read_object(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return Malformed("not valid UTF-8")
    if isinstance(index, Malformed):
        return index
    return tuple(_entry(name, as_object(value)) for name, value in index.items())


def key_named(
    name: str, agent: str, main_name: str, traits: Traits, provider: str | None = None
) -> SessionKey:
    """The key of a name in any spelling it has had: with and without its agent, and from before channels.

    A malformed name is refused, never given to an agent.
    """
    text = name.strip()
    if text.lower() == "main" or text == main_name:
        return SessionKey.named(agent, main_name)
    unscoped = text.lower() in ("global", "global:heartbeat", "unknown")
    key = SessionKey.parse(text if unscoped or text.lower().startswith("agent:") else f"agent:{agent}:{text}")
    if key.kind is KeyKind.NAMED:
        rest = str(key).removeprefix(f"agent:{key.agent}:")
        return legacy_key(key.agent, rest, provider, traits) or key
    return traits.fold_key(key)


def _entry(name: str, said: JsonObject) -> IndexEntry:
    origin = as_object(said.get("origin"))
    return IndexEntry(
        name=name,
        session_id=_session_id(said.get("sessionId")),
        earlier=_earlier(said),
        parent=as_optional(said.get("spawnedBy")) or as_optional(said.get("parentSessionKey")),
        provider=as_line(origin.get("provider"))
        or as_line(said.get("channel"))
        or as_line(said.get("lastChannel")),
        labels=_labels(said),
        origin=_origin(origin),
        overrides=Overrides(model=_model(said), thinking=_thinking(said.get("thinkingLevel"))),
        counters=_counters(said),
        times=_times(said),
        left_out=tuple(sorted(_RIGHTS & said.keys())),
    )


def _session_id(value: JsonValue) -> str | None:
    text = as_text(value)
    return text if is_session_id(text) else None


def _earlier(said: JsonObject) -> tuple[str, ...]:
    family = said.get("usageFamilySessionIds")
    ids = [*(family if isinstance(family, list) else ()), said.get("previousSessionId")]
    return tuple(dict.fromkeys(found for value in ids if (found := _session_id(value))))


def as_line(value: JsonValue, limit: int = LABEL_CHARS) -> str | None:
    """A text for people, on one line."""
    return " ".join(_CONTROL.sub(" ", as_text(value)[:limit]).split()) or None


def _labels(said: JsonObject) -> Labels:
    return Labels(
        label=as_line(said.get("label")),
        display_name=as_line(said.get("displayName")),
        subject=as_line(said.get("subject")),
        room=as_line(said.get("groupChannel")) or as_line(said.get("room")),
        space=as_line(said.get("space")),
    )


def _origin(said: JsonObject) -> Origin:
    return Origin(
        label=as_line(said.get("label")),
        provider=as_line(said.get("provider")),
        surface=as_line(said.get("surface")),
        chat_type=ChatType.parse(as_text(said.get("chatType"))),
        sender=as_line(said.get("from")),
        to=as_line(said.get("to")),
        account=as_line(said.get("accountId")),
        thread=as_line(_as_word(said.get("threadId"))),
    )


def _as_word(value: JsonValue) -> JsonValue:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _model(said: JsonObject) -> str | None:
    """The model a person pinned; one that was chosen for them is chosen again."""
    if said.get("modelOverrideSource") not in (None, "user"):
        return None
    parts = [as_text(said.get("providerOverride")), as_text(said.get("modelOverride"))]
    model = "/".join(part for part in parts if part)
    return model if parts[1] and len(model) <= LABEL_CHARS and _MODEL.fullmatch(model) else None


def _thinking(value: JsonValue) -> str | None:
    text = as_text(value)
    return text if _THINKING.fullmatch(text) else None


def _counters(said: JsonObject) -> Counters:
    return Counters(
        input=as_count(said.get("inputTokens")),
        output=as_count(said.get("outputTokens")),
        total=as_count(said.get("totalTokens")),
        context_window=as_count(said.get("contextTokens")),
        cache_read=as_count(said.get("cacheRead")),
        cache_write=as_count(said.get("cacheWrite")),
        cost_micros=micros_of(said.get("estimatedCostUsd")),
        compactions=as_count(said.get("compactionCount")),
    )


def _times(said: Mapping[str, JsonValue]) -> IndexTimes:
    return IndexTimes(
        created=_moment(said.get("createdAt")),
        updated=_moment(said.get("updatedAt")),
        started=_moment(said.get("sessionStartedAt")),
        interacted=_moment(said.get("lastInteractionAt")),
        archived=_moment(said.get("archivedAt")),
        pinned=_moment(said.get("pinnedAt")),
    )


def _moment(value: JsonValue) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LATEST:
        return 0
    return int(value)
