"""The method table: every request there is, by its name."""

from types import MappingProxyType

from roost.protocol.families import agents, changes, chat, devices, own, sessions, status

EVERY = (
    status.HEALTH,
    status.STATUS,
    status.PRESENCE,
    status.CHANNELS,
    status.LAST_HEARTBEAT,
    status.LOGS,
    sessions.LIST,
    sessions.DESCRIBE,
    sessions.RESOLVE,
    sessions.PREVIEW,
    sessions.GET,
    sessions.USAGE,
    sessions.SUBSCRIBE,
    sessions.LISTEN,
    sessions.UNLISTEN,
    changes.CREATE,
    changes.PATCH,
    changes.RESET,
    changes.DELETE,
    changes.COMPACT,
    changes.SEND,
    changes.ABORT,
    chat.SEND,
    chat.HISTORY,
    chat.STARTUP,
    chat.METADATA,
    chat.ABORT,
    chat.INJECT,
    agents.AGENT,
    agents.WAIT,
    agents.IDENTITY,
    agents.AGENTS,
    agents.MODELS,
    agents.COMMANDS,
    agents.CONFIG,
    devices.LIST,
    devices.APPROVE,
    devices.REJECT,
    devices.REMOVE,
    devices.ROTATE,
    devices.REVOKE,
    own.SEARCH,
    own.TREE,
    own.CLEANUP,
)
METHODS = MappingProxyType({method.name: method for method in EVERY})
ADVERTISED = tuple(method.name for method in EVERY if not method.hidden)
