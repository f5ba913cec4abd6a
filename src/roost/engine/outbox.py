"""Sends what waits to be sent: claimed, sent, settled; a send whose outcome nobody knows is never repeated blindly."""

import logging
from collections.abc import Callable, Mapping

import anyio

from roost.core.backoff import after_failure
from roost.core.channels import Knowledge
from roost.core.deliveries import (
    Delivery,
    DeliveryState,
    Postponed,
    Rejected,
    SendResult,
    Unknown,
)
from roost.core.leases import Lease
from roost.engine.intake import Intake
from roost.ports import Channel, Clock, Store, Topic, TopicKind

DELIVERIES = Topic(TopicKind.DELIVERIES)
AT_ONCE = 16
POLL_MS = 1_000

Place = tuple[str, str]

_log = logging.getLogger(__name__)


class Outbox:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        channels: Mapping[Place, Channel],
        jitter: Callable[[], float],
    ) -> None:
        self._store = store
        self._clock = clock
        self._channels = channels
        self._jitter = jitter
        self._intake: Intake[Delivery] = Intake(store, clock, DELIVERIES, most=AT_ONCE, poll_ms=POLL_MS)

    async def serve(self, lease: Lease) -> None:
        """Send until cancelled; a place that is slow to take a message keeps no other waiting."""

        async def claim(free: int) -> tuple[Delivery, ...]:
            return await self._store.claim_deliveries(lease, free)

        async with anyio.create_task_group() as group:

            def begin(delivery: Delivery) -> None:
                group.start_soon(self._send, delivery, name=f"delivery {delivery.id}")

            await self._intake.serve(claim, begin)

    async def reconcile(self, deliveries: tuple[Delivery, ...]) -> None:
        """Ask the channels about sends that were cut short; what they cannot say stays uncertain and is shown."""
        for delivery in deliveries:
            channel = self._channels.get((delivery.address.channel, delivery.address.account))
            if channel is None:
                continue
            now = self._clock.now()
            match await channel.ask(delivery):
                case Knowledge.SENT:
                    await self._store.resolve_delivery(delivery.id, DeliveryState.CONFIRMED, now)
                case Knowledge.NOT_SENT:
                    await self._store.resolve_delivery(delivery.id, DeliveryState.INTENT, now)
                case Knowledge.UNKNOWN if channel.abilities.dedupes:
                    await self._store.resolve_delivery(delivery.id, DeliveryState.INTENT, now)
                case Knowledge.UNKNOWN:
                    pass

    async def _send(self, delivery: Delivery) -> None:
        with self._intake.underway():
            if delivery.claim is not None:
                result = await self._result(delivery)
                with anyio.CancelScope(shield=True):
                    await self._store.settle_delivery(delivery.claim, result)

    async def _result(self, delivery: Delivery) -> SendResult:
        address = delivery.address
        channel = self._channels.get((address.channel, address.account))
        if channel is None:
            return Rejected(error=f"there is no channel {address.channel} with account {address.account}")
        try:
            result = await channel.send(delivery)
        except Exception as error:  # noqa: BLE001 — a channel that breaks must not end the gateway
            _log.exception("channel %s broke while sending %s", address.channel, delivery.id)
            return Unknown(error=f"the channel broke: {error!r}")
        if isinstance(result, Postponed):
            return after_failure(
                delivery, result.error, self._clock.now(), self._jitter(), not_before=result.ready_at
            )
        return result
