"""What every group of verbs stands on: a way to read and a way to write in one transaction."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from roost.core.addresses import Account
from roost.core.deliveries import DeliveryState
from roost.core.errors import Fenced
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.runs import Claim
from roost.core.seals import Sealing, Seals
from roost.ports import Starter, Told, Topic, TopicKind
from roost.stores.codec import key_text
from roost.stores.tables import Tables
from roost.stores.topics import Topics
from roost.stores.unit import Unit
from roost.stores.waking import Waking

Answer = TypeVar("Answer")
Found = TypeVar("Found")
WriteVerb = Callable[[Unit], Coroutine[Any, Any, Answer]]
ReadVerb = Callable[[Tables], Coroutine[Any, Any, Answer]]


class Verbs(ABC):
    """Runs verbs on a database."""

    exclusive = True

    def __init__(self) -> None:
        self.topics = Topics()
        self._deliveries_ended: Counter[DeliveryState] = Counter()
        self._longest: Mapping[Account, int] = {}
        self._seals: Sealing = Seals({})
        self._starter: Starter | None = None

    def limit_messages(self, longest: Mapping[Account, int]) -> None:
        self._longest = dict(longest)

    def keep_out(self, secrets: Sealing) -> None:
        self._seals = secrets

    def starting(self, starter: Starter) -> AbstractContextManager[None]:
        return self._starting(starter)

    @contextmanager
    def _starting(self, starter: Starter) -> Iterator[None]:
        self._starter = starter
        try:
            yield
        finally:
            self._starter = None

    @abstractmethod
    async def _write(self, verb: WriteVerb[Answer]) -> Answer:
        """Run a verb and its flush in one durable transaction, then wake whom it names."""

    async def _write_unleased(self, verb: WriteVerb[Answer]) -> Answer:
        """Run a verb that acquires or releases a lease: what was lost cannot be needed for it."""
        return await self._write(verb)

    async def _write_first(self, verb: WriteVerb[Answer]) -> Answer:
        """Run a verb before those that wait: a lease runs out however much there is to do."""
        return await self._write(verb)

    @abstractmethod
    async def _read(self, verb: ReadVerb[Answer]) -> Answer:
        """Run a verb that changes nothing on a consistent view."""

    async def _look(self, verb: ReadVerb[Answer]) -> Answer:
        """The same for a verb that is one statement, which sees one state of things by itself."""
        return await self._read(verb)

    async def wait_for(self, topic: Topic, check: Callable[[], Awaitable[Found | None]]) -> Found:
        return await self.topics.wait_for(topic, check)

    def deliveries_ended(self) -> Mapping[DeliveryState, int]:
        return dict(self._deliveries_ended)

    def _told(self, waking: Waking) -> None:
        """After the commit."""
        self._deliveries_ended.update(waking.ended)
        self.topics.wake(waking.topics)

    def watch(self, key: SessionKey | None, told: Told) -> AbstractContextManager[None]:
        return self.topics.watching(Topic(TopicKind.SESSION, "" if key is None else key_text(key)), told)

    def watch_ends(self, told: Told) -> AbstractContextManager[None]:
        return self.topics.watching(Topic(TopicKind.RUN_ENDED), told)

    def watch_for(self, topic: Topic, news: Callable[[], None]) -> AbstractContextManager[None]:
        return self.topics.heeding(topic, news)


async def hold(unit: Unit, lease: Lease) -> int:
    """Refuse a gateway whose lease was lost or has run out; the moment at which it held it, by the database's clock."""
    return await held(unit, lease, await unit.tables.keep_lease(lease.gateway.name))


async def held(unit: Unit, lease: Lease, known: Lease | None) -> int:
    """The same for a lease that was looked at. Only now is it asked what time it is: whoever waited for the row may have
    waited too long."""
    now = await unit.tables.database_now()
    if (
        known is None
        or known.gateway.holder != lease.gateway.holder
        or known.epoch != lease.epoch
        or not known.live(now)
    ):
        raise Fenced(
            f"gateway {lease.gateway.name} no longer holds its lease of epoch {lease.epoch}",
            hint="stop this gateway's work and acquire a new lease",
        )
    return now


async def hold_alone(unit: Unit, lease: Lease) -> None:
    """The same, once whatever else goes on under it has ended: all that claims keeps the lease until then."""
    await held(unit, lease, await unit.tables.lock_lease(lease.gateway.name))


def unheard(claim: Claim | None, lease: Lease, known: Collection[Claim]) -> bool:
    """Whether a claim was made under a lease, and its holder does not know of it."""
    own = (lease.gateway.name, lease.epoch)
    return claim is not None and (claim.gateway, claim.epoch) == own and claim not in known
