"""Ports that break at a chosen call, so that a gateway can be stopped at every point without points in its code.

One `Crashes` may be shared by several ports: their calls are then counted as one row.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn, ParamSpec, TypeVar

from roost.core.channels import ChannelAbilities
from roost.core.models import ModelEvent, ModelRequest
from roost.ports import Channel, Model, Receive, Store

P = ParamSpec("P")
R = TypeVar("R")


class Crashed(BaseException):
    """The end of a process, played within it: nothing that handles errors may handle it."""


class Moment(StrEnum):
    """`BEFORE` a call: nothing of it was done. `AFTER` it: all of it was done, and the caller never heard."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashPoint:
    """The n-th call from now on, of any kind or of one (`store.append`).

    If it lasts, no later call gets through: a process that is gone does not tidy up.
    """

    at: int
    moment: Moment
    call: str | None = None
    lasts: bool = True


def raising(error: BaseException) -> Callable[[], NoReturn]:
    """A strike that raises; to end the process instead, strike with a function that exits."""

    def strike() -> NoReturn:
        raise error

    return strike


class Crashes:
    """Counts calls and strikes at the chosen point; without a point it only counts."""

    def __init__(self, point: CrashPoint | None = None, strike: Callable[[], NoReturn] | None = None) -> None:
        self._point = point
        self._strike = strike or raising(Crashed())
        self._calls: list[str] = []
        self._counted = 0
        self._struck = False

    @property
    def calls(self) -> tuple[str, ...]:
        """Every call that was begun, in order."""
        return tuple(self._calls)

    @property
    def struck(self) -> bool:
        return self._struck

    @contextmanager
    def call(self, name: str) -> Iterator[None]:
        """One call; what is in the block is the call itself."""
        self._calls.append(name)
        point = self._point
        if point is not None and self._struck and point.lasts:
            self._strike()
        moment = self._moment(name)
        if moment is Moment.BEFORE:
            self._hit()
        yield
        if moment is Moment.AFTER:
            self._hit()

    def around(
        self, name: str, method: Callable[P, Awaitable[R]]
    ) -> Callable[P, Coroutine[object, object, R]]:
        """The method, counted under this name."""

        async def counted(*args: P.args, **kwargs: P.kwargs) -> R:
            with self.call(name):
                return await method(*args, **kwargs)

        return counted

    def _moment(self, name: str) -> Moment | None:
        """When this call is struck, if it is the one."""
        if self._point is None or self._point.call not in (None, name):
            return None
        self._counted += 1
        return self._point.moment if self._counted == self._point.at else None

    def _hit(self) -> NoReturn:
        self._struck = True
        self._strike()


class _CrashingUpkeep:
    def __init__(self, store: Store, crashes: Crashes) -> None:
        self.sweep = crashes.around("store.sweep", store.sweep)
        self.fullness = crashes.around("store.fullness", store.fullness)
        self.workload = crashes.around("store.workload", store.workload)
        self.give_back = crashes.around("store.give_back", store.give_back)
        self.import_session = crashes.around("store.import_session", store.import_session)
        self.import_new = crashes.around("store.import_new", store.import_new)
        self.check = crashes.around("store.check", store.check)
        self.repair = crashes.around("store.repair", store.repair)
        self.close = crashes.around("store.close", store.close)


class _CrashingFacts(_CrashingUpkeep):
    def __init__(self, store: Store, crashes: Crashes) -> None:
        super().__init__(store, crashes)
        self.record_usage = crashes.around("store.record_usage", store.record_usage)
        self.usage = crashes.around("store.usage", store.usage)
        self.spending = crashes.around("store.spending", store.spending)
        self.spoken = crashes.around("store.spoken", store.spoken)
        self.dearest = crashes.around("store.dearest", store.dearest)
        self.ledger = crashes.around("store.ledger", store.ledger)
        self.record_denial = crashes.around("store.record_denial", store.record_denial)
        self.denials = crashes.around("store.denials", store.denials)
        self.events = crashes.around("store.events", store.events)
        self.news = crashes.around("store.news", store.news)


class _CrashingDeliveries(_CrashingFacts):
    def __init__(self, store: Store, crashes: Crashes) -> None:
        super().__init__(store, crashes)
        self.limit_messages = store.limit_messages
        self.keep_out = store.keep_out
        self.claim_deliveries = crashes.around("store.claim_deliveries", store.claim_deliveries)
        self.unclaim_deliveries = crashes.around("store.unclaim_deliveries", store.unclaim_deliveries)
        self.settle_delivery = crashes.around("store.settle_delivery", store.settle_delivery)
        self.reap_deliveries = crashes.around("store.reap_deliveries", store.reap_deliveries)
        self.resolve_delivery = crashes.around("store.resolve_delivery", store.resolve_delivery)
        self.delivery = crashes.around("store.delivery", store.delivery)
        self.deliveries = crashes.around("store.deliveries", store.deliveries)


class _CrashingJobs(_CrashingDeliveries):
    def __init__(self, store: Store, crashes: Crashes) -> None:
        super().__init__(store, crashes)
        self.jobs = crashes.around("store.jobs", store.jobs)
        self.job = crashes.around("store.job", store.job)
        self.change_job = crashes.around("store.change_job", store.change_job)
        self.due_jobs = crashes.around("store.due_jobs", store.due_jobs)
        self.next_due_job = crashes.around("store.next_due_job", store.next_due_job)
        self.fire_job = crashes.around("store.fire_job", store.fire_job)
        self.firings = crashes.around("store.firings", store.firings)
        self.count_firings = crashes.around("store.count_firings", store.count_firings)


class _CrashingLeases(_CrashingJobs):
    def __init__(self, store: Store, crashes: Crashes) -> None:
        super().__init__(store, crashes)
        self.exclusive = store.exclusive
        self.acquire_lease = crashes.around("store.acquire_lease", store.acquire_lease)
        self.renew_lease = crashes.around("store.renew_lease", store.renew_lease)
        self.release_lease = crashes.around("store.release_lease", store.release_lease)
        self.gateways = crashes.around("store.gateways", store.gateways)
        self.fleet = crashes.around("store.fleet", store.fleet)
        self.host_channels = crashes.around("store.host_channels", store.host_channels)
        self.leave_channels = crashes.around("store.leave_channels", store.leave_channels)


class _CrashingExchanges(_CrashingLeases):
    def __init__(self, store: Store, crashes: Crashes) -> None:
        super().__init__(store, crashes)
        self.exchange = crashes.around("store.exchange", store.exchange)
        self.exchanges = crashes.around("store.exchanges", store.exchanges)
        self.exchanges_of = crashes.around("store.exchanges_of", store.exchanges_of)
        self.remote_exchanges = crashes.around("store.remote_exchanges", store.remote_exchanges)
        self.change_exchange = crashes.around("store.change_exchange", store.change_exchange)
        self.completion = crashes.around("store.completion", store.completion)
        self.completions = crashes.around("store.completions", store.completions)
        self.spawned = crashes.around("store.spawned", store.spawned)


class CrashingStore(_CrashingExchanges):
    """A `Store`: each verb is a call, `store.<verb>`; watching it is none."""

    def __init__(self, store: Store, crashes: Crashes) -> None:
        super().__init__(store, crashes)
        self.devices = crashes.around("store.devices", store.devices)
        self.change_devices = crashes.around("store.change_devices", store.change_devices)
        self.guests = crashes.around("store.guests", store.guests)
        self.change_guests = crashes.around("store.change_guests", store.change_guests)
        self.session = crashes.around("store.session", store.session)
        self.session_by_id = crashes.around("store.session_by_id", store.session_by_id)
        self.ancestors = crashes.around("store.ancestors", store.ancestors)
        self.forks = crashes.around("store.forks", store.forks)
        self.participants = crashes.around("store.participants", store.participants)
        self.pointed = crashes.around("store.pointed", store.pointed)
        self.change_points = crashes.around("store.change_points", store.change_points)
        self.generations = crashes.around("store.generations", store.generations)
        self.conversation = crashes.around("store.conversation", store.conversation)
        self.list_sessions = crashes.around("store.list_sessions", store.list_sessions)
        self.glances = crashes.around("store.glances", store.glances)
        self.overview = crashes.around("store.overview", store.overview)
        self.change_session = crashes.around("store.change_session", store.change_session)
        self.spawn = crashes.around("store.spawn", store.spawn)
        self.change_tree = crashes.around("store.change_tree", store.change_tree)
        self.thread_binding = crashes.around("store.thread_binding", store.thread_binding)
        self.append = crashes.around("store.append", store.append)
        self.entries = crashes.around("store.entries", store.entries)
        self.history = crashes.around("store.history", store.history)
        self.search = crashes.around("store.search", store.search)
        self.accept_inbound = crashes.around("store.accept_inbound", store.accept_inbound)
        self.accept_command = crashes.around("store.accept_command", store.accept_command)
        self.inbound = crashes.around("store.inbound", store.inbound)
        self.inbound_by_key = crashes.around("store.inbound_by_key", store.inbound_by_key)
        self.pending_inputs = crashes.around("store.pending_inputs", store.pending_inputs)
        self.take_inputs = crashes.around("store.take_inputs", store.take_inputs)
        self.run = crashes.around("store.run", store.run)
        self.active_runs = crashes.around("store.active_runs", store.active_runs)
        self.claim_runs = crashes.around("store.claim_runs", store.claim_runs)
        self.unclaim_runs = crashes.around("store.unclaim_runs", store.unclaim_runs)
        self.begin_step = crashes.around("store.begin_step", store.begin_step)
        self.finish_run = crashes.around("store.finish_run", store.finish_run)
        self.overdue_runs = crashes.around("store.overdue_runs", store.overdue_runs)
        self.give_up = crashes.around("store.give_up", store.give_up)
        self.reap_runs = crashes.around("store.reap_runs", store.reap_runs)
        self.reserve = crashes.around("store.reserve", store.reserve)
        self.release = crashes.around("store.release", store.release)
        self.wake_parked = crashes.around("store.wake_parked", store.wake_parked)
        self.wait_for = crashes.around("store.wait_for", store.wait_for)
        self.watch, self.watch_ends, self.watch_for = store.watch, store.watch_ends, store.watch_for
        self.starting, self.deliveries_ended = store.starting, store.deliveries_ended


class CrashingChannel:
    """A `Channel`: `channel.run`, `channel.send` and `channel.ask`; each message handed over is `channel.receive`."""

    def __init__(self, channel: Channel, crashes: Crashes) -> None:
        self._channel = channel
        self._crashes = crashes
        self.send = crashes.around("channel.send", channel.send)
        self.ask = crashes.around("channel.ask", channel.ask)

    @property
    def name(self) -> str:
        return self._channel.name

    @property
    def account(self) -> str:
        return self._channel.account

    @property
    def abilities(self) -> ChannelAbilities:
        return self._channel.abilities

    async def run(self, receive: Receive) -> None:
        with self._crashes.call("channel.run"):
            await self._channel.run(self._crashes.around("channel.receive", receive))


class CrashingModel:
    """A `Model`: beginning an answer is `model.stream`, each piece of it `model.event`."""

    def __init__(self, model: Model, crashes: Crashes) -> None:
        self._model = model
        self._crashes = crashes

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        async with AsyncExitStack() as stack:
            with self._crashes.call("model.stream"):
                events = await stack.enter_async_context(self._model.stream(request))
            pieces = await stack.enter_async_context(aclosing(self._pieces(events)))
            yield pieces

    async def _pieces(self, events: AsyncIterator[ModelEvent]) -> AsyncGenerator[ModelEvent, None]:
        async for event in events:
            with self._crashes.call("model.event"):
                yield event
