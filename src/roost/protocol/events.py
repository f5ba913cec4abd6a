"""Events: what clients are told without asking, and who is told."""

from dataclasses import dataclass
from enum import StrEnum

from roost.core.jsonvalue import JsonObject
from roost.core.keys import SessionKey

TICK, SHUTDOWN, PRESENCE, HEALTH = "tick", "shutdown", "presence", "health"
CHAT, AGENT = "chat", "agent"
PAIR_REQUESTED, PAIR_RESOLVED = "device.pair.requested", "device.pair.resolved"
CRON = "cron"
MESSAGE, TOOL, CHANGED = "session.message", "session.tool", "sessions.changed"
EVERY = (
    AGENT,
    CHAT,
    CRON,
    PAIR_REQUESTED,
    PAIR_RESOLVED,
    HEALTH,
    PRESENCE,
    MESSAGE,
    TOOL,
    CHANGED,
    SHUTDOWN,
    TICK,
)


class Audience(StrEnum):
    """`STARTER`: who began the run, if it shows tools. `LISTENERS` asked for the messages of a session, `WATCHERS` for the
    changes of all; `PAIRERS` may approve devices."""

    EVERYONE = "everyone"
    READERS = "readers"
    STARTER = "starter"
    LISTENERS = "listeners"
    WATCHERS = "watchers"
    PAIRERS = "pairers"


@dataclass(frozen=True, slots=True, kw_only=True)
class WireEvent:
    """`key` is the session it is about, which whoever gets it must be allowed to read; `run` the one it tells of, by the
    name its clients know."""

    name: str
    payload: JsonObject
    audience: Audience
    key: SessionKey | None = None
    run: str | None = None
