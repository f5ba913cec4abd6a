"""Where the gateway may reach out to: public addresses, and those its owner lists."""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from roost.core.errors import Forbidden, InvalidInput

LONGEST_URL = 2_000
PORTS = {"http": 80, "https": 443}
_NAT64 = IPv6Network("64:ff9b::/96")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebAddress:
    """A web address in parts; `path` holds the query too."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


def target(url: str) -> WebAddress:
    """Raises for what is no plain web address. Credentials do not belong into one."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise InvalidInput(f"{url[:100]!r} is no web address", hint="give an https URL") from None
    if len(url) > LONGEST_URL or not url.isascii() or not url.isprintable() or " " in url:
        raise InvalidInput("that is no web address", hint="give an https URL, percent-encoded")
    if parts.scheme not in PORTS or not parts.hostname or parts.username is not None or port == 0:
        raise InvalidInput(f"{url[:100]!r} is no web address", hint="give an https URL without credentials")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return WebAddress(scheme=parts.scheme, host=parts.hostname, port=port or PORTS[parts.scheme], path=path)


def refuse_private(host: str, address: str, allowed: tuple[str, ...] = ()) -> None:
    """Raises for an address that is not everybody's: of this machine, of its network, of a cloud's metadata, or one of
    these written as another kind."""
    try:
        found = _plain(ip_address(address.partition("%")[0]))
    except ValueError:
        raise Forbidden(f"{host} has no address that can be judged") from None
    if any(found in network for network in map(ip_network, allowed) if network.version == found.version):
        return
    if not found.is_global or found.is_multicast or found.is_reserved:
        raise Forbidden(
            f"{host} is at {address}, which is not a public address",
            hint="list its network in `gateway.egress.allow` if it is meant",
        )


def _plain(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The address that is reached by one of another kind."""
    if not isinstance(address, IPv6Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else address)
