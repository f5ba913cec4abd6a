"""Events: what clients are told without asking, and who is told."""

from dataclasses import dataclass
from enum import StrEnum

from roost.core.jsonvalue import JsonObject
from roost.core.keys import SessionKey

TICK, SHUTDOWN, PRESENCE, HEALTH = "tick", "shutdown", "presence", "health"
CHAT, AGENT = "chat", "agent"
PAIR_REQUESTED, PAIR_RESOLVED = "device.pair.requested", "device.pair.resolved"
CRON = "cron"
INVOKE = "node.invoke.request"
MESSAGE, TOOL, CHANGED = "session.message", "session.tool", "sessions.changed"

META = "__openclaw"
"""Where a message says what a transcript knows of it."""
NO_MODEL = "gateway-injected"
"""The model of what no model said."""


class Audience(StrEnum):
    """`STARTER`: who began the run, if it shows tools. `LISTENERS` asked for the messages of a session, `WATCHERS` for the
    changes of all; `PAIRERS` may approve devices; `NODE` is the one that is asked."""

    EVERYONE = "everyone"
    READERS = "readers"
    STARTER = "starter"
    LISTENERS = "listeners"
    WATCHERS = "watchers"
    PAIRERS = "pairers"
    NODE = "node"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """An event there is: who hears it, and what it says."""

    name: str
    audience: Audience
    about: str


TABLE = (
    Told(
        name=AGENT,
        audience=Audience.READERS,
        about="What a run does, by `stream`: run_status, lifecycle, thinking, assistant, item, command_output, usage. `tool` "
        "goes to who began the run only, if it has the capability `tool-events`; `thinking` is told in sessions with a "
        "`reasoningLevel`: as it comes with `stream`, before the first word of the answer with `on`.",
    ),
    Told(
        name=CHAT,
        audience=Audience.READERS,
        about="What a run says, by `state`: status, delta, then one of final, aborted, error. A delta has the increment "
        "and all of it so far. The `message` of a final one has a block `thinking` where the session has a `reasoningLevel`, "
        "and by its `responseUsage` `usage` (`tokens`), with its cost, `provider` and `model` (`full`); "
        "`estimated` stands in it where the provider counted nothing.",
    ),
    Told(
        name=CRON,
        audience=Audience.READERS,
        about="A job was added, updated or removed, or began or ended, by `action`. Only the owner is told.",
    ),
    Told(
        name=INVOKE,
        audience=Audience.NODE,
        about="What a node is asked for; `node.invoke.result` answers it.",
    ),
    Told(name=PAIR_REQUESTED, audience=Audience.PAIRERS, about="A device asks to be paired."),
    Told(name=PAIR_RESOLVED, audience=Audience.PAIRERS, about="Somebody decided on it."),
    Told(name=HEALTH, audience=Audience.READERS, about="What `health` answers, every minute."),
    Told(
        name=PRESENCE,
        audience=Audience.READERS,
        about="What `system-presence` answers, when a device came or went; at most once a second.",
    ),
    Told(name=MESSAGE, audience=Audience.LISTENERS, about="A message was stored."),
    Told(name=TOOL, audience=Audience.LISTENERS, about="What `agent` says in its stream `tool`."),
    Told(
        name=CHANGED,
        audience=Audience.WATCHERS,
        about="A session changed, with its row: in a turn by `phase`, start or end, and `runId`, else by `reason`: create, reset, "
        "send or patch; or it is gone (delete), which who may see all sessions is told.",
    ),
    Told(
        name=SHUTDOWN,
        audience=Audience.EVERYONE,
        about="The gateway stops; the connection is closed with 1012.",
    ),
    Told(name=TICK, audience=Audience.EVERYONE, about="Every 30 seconds."),
)
EVERY = tuple(one.name for one in TABLE if one.audience is not Audience.NODE)
FOR_NODES = (CHAT, INVOKE, SHUTDOWN, TICK)
"""Of a chat, what is in sessions that are the node's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireEvent:
    """`key` is the session it is about, which whoever gets it must be allowed to read; `run` the one it tells of, by the
    name its clients know."""

    name: str
    payload: JsonObject
    audience: Audience
    key: SessionKey | None = None
    run: str | None = None
