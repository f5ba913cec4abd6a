"""What whoever watches a gateway is told of it."""

from pathlib import Path

from roost.core.errors import StoreUnavailable
from roost.core.leases import LEASE_MS, RENEW_MS, Lease
from roost.server.house import Phase
from roost.stores.memory import MemoryStore
from roost.testing.clock import FakeClock
from tests.flows.gateways import Bench
from tests.flows.served import Opened, gate_of
from tests.waiting import until_all_wait


async def test_probes_are_there_for_everyone_and_only_to_be_read(opened: Opened) -> None:
    async with opened() as (gate, _), gate.browser(None) as http:
        for path in ("/healthz", "/health"):
            assert (await http.get(path)).json() == {"ok": True, "status": "live"}
            refused = await http.post(path)
            assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")
        for path in ("/readyz", "/ready"):
            told = (await http.get(path)).json()
            assert (told["ready"], told["failing"], told["degraded"]) == (True, [], [])
            assert set(told["eventLoop"]) == {"lagMs", "maxLagMs"}
        assert (await http.get("/startupz")).json()["status"] == "started"
        assert (await http.get("/nowhere")).status_code == 404


async def test_who_comes_through_a_proxy_learns_less(opened: Opened) -> None:
    forwarded = {"X-Forwarded-For": "1.2.3.4"}
    async with opened() as (gate, _):
        async with gate.browser(None, **forwarded) as http:
            assert (await http.get("/readyz")).json() == {"ready": True}
        async with gate.browser("wrong", **forwarded) as http:
            assert (await http.get("/readyz")).json() == {"ready": True}
        async with gate.browser(**forwarded) as http:
            assert "uptimeMs" in (await http.get("/readyz")).json()


async def test_a_gateway_that_does_not_serve_says_so(opened: Opened) -> None:
    async with opened() as (gate, _), gate.browser() as http:
        gate.house.phase = Phase.STARTING
        assert (await http.get("/startupz")).status_code == 503
        ready = await http.get("/readyz")
        assert (ready.status_code, ready.json()["failing"]) == (503, ["starting"])
        models = await http.get("/v1/models")
        assert (models.status_code, models.headers["retry-after"]) == (503, "1")


class Away(MemoryStore):
    """A store whose server can be away."""

    away = False

    async def renew_lease(self, lease: Lease) -> Lease:
        if self.away:
            raise StoreUnavailable("the server is away")
        return await super().renew_lease(lease)


async def test_a_gateway_that_could_not_reach_its_store_for_a_whole_lease_is_not_ready(
    tmp_path: Path,
) -> None:
    clock = FakeClock()
    store = Away(clock, FakeClock())

    async def pass_a_lease() -> None:
        for _ in range(LEASE_MS // RENEW_MS):
            await until_all_wait()
            clock.advance(RENEW_MS)
        await until_all_wait()

    async def answer() -> tuple[int, bool, list[str]]:
        async with gate.browser() as http:
            ready = await http.get("/readyz")
            return ready.status_code, ready.json()["ready"], ready.json()["failing"]

    async with gate_of(Bench(store, clock), tmp_path) as gate:
        await pass_a_lease()
        assert await answer() == (200, True, [])
        store.away = True
        await pass_a_lease()
        assert await answer() == (503, False, ["store"])
        store.away = False
        await pass_a_lease()
        assert await answer() == (200, True, [])
