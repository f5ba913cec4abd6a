"""For whoever watches the gateway: whether it lives, is ready, has started. Of what is inside they tell only those who
may know."""

from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from roost.core.jsonvalue import JsonValue
from roost.protocol.scopes import Scope
from roost.server.house import House, Phase
from roost.server.http.entry import Entry, PeerOf
from roost.server.http.pages import AWAY, Json
from roost.server.metrics import CONTENT_TYPE


class Probes:
    def __init__(self, house: House, entry: Entry, peer_of: PeerOf) -> None:
        self._house = house
        self._entry = entry
        self._peer_of = peer_of

    async def live(self, request: Request) -> Response:
        return Json({"ok": True, "status": "live"})

    async def ready(self, request: Request) -> Response:
        house = self._house
        failing = [] if house.phase is Phase.SERVING else [str(house.phase)]
        if not failing and not house.engine.reaches_store:
            failing.append("store")
        told: dict[str, JsonValue] = {"ready": not failing}
        if self._is_local(request) or await self._entry.knows(request):
            lag = house.meters.lag
            told |= {
                "failing": failing,
                "degraded": list(house.engine.health().failing),
                "uptimeMs": self._uptime(),
                "eventLoop": {"lagMs": round(lag.last * 1000, 3), "maxLagMs": round(lag.most * 1000, 3)},
            }
        return Json(told, AWAY if failing else 200)

    async def started(self, request: Request) -> Response:
        if self._house.phase is Phase.STARTING:
            return Json({"ok": False, "status": "starting", "pendingReason": "store"}, AWAY)
        version = self._house.about.version
        return Json({"ok": True, "status": "started", "version": version, "uptimeMs": self._uptime()})

    async def figures(self, request: Request) -> Response:
        """For a Prometheus server, which has a credential like every other caller."""
        await self._entry.admit_owner(request, Scope.READ)
        store, now = self._house.store, self._house.clock.now()
        work, leases = await store.workload(), await store.gateways()
        text = await self._house.meters.text(work, leases, len(self._house.clients), now)
        return Response(text, headers={"Content-Type": CONTENT_TYPE})

    def _uptime(self) -> int:
        return max(0, self._house.clock.now() - self._house.about.started_at)

    def _is_local(self, connection: HTTPConnection) -> bool:
        """Only to be told more of how it does: nobody may do anything for where they are."""
        return self._peer_of(connection).local
