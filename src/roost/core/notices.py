"""What the gateway itself says in a chat: one line, outside the transcript.

A notice takes its id from what it is about, so that saying it again is the same delivery.
"""

from collections.abc import Sequence
from uuid import UUID, uuid5

from roost.core.addresses import Address
from roost.core.deliveries import Delivery, DeliveryKind
from roost.core.effects import AddDelivery, Effects
from roost.core.keys import SessionKey
from roost.core.lifecycle import Stale, StaleReason

_NAMESPACE = UUID("6f1d9a52-3c07-5e3b-9a4e-2b8f0c6d7e11")


def derived_id(*parts: str) -> str:
    """The same id for the same parts, every time, and another one for any others."""
    return str(uuid5(_NAMESPACE, "".join(f"{len(part)}:{part}" for part in parts)))


def notice(
    key: SessionKey,
    address: Address | None,
    text: str,
    *,
    at: int,
    about: str,
    kind: DeliveryKind = DeliveryKind.NOTICE,
) -> Effects:
    """Tell the chat at `address`; without an address there is nobody to tell this way."""
    if address is None:
        return ()
    delivery = Delivery(
        id=derived_id("notice", about, text),
        key=key,
        address=address,
        kind=kind,
        text=text,
        created_at=at,
        ready_at=at,
    )
    return (AddDelivery(delivery=delivery),)


def announced(run_id: str, key: SessionKey, address: Address, text: str, *, at: int) -> AddDelivery:
    """Tell a chat what came of a run, once, whichever decision says it first."""
    delivery = Delivery(
        id=derived_id("announcement", run_id),
        key=key,
        address=address,
        kind=DeliveryKind.ANNOUNCE,
        text=text,
        created_at=at,
        ready_at=at,
        run_id=run_id,
    )
    return AddDelivery(delivery=delivery)


def reset_line(stale: Stale) -> str:
    """Why a conversation starts afresh, and the way back."""
    match stale.reason:
        case StaleReason.DAILY:
            why = f"daily reset at {stale.rule.at_hour:02}:00"
        case StaleReason.IDLE:
            why = f"{stale.rule.idle_minutes} minutes without a message"
        case _:
            why = "reset by the operator"
    return f"New conversation ({why}). Send /back to return to the previous one."


def dropped_line(excerpts: Sequence[str], cap: int) -> str:
    """Messages that fell out of a full queue."""
    return f"Not answered, too many messages were waiting (limit {cap}):{_quoted(excerpts)}"


def cleared_line(excerpts: Sequence[str], why: str) -> str:
    """Messages that were waiting when the queue was emptied."""
    return f"Not answered ({why}):{_quoted(excerpts)}"


def _quoted(excerpts: Sequence[str]) -> str:
    return f" {excerpts[0]}" if len(excerpts) == 1 else "".join(f"\n- {one}" for one in excerpts)


INTERRUPTED_LINE = (
    "The gateway stopped while answering and could not go on. Send your message again if it still matters."
)
