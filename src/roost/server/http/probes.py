"""For whoever watches the gateway: whether it lives, is ready, has started. Of what is inside they tell only those who
may know."""

from typing import Literal, NotRequired

from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from typing_extensions import TypedDict

from roost.protocol.scopes import Scope
from roost.server.house import House, Phase
from roost.server.http.entry import Entry, PeerOf
from roost.server.http.offers import AWAY, JSON, OK, TEXT, Offer
from roost.server.http.pages import Json
from roost.server.metrics import CONTENT_TYPE


class Live(TypedDict):
    ok: Literal[True]
    status: Literal["live"]


class EventLoop(TypedDict):
    lagMs: float
    maxLagMs: float


class Ready(TypedDict):
    """Beside `ready` what is told to callers on this machine or with the owner's credential."""

    ready: bool
    failing: NotRequired[list[str]]
    degraded: NotRequired[list[str]]
    uptimeMs: NotRequired[int]
    eventLoop: NotRequired[EventLoop]


class Started(TypedDict):
    ok: Literal[True]
    status: Literal["started"]
    version: str
    uptimeMs: int


class Starting(TypedDict):
    ok: Literal[False]
    status: Literal["starting"]
    pendingReason: Literal["store"]


LIVE = Offer(paths=("/healthz", "/health"), about="Whether the gateway lives.", gives={JSON: Live})
READY = Offer(
    paths=("/readyz", "/ready"),
    about="Whether it serves and reached its store within the last seconds.",
    gives={JSON: Ready},
    refusal=Ready,
    refuses=(AWAY,),
)
STARTED = Offer(
    paths=("/startupz",),
    about="Whether it has started, and its version.",
    gives={JSON: Started},
    refusal=Starting,
    refuses=(AWAY,),
)
FIGURES = Offer(
    paths=("/metrics",),
    about="Figures for Prometheus: runs and deliveries that wait, how long runs take and waited, event-loop lag, leases, "
    "connections.",
    needs=Scope.READ,
    owners=True,
    gives={TEXT: str},
)


class Probes:
    def __init__(self, house: House, entry: Entry, peer_of: PeerOf) -> None:
        self._house = house
        self._entry = entry
        self._peer_of = peer_of

    async def live(self, request: Request) -> Response:
        return Json(Live(ok=True, status="live"))

    async def ready(self, request: Request) -> Response:
        house = self._house
        failing = [] if house.phase is Phase.SERVING else [str(house.phase)]
        if not failing and not house.engine.reaches_store:
            failing.append("store")
        told = Ready(ready=not failing)
        if self._is_local(request) or await self._entry.would_admit(request, FIGURES):
            lag = house.meters.lag
            told = Ready(
                ready=told["ready"],
                failing=failing,
                degraded=list(house.engine.health().failing),
                uptimeMs=self._uptime(),
                eventLoop=EventLoop(lagMs=round(lag.last * 1000, 3), maxLagMs=round(lag.most * 1000, 3)),
            )
        return Json(told, AWAY if failing else OK)

    async def started(self, request: Request) -> Response:
        if self._house.phase is Phase.STARTING:
            return Json(Starting(ok=False, status="starting", pendingReason="store"), AWAY)
        version = self._house.about.version
        return Json(Started(ok=True, status="started", version=version, uptimeMs=self._uptime()))

    async def figures(self, request: Request) -> Response:
        """For a Prometheus server, which has a credential like every other caller."""
        await self._entry.admit(request, FIGURES)
        store, now = self._house.store, self._house.clock.now()
        work, leases = await store.workload(), await store.gateways()
        self._house.meters.ended(store.deliveries_ended())
        text = await self._house.meters.text(work, leases, len(self._house.clients), now)
        return Response(text, headers={"Content-Type": CONTENT_TYPE})

    def _uptime(self) -> int:
        return max(0, self._house.clock.now() - self._house.about.started_at)

    def _is_local(self, connection: HTTPConnection) -> bool:
        """Only to be told more of how it does: nobody may do anything for where they are."""
        return self._peer_of(connection).local
