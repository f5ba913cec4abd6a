"""The one way the gateway reaches out.

To an address that somebody gave it, every hop is resolved, judged and reached at the very address that was judged: a name
that answers otherwise the next time changes nothing. What its owner wrote into the configuration is reached wherever that
is, and nothing but it.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urljoin

import anyio
import httpx2

from roost.core.egress import PORTS, WebAddress, refuse_private, target
from roost.core.errors import Forbidden
from roost.ports import Unanswered, Unreached

if TYPE_CHECKING:
    import ssl

    import aiohttp

MOST_HOPS = 5
LONGEST_HEADER, MOST_HEADERS = 64 << 10, 1_024
TIMEOUT_S = 15.0
# Whoever answers so did not take it. The other answers that name a place leave open whether what was posted is lost.
SENT_ON = frozenset({307, 308})

Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]


async def resolved(host: str, port: int) -> Sequence[str]:
    """Every address of a name, as the system knows them."""
    return [str(entry[4][0]) for entry in await anyio.getaddrinfo(host, port)]


class WebEgress:
    """`allowed` are networks that may be reached although they are not public."""

    def __init__(
        self,
        allowed: Callable[[], tuple[str, ...]],
        resolve: Resolve = resolved,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._allowed = allowed
        self._resolve = resolve
        self._transport = transport

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        # Neither a proxy nor credentials of the environment: what was judged must be what is reached.
        async with httpx2.AsyncClient(
            transport=self._transport, trust_env=False, timeout=TIMEOUT_S
        ) as client:
            for _ in range(MOST_HOPS + 1):
                hop = target(url)
                request = self._request(hop, await self._judged(hop), headers, body)
                answer = await _sent(client, request, hop)
                location = answer.headers.get("location")
                if answer.status_code not in SENT_ON or location is None:
                    return int(answer.status_code)
                url = urljoin(url, location)
        raise Forbidden(f"it was sent on more than {MOST_HOPS} times")

    async def _judged(self, hop: WebAddress) -> str:
        try:
            addresses = await self._resolve(hop.host, hop.port)
        except OSError as error:
            raise Unreached(f"{hop.host} is not known: {error}") from error
        # All of them: who answers with one of each hopes for the other.
        for address in addresses:
            refuse_private(hop.host, address, self._allowed())
        if not addresses:
            raise Unreached(f"{hop.host} has no address")
        return addresses[0]

    def _request(
        self, hop: WebAddress, address: str, headers: Mapping[str, str], body: bytes
    ) -> httpx2.Request:
        place = f"[{address}]" if ":" in address else address
        return httpx2.Request(
            "POST",
            f"{hop.scheme}://{place}:{hop.port}{hop.path}",
            headers={**headers, "Host": hop.authority},
            content=body,
            extensions={
                "sni_hostname": hop.host,
                "timeout": dict.fromkeys(("connect", "read", "write", "pool"), TIMEOUT_S),
            },
        )


def owners_client(url: httpx2.URL, *, timeout: httpx2.Timeout, kept: int) -> httpx2.AsyncClient:
    """For an origin that the owner configured, private or not. Whoever is given it can be led nowhere else."""
    inside = httpx2.AsyncHTTPTransport(
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=kept),
        # Loading certificates takes longer than a call; without TLS nothing is checked by them.
        verify=url.scheme == "https",
        trust_env=False,
    )
    return httpx2.AsyncClient(
        transport=_Homebound(url, inside), timeout=timeout, trust_env=False, follow_redirects=False
    )


def owners_session(url: httpx2.URL, *, connect_ms: int, idle_ms: int) -> "aiohttp.ClientSession":
    """The same for who names the address with each request, and lets nothing lead elsewhere: a third of the cost."""
    import aiohttp  # noqa: PLC0415 — only those load it who call a model

    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=_secured() if url.scheme == "https" else True),
        timeout=aiohttp.ClientTimeout(connect=connect_ms / 1000, sock_read=idle_ms / 1000),
        cookie_jar=aiohttp.DummyCookieJar(),
        max_line_size=LONGEST_HEADER,
        max_field_size=LONGEST_HEADER,
        max_headers=MOST_HEADERS,
    )


def _secured() -> "ssl.SSLContext":
    context = httpx2.create_ssl_context(trust_env=False)
    context.set_alpn_protocols(["http/1.1"])
    return context


class _Homebound(httpx2.AsyncBaseTransport):
    """Libraries may follow what an answer says, and take a key with them."""

    def __init__(self, home: httpx2.URL, inside: httpx2.AsyncBaseTransport) -> None:
        self._home = _origin(home)
        self._inside = inside

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if _origin(request.url) != self._home:
            raise httpx2.UnsupportedProtocol(f"{request.url.host} is not the configured address")
        return await self._inside.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inside.aclose()


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or PORTS.get(url.scheme)


async def _sent(client: httpx2.AsyncClient, request: httpx2.Request, hop: WebAddress) -> httpx2.Response:
    """The head of the answer; nobody reads the rest."""
    try:
        answer = await client.send(request, stream=True, follow_redirects=False)
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
        raise Unreached(f"{hop.host} could not be reached: {error}") from error
    except httpx2.HTTPError as error:
        raise Unanswered(f"no answer came: {error!r}") from error
    await answer.aclose()
    return answer
