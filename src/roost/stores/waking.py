"""Whom a transaction wakes once it is committed, and what it ended."""

from collections import Counter

from roost.core.deliveries import DeliveryState
from roost.core.keys import SessionKey
from roost.ports import Topic, TopicKind
from roost.stores.codec import key_text
from roost.stores.tables import Tables

RUNS = Topic(TopicKind.RUNS)
RUNS_DUE = Topic(TopicKind.RUNS_DUE)
STOPS = Topic(TopicKind.STOPS)
DELIVERIES = Topic(TopicKind.DELIVERIES)
DELIVERIES_DUE = Topic(TopicKind.DELIVERIES_DUE)
JOBS = Topic(TopicKind.JOBS)
REMOTES = Topic(TopicKind.REMOTES)
GUESTS = Topic(TopicKind.GUESTS)


class Waking:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self.topics: set[Topic] = set()
        self.ended: Counter[DeliveryState] = Counter()

    def session_changed(self, key: SessionKey) -> None:
        self.topics.add(Topic(TopicKind.SESSION, key_text(key)))

    def run_due(self) -> None:
        """A run may be taken up that could not be before."""
        self.topics |= {RUNS, RUNS_DUE}

    def nothing_due(self) -> None:
        """What could be taken up has been."""
        self.topics.discard(RUNS_DUE)

    def stop_asked(self) -> None:
        """A run was asked to end, which may be under way anywhere; one that waits may end now."""
        self.topics.add(STOPS)
        self.run_due()

    def run_ended(self, key: SessionKey) -> None:
        self.topics.add(Topic(TopicKind.RUN_ENDED, key_text(key)))

    async def run_left(self) -> None:
        """A run has left its place, to whoever waits for one."""
        self.topics.add(RUNS)
        if await self._tables.queued_runs(1):
            self.topics.add(RUNS_DUE)

    def delivery_due(self) -> None:
        self.topics |= {DELIVERIES, DELIVERIES_DUE}

    async def delivery_left(self) -> None:
        """A delivery has left its place, to whoever waits for one or for its address."""
        self.topics.add(DELIVERIES)
        if await self._tables.deliveries_wait():
            self.topics.add(DELIVERIES_DUE)

    def delivery_ended(self, state: DeliveryState) -> None:
        self.ended[state] += 1

    def job_changed(self) -> None:
        self.topics.add(JOBS)

    def remote_due(self) -> None:
        """There is a message for another gateway."""
        self.topics.add(REMOTES)

    def guests_changed(self) -> None:
        self.topics.add(GUESTS)
