"""The address of a server: what it says to the driver and to us, and as it may be shown."""

import re
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from roost.core.errors import InvalidInput
from roost.stores.postgres.connection import PostgresOptions

_HOST = re.compile(r"(?:\[[^\[\]]+\]|[^\[\]:]*)(?::(?P<port>.*))?", re.DOTALL)
_SPELLED = "write postgresql://user:password@host:port/name, and percent-encode # / @ : ? % [ ] in the password: %23 is #"
_SERVERS = ("any", "primary", "standby", "prefer-standby", "read-write", "read-only")


def read_address(address: str) -> tuple[str, PostgresOptions]:
    """The address as the driver takes it, and what it says to us: `schema`, `connections`, `pooler`."""
    parts = _split(address)
    given = dict(parse_qsl(parts.query))
    _refuse_wrong_hosts(parts.netloc.rpartition("@")[2], given)
    usual = PostgresOptions()
    schema = given.pop("schema", usual.schema)
    connections = given.pop("connections", str(usual.connections))
    pooler = given.pop("pooler", "false").lower()
    if not connections.isdecimal() or pooler not in ("true", "false"):
        raise InvalidInput(
            "`connections` in the database's address is a number, `pooler` is true or false",
            hint="postgresql://user@host/name?connections=10&pooler=false",
        )
    if (servers := given.get("target_session_attrs", "any")) not in _SERVERS:
        raise InvalidInput(
            f"`target_session_attrs` in the database's address cannot be {servers!r}",
            hint=f"give one of {', '.join(_SERVERS)}",
        )
    options = PostgresOptions(schema=schema, connections=int(connections), pooler=pooler == "true")
    return urlunsplit(parts._replace(query=urlencode(given))), options


def without_password(address: str) -> str:
    """The address as it may be shown."""
    parts = _split(address)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=""))


def _split(address: str) -> SplitResult:
    """The parts of an address. Of one that cannot be read nothing is quoted: whatever looks like a host, a port or a name in
    it may be a piece of the password."""
    try:
        parts = urlsplit(address)
    except ValueError:
        raise _unreadable() from None
    before, _, host = parts.netloc.rpartition("@")
    cut_short = ":" in host and not before and "@" in parts.path + parts.query
    bare = any(one and "=" not in one for one in parts.query.split("&"))
    if "#" in address or "@" in before or cut_short or bare:
        raise _unreadable()
    return parts


def _unreadable() -> InvalidInput:
    return InvalidInput("the database's address cannot be read", hint=_SPELLED)


def _refuse_wrong_hosts(hosts: str, given: dict[str, str]) -> None:
    """What the driver would fail at with an error of its own; there may be several, with commas between."""
    ports = given["port"].split(",") if "port" in given else []
    for host in hosts.split(",") if hosts else given.get("host", "/").split(","):
        if host.startswith("/"):
            continue
        found = _HOST.fullmatch(host)
        if not host or found is None:
            raise _unreadable()
        if found["port"]:
            ports.append(unquote(found["port"]))
    if not all(port.isascii() and port.isdecimal() and 0 < int(port) < 1 << 16 for port in ports):
        raise InvalidInput(
            "the port in the database's address is no number from 1 to 65535",
            hint=_SPELLED,
        )
