"""Which rows a query means: the reference for what other databases say in SQL."""

from collections.abc import Iterable

from roost.core.deliveries import Delivery
from roost.core.exchanges import Completion
from roost.core.inbound import InboundRecord, InboundState
from roost.core.keys import SessionKey
from roost.core.queries import SessionQuery
from roost.core.runs import Run
from roost.core.sessions import Session
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


def owed_or_active(
    runs: Iterable[Run],
    inbound: Iterable[InboundRecord],
    deliveries: Iterable[Delivery],
    completions: Iterable[Completion],
) -> set[SessionKey]:
    """Sessions that still have work: running or queued, unread, undelivered, or owed an answer."""
    held = {run.key for run in runs if not run.state.ended}
    held |= {record.inbound.key for record in inbound if record.state is InboundState.PENDING}
    held |= {delivery.key for delivery in deliveries if not delivery.state.settled}
    for completion in completions:
        if completion.acknowledged_at is None:
            held |= {completion.requester, completion.child}
    return held
