"""An announcement that its chat never got: the session that it came from is told, for its chat cannot be."""

from collections.abc import Iterable

from roost.core.backoff import EXPIRED
from roost.core.deliveries import Delivery, DeliveryKind, DeliveryState
from roost.core.effects import AppendEntries, Effects
from roost.core.entries import EntryDraft
from roost.core.messages import Provenance, ProvenanceKind, Text, UserMessage
from roost.core.notices import derived_id
from roost.core.principals import Principal
from roost.core.runs import Run


def is_lost(was: Delivery, now: Delivery) -> bool:
    """Whether an announcement, or a part of one, is given up now."""
    announced = now.kind is DeliveryKind.ANNOUNCE
    return announced and now.state is DeliveryState.FAILED and was.state is not now.state


def told_of_failure(
    now: Delivery, failed: Iterable[Delivery], said_by: Run | None, owner: Principal, at: int
) -> Effects:
    """What follows from an announcement being given up, once for all parts of it. `failed` are those of its session that
    are given up already, `said_by` is the run that it speaks of, unless that was removed."""
    if any(_is_part_with(now, other) for other in failed):
        return ()
    source = str(said_by.key) if said_by and said_by.key != now.key else None
    provenance = Provenance(
        kind=ProvenanceKind.SYSTEM,
        principal=said_by.cause.principal if said_by else owner,
        source_session=source,
    )
    told = UserMessage(content=(Text(_line(now, source)),), at=at, provenance=provenance)
    # Who sends it again may be told again.
    entry = EntryDraft(id=derived_id("undelivered", now.id, str(now.fence)), body=told)
    return (AppendEntries(key=now.key, drafts=(entry,)),)


def _is_part_with(now: Delivery, other: Delivery) -> bool:
    same = (other.kind, other.address, other.created_at) == (now.kind, now.address, now.created_at)
    return same and other.id != now.id and other.run_id == now.run_id is not None


def _line(delivery: Delivery, source: str | None) -> str:
    # What the channel said of it is not the gateway's word: it stays with the delivery.
    expired = (delivery.error or "").startswith(f"{EXPIRED}:")
    what = f"How {source} ended" if source else "What was announced here"
    why = "its time to be sent is over" if expired else "it could not be sent"
    return (
        f"{what} was not told in the chat on {delivery.address.channel}: {why}. Nobody there has read it. "
        "`roost deliveries list` says more, `roost deliveries retry` sends it again."
    )
