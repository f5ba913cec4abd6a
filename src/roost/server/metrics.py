"""How the gateway does, in figures that a Prometheus server reads. Few series, and none that names a session."""

from collections import deque
from collections.abc import Mapping

import anyio
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_1_0_0

from roost.core.deliveries import DeliveryState
from roost.core.leases import Lease
from roost.core.runs import Run, RunState
from roost.core.workload import UNDONE, Workload
from roost.ports import Clock

CONTENT_TYPE = CONTENT_TYPE_PLAIN_1_0_0
LOOK_MS = 500
REMEMBERED = 120
ENDS = tuple(state for state in DeliveryState if state.settled)
_LAGS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0)
_TIMES = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)


class Lag:
    """How late the event loop comes to what is due, in seconds: last time, and the most in about a minute."""

    def __init__(self) -> None:
        self._seen: deque[float] = deque(maxlen=REMEMBERED)

    def add(self, late: float) -> None:
        self._seen.append(late)

    @property
    def last(self) -> float:
        return self._seen[-1] if self._seen else 0.0

    @property
    def most(self) -> float:
        return max(self._seen, default=0.0)


class Meters:
    def __init__(self) -> None:
        self.lag = Lag()
        self._registry = own = CollectorRegistry()
        self._lags = Histogram(
            "roost_event_loop_lag_seconds", "How late the event loop is.", buckets=_LAGS, registry=own
        )
        self._turns = Histogram(
            "roost_run_seconds",
            "From the start of a run to its end.",
            ("kind", "state"),
            buckets=_TIMES,
            registry=own,
        )
        self._waits = Histogram(
            "roost_run_wait_seconds",
            "From a run's queueing to its start.",
            buckets=_TIMES,
            registry=own,
        )
        self._runs = Gauge("roost_runs", "Runs that have not ended.", ("state",), registry=own)
        self._deliveries = Gauge(
            "roost_deliveries", "Messages that have not arrived, by state.", ("state",), registry=own
        )
        self._waiting = Gauge(
            "roost_messages_waiting", "Messages that were taken in and that no run has read.", registry=own
        )
        self._ended = Counter(
            "roost_deliveries_ended",
            "Deliveries that came to their end here, by how.",
            ("state",),
            registry=own,
        )
        self._ends = dict.fromkeys(ENDS, 0)
        self._leases = Gauge("roost_leases", "Gateways that hold a lease.", registry=own)
        self._connections = Gauge("roost_connections", "Clients that are in.", registry=own)
        self._turned_away = Counter(
            "roost_turned_away", "Who was not let in, by the code of the refusal.", ("code",), registry=own
        )

    def turned_away(self, code: str) -> None:
        """Somebody was not let in."""
        self._turned_away.labels(code).inc()

    def over(self, run: Run) -> None:
        """A run has ended."""
        if run.outcome is None or run.started_at is None:
            return
        labels = (str(run.request.kind), str(run.outcome.state))
        self._turns.labels(*labels).observe(max(0, run.outcome.at - run.started_at) / 1000)
        self._waits.observe(max(0, run.started_at - run.queued_at) / 1000)

    async def watch(self, clock: Clock) -> None:
        """Look at the event loop until cancelled."""
        while True:
            before = anyio.current_time()
            await clock.sleep(LOOK_MS)
            late = max(0.0, anyio.current_time() - before - LOOK_MS / 1000)
            self.lag.add(late)
            self._lags.observe(late)

    def ended(self, deliveries: Mapping[DeliveryState, int]) -> None:
        """So many have come to their end by now."""
        for state, before in self._ends.items():
            self._ends[state] = deliveries.get(state, 0)
            self._ended.labels(str(state)).inc(self._ends[state] - before)

    async def text(self, work: Workload, leases: tuple[Lease, ...], connections: int, now: int) -> bytes:
        """All figures; written beside the event loop."""
        for state in (RunState.QUEUED, RunState.RUNNING):
            self._runs.labels(str(state)).set(work.runs.get(state, 0))
        for sent in UNDONE:
            self._deliveries.labels(str(sent)).set(work.deliveries.get(sent, 0))
        self._waiting.set(work.waiting)
        self._leases.set(sum(lease.live(now) for lease in leases))
        self._connections.set(connections)
        return await anyio.to_thread.run_sync(generate_latest, self._registry)
