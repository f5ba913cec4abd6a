"""Gives what an earlier life of the gateway left unfinished its fate: runs, and sends that were cut short."""

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeAlias, assert_never

import anyio

from roost.core import recovery
from roost.core.addresses import Account
from roost.core.channels import Knowledge
from roost.core.deliveries import Delivery, DeliveryState
from roost.core.effects import Effects, RunSnapshot
from roost.core.errors import Conflict, Fenced, NotFound, RoostError
from roost.core.leases import Lease
from roost.core.recovery import Recovery
from roost.engine.limits import within
from roost.engine.rulebook import Rulebook
from roost.engine.runner import announcement
from roost.ports import Channel, Clock, Store

MOST_UNCERTAIN = 10_000
LONGEST_ASK_MS = 3_000

Answers: TypeAlias = dict[str, Knowledge]

_log = logging.getLogger(__name__)


class Unasked(RoostError):
    """A channel could not be asked about its messages; they stay uncertain until it can."""

    code = "channel_unavailable"


class Recoverer:
    def __init__(
        self, store: Store, clock: Clock, book: Rulebook, channels: Mapping[Account, Channel]
    ) -> None:
        self._store = store
        self._clock = clock
        self._book = book
        self._channels = channels

    async def recover(self, lease: Lease) -> None:
        """Everything that can be given its fate has it, whatever raises at the end. May be done again."""
        failures: list[RoostError] = []
        for step in (self._reap_runs, self._wake_parked, self._reap_deliveries, self._reconcile):
            try:
                await step(lease)
            except Fenced:
                raise
            except RoostError as error:
                failures.append(error)
        if failures:
            raise failures[0]

    async def _reap_runs(self, lease: Lease) -> None:
        rules = self._book.current
        decided = Recovery(
            now=self._clock.now(),
            announce=announcement,
            max_age_ms=rules.house.recovery_max_age_ms,
            policy=rules.sending,
        )

        def recover(snapshot: RunSnapshot) -> Effects:
            return recovery.recover(snapshot, decided)

        await self._store.reap_runs(lease, recover)

    async def _wake_parked(self, lease: Lease) -> None:
        # The limits may have been raised since: each is asked again, and none is told again.
        await self._store.wake_parked(lease)

    async def _reap_deliveries(self, lease: Lease) -> None:
        await self._store.reap_deliveries(lease)

    async def _reconcile(self, lease: Lease) -> None:
        """Ask the channels about sends that were cut short; what they cannot say stays uncertain and is shown."""
        # All of them: a start that was cut short here may have left some that nobody was asked about.
        uncertain = await self._store.deliveries(DeliveryState.UNCERTAIN, MOST_UNCERTAIN)
        asked: defaultdict[Account, list[Delivery]] = defaultdict(list)
        for delivery in uncertain:
            if delivery.address.served_by in self._channels:
                asked[delivery.address.served_by].append(delivery)
        answers: Answers = {}
        silent: list[Account] = []
        async with anyio.create_task_group() as group:
            for account, deliveries in asked.items():
                group.start_soon(self._ask, account, deliveries, answers, silent)
        for delivery in uncertain:
            await self._resolve(delivery, answers.get(delivery.id))
        if silent:
            names = ", ".join(sorted(str(account) for account in silent))
            raise Unasked(f"{names} could not be asked what was sent")

    async def _ask(
        self, account: Account, deliveries: Sequence[Delivery], answers: Answers, silent: list[Account]
    ) -> None:
        channel = self._channels[account]
        for delivery in deliveries:
            try:
                answers[delivery.id] = await within(
                    self._clock, LONGEST_ASK_MS, partial(channel.ask, delivery)
                )
            except Exception as error:  # noqa: BLE001 — a channel that breaks must not keep the gateway from starting
                _log.warning("channel %s could not be asked about %s: %r", account, delivery.id, error)
                silent.append(account)
                return

    async def _resolve(self, delivery: Delivery, known: Knowledge | None) -> None:
        if known is None:
            return
        state = _fate(known, dedupes=self._channels[delivery.address.served_by].abilities.dedupes)
        if state is None:
            return
        try:
            await self._store.resolve_delivery(delivery.id, state, self._clock.now())
        except (Conflict, NotFound):
            _log.info("delivery %s was resolved by somebody else meanwhile", delivery.id)


def _fate(known: Knowledge, *, dedupes: bool) -> DeliveryState | None:
    """None leaves it uncertain."""
    match known:
        case Knowledge.SENT:
            return DeliveryState.CONFIRMED
        case Knowledge.NOT_SENT:
            return DeliveryState.INTENT
        case Knowledge.UNKNOWN:
            return DeliveryState.INTENT if dedupes else None
        case _:
            assert_never(known)
