"""An outgoing message as its channel takes it: in one part, or in several that follow each other."""

from collections.abc import Mapping
from dataclasses import replace

from roost.core.addresses import Account
from roost.core.deliveries import Delivery
from roost.core.notices import derived_id
from roost.core.splitting import split


def part_id(delivery_id: str, number: int) -> str:
    """The first keeps the id of the whole."""
    return derived_id(delivery_id, "part", str(number)) if number else delivery_id


def parts(delivery: Delivery, longest: Mapping[Account, int]) -> tuple[Delivery, ...]:
    """Where nobody knows how long a message may be, it stays whole."""
    limit = longest.get(delivery.address.served_by)
    if limit is None or len(delivery.text) <= limit:
        return (delivery,)
    texts = [part.text for part in split(delivery.text, limit) if part.text.strip()]
    return tuple(
        replace(delivery, id=part_id(delivery.id, number), text=text) for number, text in enumerate(texts)
    )
