"""Who may knock at all: from which pages, under which names, through which proxies. Nobody is let in for where he is."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from roost.core.principals import OWNER, Principal
from roost.core.secrets import Secret

FORWARDED = frozenset(
    {"forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """How many wrong credentials from one place, within which time, before answers are slowed."""

    most: int = 20
    window_ms: int = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyLogin:
    """Proxies that say in a header who somebody is, and the names of the owner. Who is none of these comes in by nothing."""

    proxies: tuple[str, ...]
    header: str
    owners: frozenset[str] = frozenset()

    def named(self, peer: str | None, headers: Iterable[tuple[str, str]]) -> str | None:
        """Whom a listed proxy speaks for; None for anybody else, and where it does not say so clearly."""
        said = [value.strip() for name, value in headers if name == self.header]
        networks = [ip_network(one, strict=False) for one in self.proxies]
        return said[0] if len(said) == 1 and said[0] and _within(peer or "", networks) else None

    def principal(self, name: str) -> Principal | None:
        return OWNER if name in self.owners else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrance:
    """`asks` is whether a credential is needed at all, and `own` whether the token counts that the gateway made for itself.
    Origins are written as browsers send them, hosts without a port."""

    asks: bool = True
    own: bool = False
    token: Secret | None = None
    password: Secret | None = None
    attempts: Attempts = field(default_factory=Attempts)
    origins: frozenset[str] = frozenset()
    hosts: frozenset[str] = frozenset()
    proxies: tuple[str, ...] = ()
    login: ProxyLogin | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSource:
    """Where a request came from: the address of the peer, or what a listed proxy said. `vouched` is whether
    nobody who is not listed claims to speak for another."""

    address: str
    local: bool
    vouched: bool = True


def source(peer: str | None, headers: Iterable[tuple[str, str]], proxies: Iterable[str]) -> RequestSource:
    """Judge the forwarded headers of a request. Only those of listed proxies count."""
    said = [(name, value) for name, value in headers if name in FORWARDED]
    address = peer or ""
    if not said:
        return RequestSource(address=address, local=is_loopback(address))
    networks = [ip_network(one, strict=False) for one in proxies]
    if not _within(address, networks):
        return RequestSource(address=address, local=False, vouched=False)
    hops = [hop.strip() for name, value in said if name == "x-forwarded-for" for hop in value.split(",")]
    far = next((hop for hop in reversed(hops) if not _within(hop, networks)), None)
    return RequestSource(address=far or address, local=False)


def origin_allowed(origin: str, host: str | None, entrance: Entrance) -> bool:
    """Whether a page may connect: one of this machine, one that is listed, or the gateway's own."""
    split = _split(origin)
    if split is None:
        return False
    scheme, name, authority = split
    if f"{scheme}://{authority}" in entrance.origins or is_loopback(name):
        return True
    return host is not None and authority == host.lower() and host_allowed(host, entrance)


def host_allowed(host: str, entrance: Entrance) -> bool:
    """Whether a gateway may be called by this name. A name that is not listed may have been pointed here by anybody;
    a number cannot."""
    split = _split(f"http://{host}")
    if split is None:
        return False
    name = split[1]
    listed = {found[1] for one in entrance.origins if (found := _split(one)) is not None}
    return _is_address(name) or is_loopback(name) or name in entrance.hosts | listed


def throttled_by(address: str) -> str:
    """Those who are counted as one: a whole network where addresses are for the taking."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        return str(found.ipv4_mapped or ip_network((int(found), 64), strict=False))
    return str(found)


def _split(origin: str) -> tuple[str, str, str] | None:
    """Scheme, name and authority of an origin, in lower case."""
    try:
        parts = urlsplit(origin.lower())
        name, _ = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in {"http", "https"} or not name or parts.path or parts.query or "@" in parts.netloc:
        return None
    return parts.scheme, name.rstrip("."), parts.netloc


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(name: str) -> bool:
    if name == "localhost" or name.endswith(".localhost"):
        return True
    return _is_address(name) and ip_address(name).is_loopback


def _within(address: str, networks: Iterable[IPv4Network | IPv6Network]) -> bool:
    return _is_address(address) and any(ip_address(address) in one for one in networks)
