"""The table of methods with who answers each."""

from collections.abc import Iterable
from types import MappingProxyType
from typing import Any

from roost.protocol.families import (
    agents,
    changes,
    chat,
    cron,
    devices,
    letters,
    nodes,
    operations,
    own,
    people,
    points,
    reasons,
    searching,
    sessions,
    status,
    usage,
)
from roost.server.calls import Bound, Table
from roost.server.fanout import Fanout
from roost.server.handlers import catalogue, changing, forking
from roost.server.handlers import cron as cron_handlers
from roost.server.handlers import devices as devices_handlers
from roost.server.handlers import letters as letters_handlers
from roost.server.handlers import nodes as nodes_handlers
from roost.server.handlers import operations as operations_handlers
from roost.server.handlers import own as own_handlers
from roost.server.handlers import people as people_handlers
from roost.server.handlers import points as points_handlers
from roost.server.handlers import reasons as reasons_handlers
from roost.server.handlers import searching as searching_handlers
from roost.server.handlers import sessions as sessions_handlers
from roost.server.handlers import status as status_handlers
from roost.server.handlers import usage as usage_handlers
from roost.server.handlers.changing import Changes
from roost.server.handlers.history import Reading
from roost.server.handlers.sessions import Hearing
from roost.server.handlers.talking import Talk


def table(fanout: Fanout) -> Table:
    talk = Talk(fanout)
    bound = (
        *_status(),
        *_sessions(Hearing(fanout)),
        *_usage(),
        *_changes(Changes(talk), talk),
        *_talk(talk, Reading(fanout)),
        *_devices(),
        *_people(),
        *_nodes(nodes_handlers.Saying(talk)),
        *_cron(),
        *_own(),
        *_operations(),
        *_points(),
    )
    return MappingProxyType({one.method.name: one for one in bound})


def _status() -> Iterable[Bound[Any, Any]]:
    yield Bound(method=status.HEALTH, handle=status_handlers.health)
    yield Bound(method=status.STATUS, handle=status_handlers.overview)
    yield Bound(method=status.PRESENCE, handle=status_handlers.presence)
    yield Bound(method=status.CHANNELS, handle=status_handlers.channels)
    yield Bound(method=status.LAST_HEARTBEAT, handle=status_handlers.last_heartbeat)
    yield Bound(method=status.HEARTBEATS, handle=status_handlers.set_heartbeats)
    yield Bound(method=status.LOGS, handle=status_handlers.tail)


def _sessions(hearing: Hearing) -> Iterable[Bound[Any, Any]]:
    yield Bound(method=sessions.LIST, handle=sessions_handlers.list_sessions)
    yield Bound(method=sessions.DESCRIBE, handle=sessions_handlers.describe)
    yield Bound(method=sessions.RESOLVE, handle=sessions_handlers.resolve)
    yield Bound(method=sessions.PREVIEW, handle=sessions_handlers.preview)
    yield Bound(method=sessions.GET, handle=sessions_handlers.get)
    yield Bound(method=searching.SEARCH, handle=searching_handlers.search)
    yield Bound(method=sessions.SUBSCRIBE, handle=hearing.subscribe)
    yield Bound(method=sessions.LISTEN, handle=hearing.listen)
    yield Bound(method=sessions.UNLISTEN, handle=hearing.unlisten)


def _usage() -> Iterable[Bound[Any, Any]]:
    yield Bound(method=usage.USAGE, handle=usage_handlers.usage)
    yield Bound(method=usage.TIMESERIES, handle=usage_handlers.timeseries)
    yield Bound(method=usage.LOGS, handle=usage_handlers.logs)
    yield Bound(method=usage.COST, handle=usage_handlers.cost)


def _changes(change: Changes, talk: Talk) -> Iterable[Bound[Any, Any]]:
    yield Bound(method=changes.CREATE, handle=change.create)
    yield Bound(method=changes.PATCH, handle=changing.patch)
    yield Bound(method=changes.RESET, handle=changing.reset)
    yield Bound(method=changes.DELETE, handle=changing.delete)
    yield Bound(method=changes.COMPACT, handle=changing.compact)
    yield Bound(method=changes.SEND, handle=talk.sessions_send)
    yield Bound(method=changes.ABORT, handle=talk.sessions_abort)
    yield Bound(method=changes.FORK, handle=forking.fork)
    yield Bound(method=changes.CLEANUP, handle=changing.cleanup)


def _talk(talk: Talk, reading: Reading) -> Iterable[Bound[Any, Any]]:
    yield Bound(method=chat.SEND, handle=talk.chat_send)
    yield Bound(method=chat.HISTORY, handle=reading.history)
    yield Bound(method=chat.STARTUP, handle=reading.startup)
    yield Bound(method=chat.METADATA, handle=catalogue.metadata)
    yield Bound(method=chat.ABORT, handle=talk.chat_abort)
    yield Bound(method=chat.INJECT, handle=reading.inject)
    yield Bound(method=agents.AGENT, handle=talk.agent)
    yield Bound(method=agents.WAIT, handle=talk.wait)
    yield Bound(method=agents.IDENTITY, handle=catalogue.identity)
    yield Bound(method=agents.AGENTS, handle=catalogue.list_agents)
    yield Bound(method=agents.MODELS, handle=catalogue.list_models)
    yield Bound(method=agents.COMMANDS, handle=catalogue.list_commands)
    yield Bound(method=agents.CONFIG, handle=catalogue.config)
    yield Bound(method=letters.SEND, handle=letters_handlers.send)
    yield Bound(method=letters.ACTION, handle=letters_handlers.act)


def _devices() -> Iterable[Bound[Any, Any]]:
    yield Bound(method=devices.LIST, handle=devices_handlers.list_devices)
    yield Bound(method=devices.APPROVE, handle=devices_handlers.approve)
    yield Bound(method=devices.REJECT, handle=devices_handlers.reject)
    yield Bound(method=devices.REMOVE, handle=devices_handlers.remove)
    yield Bound(method=devices.ROTATE, handle=devices_handlers.rotate)
    yield Bound(method=devices.REVOKE, handle=devices_handlers.revoke)


def _people() -> Iterable[Bound[Any, Any]]:
    yield Bound(method=people.LIST, handle=people_handlers.list_people)
    yield Bound(method=people.APPROVE, handle=people_handlers.approve)
    yield Bound(method=people.REJECT, handle=people_handlers.reject)
    yield Bound(method=people.REMOVE, handle=people_handlers.remove)


def _nodes(saying: nodes_handlers.Saying) -> Iterable[Bound[Any, Any]]:
    yield Bound(method=nodes.LIST, handle=nodes_handlers.list_nodes)
    yield Bound(method=nodes.DESCRIBE, handle=nodes_handlers.describe)
    yield Bound(method=nodes.INVOKE, handle=nodes_handlers.invoke)
    yield Bound(method=nodes.PAIRED, handle=nodes_handlers.list_paired)
    yield Bound(method=nodes.RESULT, handle=nodes_handlers.result)
    yield Bound(method=nodes.EVENT, handle=saying.event)


def _cron() -> Iterable[Bound[Any, Any]]:
    yield Bound(method=cron.LIST, handle=cron_handlers.list_jobs)
    yield Bound(method=cron.STATUS, handle=cron_handlers.status)
    yield Bound(method=cron.GET, handle=cron_handlers.get)
    yield Bound(method=cron.ADD, handle=cron_handlers.add)
    yield Bound(method=cron.UPDATE, handle=cron_handlers.update)
    yield Bound(method=cron.REMOVE, handle=cron_handlers.remove)
    yield Bound(method=cron.RUN, handle=cron_handlers.run)
    yield Bound(method=cron.RUNS, handle=cron_handlers.runs)
    yield Bound(method=cron.WAKE, handle=cron_handlers.wake)


def _own() -> Iterable[Bound[Any, Any]]:
    yield Bound(method=own.SEARCH, handle=searching_handlers.search_on)
    yield Bound(method=own.TREE, handle=own_handlers.tree)
    yield Bound(method=own.CLEANUP, handle=own_handlers.cleanup)
    yield Bound(method=own.EXPORT, handle=own_handlers.export)
    yield Bound(method=reasons.EXPLAIN, handle=reasons_handlers.explain)
    yield Bound(method=reasons.TIMELINE, handle=reasons_handlers.timeline)
    yield Bound(method=reasons.DENIALS, handle=reasons_handlers.denials)
    yield Bound(method=reasons.LEDGER, handle=reasons_handlers.ledger)
    yield Bound(method=reasons.EXCHANGES, handle=reasons_handlers.exchanges)


def _operations() -> Iterable[Bound[Any, Any]]:
    yield Bound(method=operations.DELIVERIES, handle=operations_handlers.deliveries)
    yield Bound(method=operations.RETRY, handle=operations_handlers.retry)
    yield Bound(method=operations.DISMISS, handle=operations_handlers.dismiss)
    yield Bound(method=operations.GATEWAYS, handle=operations_handlers.gateways)
    yield Bound(method=operations.DRAIN, handle=operations_handlers.drain)
    yield Bound(method=operations.AUDIT, handle=operations_handlers.audit)
    yield Bound(method=operations.FORK, handle=forking.fork_after)


def _points() -> Iterable[Bound[Any, Any]]:
    yield Bound(method=points.LIST, handle=points_handlers.list_points)
    yield Bound(method=points.SAVE, handle=points_handlers.save)
    yield Bound(method=points.DIFF, handle=points_handlers.diff)
    yield Bound(method=points.LOAD, handle=points_handlers.load)
    yield Bound(method=points.DELETE, handle=points_handlers.delete)
