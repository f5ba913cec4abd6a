"""Carries messages to sessions of other gateways, and what is answered there back.

A message is its row. Whoever takes it up after a crash says the same again under the same name, and where several
gateways serve one store each of them does: the other gateway answers it once, and its first end here counts.
"""

import logging
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial

import anyio

from roost.core import carrying
from roost.core.errors import Fenced, InvalidInput, RoostError
from roost.core.exchanges import Exchange
from roost.core.remotes import RemoteSession, Taken, unknown
from roost.core.restarts import restart_ms
from roost.core.snapshots import DecideExchange
from roost.engine.intake import Intake, Source
from roost.engine.keeping import until_kept
from roost.engine.rulebook import Rulebook
from roost.ports import Clock, Store, Topic, TopicKind, Unreached
from roost.ports.limits import OutOfTime, watched

# Under way to one gateway: one that takes nothing must hold up no message to another.
EACH = 64
POLL_MS = 30_000
BROKEN = "something broke in the gateway"

_log = logging.getLogger(__name__)


class Couriers:
    def __init__(self, store: Store, clock: Clock, book: Rulebook, jitter: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._book = book
        self._jitter = jitter

    async def serve(self) -> None:
        """Carry whatever waits for it, until cancelled."""
        under_way: dict[str, str] = {}
        topic = Topic(TopicKind.REMOTES)
        intake = Intake[Exchange](self._store, self._clock, topic, most=sys.maxsize, poll_ms=POLL_MS)

        async def waiting(_: int) -> tuple[Exchange, ...]:
            # As it is before the store is asked: what ends meanwhile may still be among what is found.
            places = dict(under_way)
            full = {gateway for gateway, count in Counter(places.values()).items() if count >= EACH}
            most = len(places) + EACH
            found = await self._store.remote_exchanges(most, full)
            if len(found) == most:
                intake.look_again()
            return _fitting(found, places)

        async def carry(exchange: Exchange) -> None:
            with intake.underway():
                try:
                    await self._carry(exchange)
                finally:
                    del under_way[exchange.id]
                    intake.look_again()

        async with anyio.create_task_group() as group:

            def begin(exchange: Exchange) -> None:
                under_way[exchange.id] = _remote(exchange).gateway
                group.start_soon(carry, exchange)

            await intake.serve(Source(claim=waiting, begin=begin, unclaim=_nothing))

    async def _carry(self, exchange: Exchange) -> None:
        """To its end, which is kept."""
        decide = await self._end(exchange)
        try:
            ended = await self._keep(exchange, decide)
        except InvalidInput as error:
            unkept = partial(carrying.failed, error=str(error), at=self._clock.now())
            ended = await self._keep(exchange, unkept)
        _log.info("message %s to %s is %s", exchange.id, exchange.addressee, ended and ended.state)

    async def _end(self, exchange: Exchange) -> DecideExchange:
        """What came of it: an answer, a refusal, or the end of its time."""
        deadline = exchange.deadline or 0
        trouble: str | None = None
        failures = 0

        async def try_on() -> str | None:
            nonlocal trouble, failures
            while (left := deadline - self._clock.now()) > 0:
                try:
                    return await self._attempt(exchange, left)
                except Unreached as error:
                    trouble = str(error)
                failures += 1
                await self._clock.sleep(restart_ms(failures, self._jitter()))
            raise OutOfTime(carrying.UNANSWERED)

        try:
            reply = await watched(self._clock, lambda: deadline - self._clock.now(), try_on)
        except Fenced:
            raise
        except OutOfTime:
            return partial(carrying.expired, trouble=trouble, at=self._clock.now())
        except RoostError as error:
            return partial(carrying.failed, error=str(error), at=self._clock.now())
        except Exception:  # noqa: BLE001 — one message that breaks something must not hold up the others
            _log.exception("message %s could not be carried", exchange.id)
            return partial(carrying.failed, error=BROKEN, at=self._clock.now())
        return partial(carrying.answered, reply=reply, at=self._clock.now())

    async def _attempt(self, exchange: Exchange, left: int) -> str | None:
        target, remotes = _remote(exchange), self._book.current.house.remotes
        remote = remotes.get(target.gateway)
        if remote is None:
            # Another gateway on this store may know it, and be carrying the message already.
            raise Unreached(str(unknown(target, remotes)))

        async def taken(by: Taken) -> None:
            await self._keep(exchange, partial(carrying.taken, by=by))

        return await remote.carry(exchange, left, taken)

    async def _keep(self, exchange: Exchange, decide: DecideExchange) -> Exchange | None:
        write: Callable[[], Awaitable[Exchange | None]]
        write = partial(self._store.change_exchange, exchange.id, decide)
        return await until_kept(self._clock, write)


def _remote(exchange: Exchange) -> RemoteSession:
    remote = exchange.sent.remote
    assert remote is not None, "only what goes to another gateway is carried"
    return remote


def _fitting(found: Iterable[Exchange], places: Mapping[str, str]) -> tuple[Exchange, ...]:
    """Of those without a place the ones whose gateway has one left."""
    taken, fitting = Counter(places.values()), list[Exchange]()
    for one in found:
        gateway = _remote(one).gateway
        if one.id not in places and taken[gateway] < EACH:
            taken[gateway] += 1
            fitting.append(one)
    return tuple(fitting)


async def _nothing() -> None:
    """Nothing is claimed: what was not heard of is still there."""
