"""Web addresses as places to send to: what is sent is posted there as JSON. Nobody writes from there."""

import anyio
import orjson

from roost.core.addresses import DEFAULT_ACCOUNT
from roost.core.channels import ChannelAbilities, Knowledge
from roost.core.deliveries import Confirmed, Delivery, Postponed, Rejected, SendResult, Unknown
from roost.core.errors import RoostError
from roost.core.occasions import WEBHOOK
from roost.ports import Egress, Receive, Unanswered, Unreached

LONGEST = 1_000_000
# Taken, and what came of it is said elsewhere.
_SEE_OTHER = 303
_TAKEN = frozenset({*range(200, 300), _SEE_OTHER})
_LATER = frozenset({425, 429, 503})
# Who answers so may have taken it, or stand before one who did.
_UNCLEAR = frozenset({408, *range(500, 600)})


class WebhookChannel:
    """Who is posted to can tell a message that comes again by its `Idempotency-Key`."""

    name = WEBHOOK
    account = DEFAULT_ACCOUNT
    abilities = ChannelAbilities(longest=LONGEST)

    def __init__(self, egress: Egress) -> None:
        self._egress = egress

    async def run(self, receive: Receive) -> None:
        await anyio.sleep_forever()

    async def send(self, delivery: Delivery) -> SendResult:
        headers = {"Content-Type": "application/json", "Idempotency-Key": delivery.id}
        try:
            status = await self._egress.post(delivery.address.to, _body(delivery), headers)
        except Unreached as error:
            return Postponed(ready_at=0, error=str(error))
        except Unanswered as error:
            return Unknown(error=str(error))
        except RoostError as error:
            return Rejected(error=str(error))
        if status in _TAKEN:
            return Confirmed(receipt=str(status))
        if status in _LATER:
            return Postponed(ready_at=0, error=f"it answered {status}")
        if status in _UNCLEAR:
            return Unknown(error=f"it answered {status}")
        return Rejected(error=f"it answered {status}")

    async def ask(self, delivery: Delivery) -> Knowledge:
        return Knowledge.UNKNOWN


def _body(delivery: Delivery) -> bytes:
    return orjson.dumps(
        {
            "id": delivery.id,
            "kind": str(delivery.kind),
            "sessionKey": str(delivery.key),
            "runId": delivery.run_id,
            "text": delivery.text,
            "createdAtMs": delivery.created_at,
        }
    )
