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
    points,
    reasons,
    sessions,
    status,
    usage,
)
from roost.protocol.families import searching as seeking
from roost.server.calls import Bound, Table
from roost.server.fanout import Fanout
from roost.server.handlers import catalogue, changing, forking, searching
from roost.server.handlers import cron as timing
from roost.server.handlers import devices as pairing
from roost.server.handlers import letters as posting
from roost.server.handlers import nodes as lending
from roost.server.handlers import operations as operating
from roost.server.handlers import own as roosts
from roost.server.handlers import points as saving
from roost.server.handlers import reasons as why
from roost.server.handlers import sessions as reading
from roost.server.handlers import status as standing
from roost.server.handlers import usage as spending
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
        *_nodes(lending.Saying(talk)),
        *_cron(),
        *_own(),
        *_operations(),
        *_points(),
    )
    return MappingProxyType({one.method.name: one for one in bound})


def _status() -> Iterable[Bound[Any, Any]]:
    yield Bound(method=status.HEALTH, handle=standing.health)
    yield Bound(method=status.STATUS, handle=standing.stand)
    yield Bound(method=status.PRESENCE, handle=standing.presence)
    yield Bound(method=status.CHANNELS, handle=standing.channels)
    yield Bound(method=status.LAST_HEARTBEAT, handle=standing.last_heartbeat)
    yield Bound(method=status.HEARTBEATS, handle=standing.set_heartbeats)
    yield Bound(method=status.LOGS, handle=standing.tail)


def _sessions(hearing: Hearing) -> Iterable[Bound[Any, Any]]:
    yield Bound(method=sessions.LIST, handle=reading.list_sessions)
    yield Bound(method=sessions.DESCRIBE, handle=reading.describe)
    yield Bound(method=sessions.RESOLVE, handle=reading.resolve)
    yield Bound(method=sessions.PREVIEW, handle=reading.preview)
    yield Bound(method=sessions.GET, handle=reading.get)
    yield Bound(method=seeking.SEARCH, handle=searching.search)
    yield Bound(method=sessions.SUBSCRIBE, handle=hearing.subscribe)
    yield Bound(method=sessions.LISTEN, handle=hearing.listen)
    yield Bound(method=sessions.UNLISTEN, handle=hearing.unlisten)


def _usage() -> Iterable[Bound[Any, Any]]:
    yield Bound(method=usage.USAGE, handle=spending.usage)
    yield Bound(method=usage.TIMESERIES, handle=spending.timeseries)
    yield Bound(method=usage.LOGS, handle=spending.logs)
    yield Bound(method=usage.COST, handle=spending.cost)


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
    yield Bound(method=letters.SEND, handle=posting.send)
    yield Bound(method=letters.ACTION, handle=posting.act)


def _devices() -> Iterable[Bound[Any, Any]]:
    yield Bound(method=devices.LIST, handle=pairing.list_devices)
    yield Bound(method=devices.APPROVE, handle=pairing.approve)
    yield Bound(method=devices.REJECT, handle=pairing.reject)
    yield Bound(method=devices.REMOVE, handle=pairing.remove)
    yield Bound(method=devices.ROTATE, handle=pairing.rotate)
    yield Bound(method=devices.REVOKE, handle=pairing.revoke)


def _nodes(saying: lending.Saying) -> Iterable[Bound[Any, Any]]:
    yield Bound(method=nodes.LIST, handle=lending.list_nodes)
    yield Bound(method=nodes.DESCRIBE, handle=lending.describe)
    yield Bound(method=nodes.INVOKE, handle=lending.invoke)
    yield Bound(method=nodes.PAIRED, handle=lending.list_paired)
    yield Bound(method=nodes.RESULT, handle=lending.result)
    yield Bound(method=nodes.EVENT, handle=saying.event)


def _cron() -> Iterable[Bound[Any, Any]]:
    yield Bound(method=cron.LIST, handle=timing.list_jobs)
    yield Bound(method=cron.STATUS, handle=timing.status)
    yield Bound(method=cron.GET, handle=timing.get)
    yield Bound(method=cron.ADD, handle=timing.add)
    yield Bound(method=cron.UPDATE, handle=timing.update)
    yield Bound(method=cron.REMOVE, handle=timing.remove)
    yield Bound(method=cron.RUN, handle=timing.run)
    yield Bound(method=cron.RUNS, handle=timing.runs)
    yield Bound(method=cron.WAKE, handle=timing.wake)


def _own() -> Iterable[Bound[Any, Any]]:
    yield Bound(method=own.SEARCH, handle=searching.search_on)
    yield Bound(method=own.TREE, handle=roosts.tree)
    yield Bound(method=own.CLEANUP, handle=roosts.cleanup)
    yield Bound(method=own.EXPORT, handle=roosts.export)
    yield Bound(method=reasons.EXPLAIN, handle=why.explain)
    yield Bound(method=reasons.TIMELINE, handle=why.timeline)
    yield Bound(method=reasons.DENIALS, handle=why.denials)
    yield Bound(method=reasons.LEDGER, handle=why.ledger)
    yield Bound(method=reasons.EXCHANGES, handle=why.exchanges)


def _operations() -> Iterable[Bound[Any, Any]]:
    yield Bound(method=operations.DELIVERIES, handle=operating.deliveries)
    yield Bound(method=operations.RETRY, handle=operating.retry)
    yield Bound(method=operations.DISMISS, handle=operating.dismiss)
    yield Bound(method=operations.GATEWAYS, handle=operating.gateways)
    yield Bound(method=operations.DRAIN, handle=operating.drain)
    yield Bound(method=operations.AUDIT, handle=operating.audit)
    yield Bound(method=operations.FORK, handle=forking.fork_after)


def _points() -> Iterable[Bound[Any, Any]]:
    yield Bound(method=points.LIST, handle=saving.list_points)
    yield Bound(method=points.SAVE, handle=saving.save)
    yield Bound(method=points.DIFF, handle=saving.diff)
    yield Bound(method=points.LOAD, handle=saving.load)
    yield Bound(method=points.DELETE, handle=saving.delete)
