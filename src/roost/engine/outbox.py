"""Sends what waits to be sent: claimed, sent, settled; a send whose outcome nobody knows is never repeated blindly."""

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
)
from roost.core.leases import Lease
from roost.ports import Channel, Clock, Store, Topic, TopicKind

DELIVERIES = Topic(TopicKind.DELIVERIES)
AT_ONCE = 16
POLL_MS = 1_000

Place = tuple[str, str]


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

    async def serve(self, lease: Lease) -> None:
        """Send until cancelled."""
        while True:
            due = await self._next(lease)
            async with anyio.create_task_group() as group:
                for delivery in due:
                    group.start_soon(self._send, delivery, name=f"delivery {delivery.id}")

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

    async def _next(self, lease: Lease) -> tuple[Delivery, ...]:
        due: tuple[Delivery, ...] = ()

        async def claim() -> tuple[Delivery, ...] | None:
            return await self._store.claim_deliveries(lease, AT_ONCE) or None

        async with anyio.create_task_group() as group:

            async def poll() -> None:
                # One that was put off makes no news when its moment comes.
                await self._clock.sleep(POLL_MS)
                group.cancel_scope.cancel()

            group.start_soon(poll)
            due = await self._store.wait_for(DELIVERIES, claim)
            group.cancel_scope.cancel()
        return due

    async def _send(self, delivery: Delivery) -> None:
        if delivery.claim is None:
            return
        await self._store.settle_delivery(delivery.claim, await self._result(delivery))

    async def _result(self, delivery: Delivery) -> SendResult:
        address = delivery.address
        channel = self._channels.get((address.channel, address.account))
        if channel is None:
            return Rejected(error=f"there is no channel {address.channel} with account {address.account}")
        result = await channel.send(delivery)
        if isinstance(result, Postponed):
            return after_failure(
                delivery, result.error, self._clock.now(), self._jitter(), not_before=result.ready_at
            )
        return result
