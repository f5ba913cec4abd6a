"""The pages for whoever watches the gateway: whether it lives, is ready, has started. They name nothing else."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from roost.server.house import House, Phase

Page: TypeAlias = Callable[[Request], Awaitable[Response]]


def routes(house: House) -> list[Route]:
    async def live(request: Request) -> Response:
        return JSONResponse({"ok": True, "status": "live"})

    async def ready(request: Request) -> Response:
        failing = [] if house.phase is Phase.SERVING else [str(house.phase)]
        body = {"ready": not failing, "failing": failing, "uptimeMs": _uptime(house)}
        return JSONResponse(body, status_code=503 if failing else 200)

    async def started(request: Request) -> Response:
        if house.phase is Phase.STARTING:
            return JSONResponse(
                {"ok": False, "status": "starting", "pendingReason": "store"}, status_code=503
            )
        body = {
            "ok": True,
            "status": "started",
            "version": house.about.version,
            "uptimeMs": _uptime(house),
        }
        return JSONResponse(body)

    pages: dict[str, Page] = {
        "/healthz": live,
        "/health": live,
        "/readyz": ready,
        "/ready": ready,
        "/startupz": started,
    }
    return [Route(path, page, methods=["GET"]) for path, page in pages.items()]


def _uptime(house: House) -> int:
    return max(0, house.clock.now() - house.about.started_at)
