"""Sends what waits to be sent: claimed, sent, settled; a send whose outcome nobody knows is never repeated blindly."""

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint_if_cancelled

from roost.core.addresses import Account
from roost.core.backoff import after_failure
from roost.core.channels import Knowledge
from roost.core.deliveries import Confirmed, Delivery, Postponed, Rejected, SendResult, Unknown
from roost.core.errors import Fenced, RoostError
from roost.core.leases import RENEW_MS, Lease
from roost.core.runs import Claim
from roost.engine.intake import Intake, Source
from roost.engine.keeping import until_kept
from roost.engine.rulebook import Rulebook
from roost.engine.tracing import traced_delivery
from roost.ports import Channel, Clock, Store, Topic, TopicKind
from roost.ports.limits import OutOfTime, within

DELIVERIES = Topic(TopicKind.DELIVERIES)
DUE = Topic(TopicKind.DELIVERIES_DUE)
AT_ONCE = 16
POLL_MS = 1_000
LONGEST_SEND_MS = 60_000
UNTRIED = "the gateway ended before it was sent"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """A delivery that was claimed no earlier than `at`, under a lease."""

    delivery: Delivery
    lease: Lease
    at: int


class Outbox:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        book: Rulebook,
        channels: Mapping[Account, Channel],
        jitter: Callable[[], float],
        unserved: Callable[[], frozenset[Account]] = frozenset,
    ) -> None:
        self._store = store
        self._clock = clock
        self._book = book
        self._channels = channels
        self._jitter = jitter
        self._unserved = unserved
        self._sending: Counter[Account] = Counter()
        self._held: set[Claim] = set()
        # Room for every channel to be full, and for what is addressed to none.
        most = 2 * AT_ONCE * (len(channels) + 1)
        self._intake: Intake[_Taken] = Intake(store, clock, DUE, most=most, poll_ms=POLL_MS)

    async def serve(self, lease: Lease, group: TaskGroup) -> None:
        """Send in a task group until cancelled; a channel that is slow to take messages keeps no other waiting."""

        async def claim(free: int) -> tuple[_Taken, ...]:
            full = frozenset(account for account, number in self._sending.items() if number >= AT_ONCE)
            at = self._clock.now()
            judge, without = self._book.current.judge, full | self._unserved()
            claimed = await self._store.claim_deliveries(
                lease, min(free, AT_ONCE), judge=judge, without=without
            )
            return tuple(_Taken(delivery=delivery, lease=lease, at=at) for delivery in claimed)

        def begin(taken: _Taken) -> None:
            self._held.add(_claim(taken.delivery))
            # Counted before it begins: the next claim must not find room that is taken.
            self._sending[taken.delivery.address.served_by] += 1
            group.start_soon(self._send, taken, name=f"delivery {taken.delivery.id}")

        async def unclaim() -> None:
            for delivery in await self._store.unclaim_deliveries(lease, self._held):
                _log.warning("delivery %s was taken unheard, and waits again", delivery.id)

        await self._intake.serve(Source(claim=claim, begin=begin, unclaim=unclaim))

    async def rest(self) -> None:
        """Return once nothing is being sent."""
        await self._intake.rest()

    async def _send(self, taken: _Taken) -> None:
        delivery = taken.delivery
        results: list[SendResult] = [Postponed(ready_at=taken.at, error=UNTRIED)]
        with self._intake.underway():
            try:
                await checkpoint_if_cancelled()
                ours = await self._still_ours(taken)
                results.clear()
                if ours:
                    results.append(await self._result(delivery, results.append))
            finally:
                # Also when the gateway ends just then: what the channel said, or was not asked, must not become uncertain.
                self._sending[delivery.address.served_by] -= 1
                if results:
                    await self._settle(delivery, results[0])

    async def _still_ours(self, taken: _Taken) -> bool:
        """A gateway that was stopped for a while asks: another one may have found that this was never sent, and sent it."""
        if self._clock.now() - taken.at <= RENEW_MS:
            return True
        try:
            await until_kept(self._clock, partial(self._store.renew_lease, taken.lease))
        except Fenced:
            _log.warning("delivery %s is left to who has the store now", taken.delivery.id)
            return False
        return True

    async def _settle(self, delivery: Delivery, result: SendResult) -> None:
        claim = _claim(delivery)
        try:
            settled = await until_kept(self._clock, partial(self._store.settle_delivery, claim, result))
        except RoostError as error:
            # Not ours any more, or not to be written: its next holder finds it as one that nobody knows about.
            _log.error(
                "what became of delivery %s could not be kept: %s",
                delivery.id,
                error,
                extra={"run": delivery.run_id},
            )
            return
        self._held.remove(claim)
        if _log.isEnabledFor(logging.INFO):
            named = await traced_delivery(self._store, settled)
            _log.info("delivery %s is %s", settled.id, settled.state, extra=named)

    async def _result(self, delivery: Delivery, told: Callable[[SendResult], None]) -> SendResult:
        """What became of it; `told` hears it as soon as the channel says so."""
        account = delivery.address.served_by
        channel = self._channels.get(account)
        if channel is None:
            return Rejected(error=f"there is no channel {account.channel} with account {account.account}")

        async def send() -> SendResult:
            known = await self._asked(channel, delivery)
            result = known or self._judged(channel, delivery, await channel.send(delivery))
            told(result)
            return result

        try:
            return await within(self._clock, LONGEST_SEND_MS, send)
        except OutOfTime:
            error = f"the channel did not answer for {LONGEST_SEND_MS // 1000} s"
        except Exception as broken:  # noqa: BLE001 — a channel that breaks must not end the gateway
            _log.exception("channel %s broke while sending %s", account, delivery.id)
            error = f"the channel broke: {broken!r}"
        return self._judged(channel, delivery, Unknown(error=error))

    async def _asked(self, channel: Channel, delivery: Delivery) -> SendResult | None:
        """What is known of an earlier attempt, before another one: it may have arrived after all."""
        if delivery.attempts <= 1 or channel.abilities.dedupes or not channel.abilities.answers:
            return None
        match await channel.ask(delivery):
            case Knowledge.SENT:
                return Confirmed()
            case Knowledge.NOT_SENT:
                return None
            case Knowledge.UNKNOWN:
                return Unknown(error=delivery.error or "the channel does not know")

    def _judged(self, channel: Channel, delivery: Delivery, result: SendResult) -> SendResult:
        """What cannot be sent now waits before all that comes after it; so does what nobody knows about, where that does
        no harm or can be asked before it is sent again."""
        now, jitter = self._clock.now(), self._jitter()
        match result:
            case Postponed():
                return after_failure(delivery, result.error, now, jitter, not_before=result.ready_at)
            case Unknown() if channel.abilities.dedupes or channel.abilities.answers:
                again = after_failure(delivery, result.error, now, jitter)
                return again if isinstance(again, Postponed) else result
            case _:
                return result


def _claim(delivery: Delivery) -> Claim:
    assert delivery.claim is not None, "what is being sent is claimed"
    return delivery.claim
