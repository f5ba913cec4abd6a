"""Asks the channels about sends whose outcome nobody knows: at the start, and again while they can be asked.

What no channel can say stays uncertain and is shown; it is never sent again blindly.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias, assert_never

import anyio

from roost.core.addresses import Account
from roost.core.backoff import QUICK_MS, after_doubt, wait_ms
from roost.core.channels import Knowledge
from roost.core.deliveries import Delivery, DeliveryState, Postponed, SendResult
from roost.core.errors import Conflict, NotFound, RoostError
from roost.ports import Channel, Clock, Store
from roost.ports.limits import OutOfTime, within

MOST_UNCERTAIN = 10_000
LONGEST_ASK_MS = 3_000
EVERY_MS = QUICK_MS[0]

_Attempt: TypeAlias = tuple[str, int]
"""One send of a delivery: its id and fence."""

_log = logging.getLogger(__name__)


class Unasked(RoostError):
    """A channel could not be asked about its messages; they stay uncertain until it can."""

    code = "channel_unavailable"


class Reconciler:
    def __init__(
        self, store: Store, clock: Clock, channels: Mapping[Account, Channel], jitter: Callable[[], float]
    ) -> None:
        self._store = store
        self._clock = clock
        self._channels = channels
        self._jitter = jitter
        self._asked: dict[_Attempt, tuple[int, int]] = {}

    async def serve(self, looked: Callable[[], None]) -> None:
        """Ask until cancelled; `looked` is told after each time."""
        while True:
            try:
                await self.reconcile()
            finally:
                looked()
            await self._clock.sleep(EVERY_MS)

    async def reconcile(self) -> None:
        """Ask about what is due to be asked about; every channel that answers is heard, whatever raises at the end."""
        uncertain = await self._store.deliveries(DeliveryState.UNCERTAIN, MOST_UNCERTAIN)
        known = {_attempt(delivery) for delivery in uncertain}
        self._asked = {attempt: asked for attempt, asked in self._asked.items() if attempt in known}
        due: defaultdict[Account, list[Delivery]] = defaultdict(list)
        for delivery in uncertain:
            if self._due(delivery):
                due[delivery.address.served_by].append(delivery)
        silent: set[Account] = set()
        async with anyio.create_task_group() as group:
            for account, deliveries in due.items():
                group.start_soon(self._ask, account, deliveries, silent)
        if silent:
            names = ", ".join(sorted(str(account) for account in silent))
            raise Unasked(f"{names} could not be asked what was sent")

    def _due(self, delivery: Delivery) -> bool:
        channel = self._channels.get(delivery.address.served_by)
        if channel is None or not (channel.abilities.answers or channel.abilities.dedupes):
            return False
        _, again_at = self._asked.get(_attempt(delivery), (0, 0))
        return again_at <= self._clock.now()

    async def _ask(self, account: Account, deliveries: Sequence[Delivery], silent: set[Account]) -> None:
        channel = self._channels[account]
        for delivery in deliveries:
            try:
                known = await within(self._clock, LONGEST_ASK_MS, partial(channel.ask, delivery))
            except Exception as error:  # noqa: BLE001 — a channel that breaks must not keep the gateway from working
                _log.warning("channel %s could not be asked about %s: %r", account, delivery.id, error)
                silent.add(account)
                self._ask_later(delivery)
                if isinstance(error, OutOfTime):
                    return
                continue
            again = after_doubt(delivery, self._clock.now(), self._jitter())
            state = _fate(known, again, dedupes=channel.abilities.dedupes)
            if state is None:
                self._ask_later(delivery)
            else:
                at = again.ready_at if isinstance(again, Postponed) else self._clock.now()
                await self._resolve(delivery, state, at)

    def _ask_later(self, delivery: Delivery) -> None:
        times, _ = self._asked.get(_attempt(delivery), (0, 0))
        again_at = self._clock.now() + wait_ms(times + 1, self._jitter())
        self._asked[_attempt(delivery)] = (times + 1, again_at)

    async def _resolve(self, delivery: Delivery, state: DeliveryState, at: int) -> None:
        try:
            await self._store.resolve_delivery(delivery, state, at)
        except (Conflict, NotFound):
            _log.info("delivery %s was resolved by somebody else meanwhile", delivery.id)


def _attempt(delivery: Delivery) -> _Attempt:
    return delivery.id, delivery.fence


def _fate(known: Knowledge, again: SendResult, *, dedupes: bool) -> DeliveryState | None:
    """None leaves it uncertain; `again` says whether there is still time to send it."""
    in_time = isinstance(again, Postponed)
    match known:
        case Knowledge.SENT:
            return DeliveryState.CONFIRMED
        case Knowledge.NOT_SENT:
            return DeliveryState.INTENT if in_time else DeliveryState.FAILED
        case Knowledge.UNKNOWN:
            return DeliveryState.INTENT if dedupes and in_time else None
        case _:
            assert_never(known)
