"""Which rows a query means: the reference for what other databases say in SQL."""

from collections.abc import Collection, Iterable

from roost.core.deliveries import Delivery, DeliveryState
from roost.core.exchanges import Completion, Exchange, Phase, Receipt
from roost.core.inbound import InboundRecord, InboundState
from roost.core.keys import SessionKey
from roost.core.ledger import Denial
from roost.core.queries import DenialQuery, SessionQuery
from roost.core.runs import Run
from roost.core.sessions import Generation, Session
from roost.core.visibility import Target, VisibleScope
from roost.stores.names import haystack


def in_scope(session: Session, ancestors: tuple[SessionKey, ...], scope: VisibleScope) -> bool:
    return scope.admits(
        Target(key=session.key, agent=session.key.agent, owner=session.owner, ancestors=ancestors)
    )


def wanted(session: Session, query: SessionQuery) -> bool:
    times = session.times
    return (
        (query.kinds is None or session.facts.kind in query.kinds)
        and query.agent in (None, session.key.agent)
        and query.label in (None, session.labels.label)
        and (query.keys is None or session.key in query.keys)
        and (query.parents is None or session.lineage.parent in query.parents)
        and session.key.kind not in query.hidden
        and (query.archived is None or query.archived == (times.archived is not None))
        and (query.active_since is None or times.updated >= query.active_since)
        and (query.search is None or query.search.casefold() in haystack(session))
    )


def meant(denial: Denial, query: DenialQuery) -> bool:
    return (
        (query.told is None or (query.told == denial.principal and not denial.hidden))
        and query.caller in (None, denial.caller)
        and (not query.at_door or denial.caller is None)
        and query.operation in (None, denial.operation)
        and query.target in (None, denial.target)
    )


def owed_or_active(
    runs: Iterable[Run],
    inbound: Iterable[InboundRecord],
    deliveries: Iterable[Delivery],
    completions: Iterable[Completion],
) -> set[SessionKey]:
    """Sessions that still have work: running or queued, unread, undelivered, or owed an answer."""
    held = {run.key for run in runs if not run.state.ended}
    held |= {
        record.inbound.key for record in inbound if record.state is InboundState.PENDING and record.run_id
    }
    held |= {delivery.key for delivery in deliveries if not delivery.state.settled}
    for completion in completions:
        if completion.acknowledged_at is None:
            held |= {completion.requester, completion.child}
    return held


def forked(generations: Iterable[Generation]) -> set[tuple[SessionKey, SessionKey]]:
    """Each session that another one goes on from, with that one."""
    every = {one.session_id: one for one in generations}
    bases = [(every.get(one.base.session_id), one) for one in every.values() if one.base]
    return {(base.key, one.key) for base, one in bases if base is not None and base.key != one.key}


def unarrived_or_under_way(deliveries: Iterable[Delivery], exchanges: Iterable[Exchange]) -> set[SessionKey]:
    """Sessions with a letter that did not arrive, or with an exchange that has not ended."""
    needed = {delivery.key for delivery in deliveries if delivery.state is DeliveryState.FAILED}
    for exchange in exchanges:
        if exchange.phase is not Phase.DONE:
            needed |= {exchange.requester, exchange.target}
    return needed


def settled_run(run: Run, before: int) -> bool:
    return run.outcome is not None and max(run.ready_at, run.outcome.at) < before


def overdue(runs: Iterable[Run], now: int) -> list[Run]:
    """Those that were to be gone on with by now, earliest first."""
    waiting = [(run.outcome.until, run) for run in runs if run.outcome and run.outcome.until is not None]
    return [run for until, run in sorted(waiting, key=lambda one: one[0]) if until <= now]


def settled_delivery(delivery: Delivery, before: int) -> bool:
    return delivery.state.settled and max(delivery.created_at, delivery.ready_at) < before


def under_way_beyond(exchange: Exchange, but_to: Collection[str]) -> bool:
    remote = exchange.sent.remote
    return remote is not None and remote.gateway not in but_to and exchange.phase is not Phase.DONE


def goes_with(exchange: Exchange, key: SessionKey) -> bool:
    """Whether it goes with a session: a message to it that died stays, for its sender to ask about."""
    dead = exchange.receipt is Receipt.DEAD
    return exchange.requester == key or (exchange.target == key and not dead)


def settled_exchange(exchange: Exchange, before: int) -> bool:
    return exchange.phase is Phase.DONE and exchange.created_at < before


def heard_batches(completions: Iterable[Completion], before: int) -> set[tuple[SessionKey, str]]:
    """Runs whose children were all heard of before a moment."""
    every = list(completions)
    late = {
        (one.requester, one.batch)
        for one in every
        if one.acknowledged_at is None or one.acknowledged_at >= before
    }
    return {(one.requester, one.batch) for one in every} - late
