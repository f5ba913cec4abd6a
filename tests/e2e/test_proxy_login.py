"""A proxy that says who somebody is, before a gateway that believes only those it lists."""

from collections.abc import Mapping
from pathlib import Path

import anyio
import httpx2
import pytest

from tests.e2e.edges import ALL, configured, knocking, refused
from tests.e2e.test_gateway import served

FORWARDED = {"X-Forwarded-For": "203.0.113.9"}
AUTH = {
    "mode": "trusted-proxy",
    "trustedProxy": {"userHeader": "X-User", "allowUsers": ["ada"]},
}
LISTED = {"auth": AUTH, "trustedProxies": ["127.0.0.1"]}
NOBODY = "DEVICE_IDENTITY_REQUIRED"


def browsing(port: int, headers: Mapping[str, str]) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=dict(headers), timeout=60)


def says(*users: str) -> Mapping[str, str]:
    return {**FORWARDED, **{("X-User", "x-user")[at]: user for at, user in enumerate(users)}}


@pytest.mark.requirement("S19")
async def test_whom_a_listed_proxy_names_comes_in_as_the_owner(tmp_path: Path) -> None:
    async with served(configured(tmp_path, LISTED)) as gateway:
        async with knocking(gateway, says("ada")) as caller:
            hello = await caller.ask(scopes=ALL)
            assert set(hello["payload"]["auth"]["scopes"]) == set(ALL)
            assert (await caller.call("sessions.create", {"key": "hers"}))["ok"]
        async with browsing(gateway.port, says("ada")) as http:
            assert (await http.get("/v1/models")).status_code == 200


@pytest.mark.requirement("S19", "S21")
@pytest.mark.parametrize(
    "headers", [FORWARDED, {}, says("mallory"), says(""), says("ada", "bob"), says("Ada")]
)
async def test_who_is_not_named_clearly_is_nobody(tmp_path: Path, headers: Mapping[str, str]) -> None:
    async with served(configured(tmp_path, LISTED)) as gateway:
        assert await refused(gateway, headers) == NOBODY
        async with browsing(gateway.port, headers) as http:
            assert (await http.get("/v1/models")).status_code == 401


@pytest.mark.requirement("S19")
@pytest.mark.parametrize("gateway", [{**LISTED, "trustedProxies": ["10.0.0.1"]}, {}])
async def test_a_name_from_a_proxy_that_is_not_listed_or_not_asked_counts_for_nothing(
    tmp_path: Path, gateway: object
) -> None:
    async with served(configured(tmp_path, gateway)) as there:
        assert await refused(there, {"X-User": "ada"}) == NOBODY
        async with browsing(there.port, says("ada")) as http:
            assert (await http.get("/v1/models")).status_code == 401


@pytest.mark.requirement("S12", "S19")
@pytest.mark.parametrize(
    "after",
    [
        {**LISTED, "auth": {**AUTH, "trustedProxy": {"userHeader": "X-User", "allowUsers": ["eve"]}}},
        {**LISTED, "trustedProxies": ["10.0.0.1"]},
        {"auth": {"token": "another-way-to-come-in"}},
    ],
)
async def test_who_is_named_no_more_or_otherwise_is_sent_away(tmp_path: Path, after: object) -> None:
    async with served(configured(tmp_path, LISTED)) as gateway, knocking(gateway, says("ada")) as caller:
        assert (await caller.ask())["ok"]
        configured(tmp_path, after)
        with anyio.fail_after(60):
            assert await caller.ended() == (1008, "credential revoked")
