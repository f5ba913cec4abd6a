"""The address of a server: what it says to the driver and to us, and as it may be shown."""

import re
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from roost.core.errors import InvalidInput
from roost.stores.postgres.connection import PostgresOptions

_HOST = re.compile(r"(?:\[[^\[\]]+\]|[^\[\]:]*)(?::(?P<port>.*))?", re.DOTALL)
_SPELLED = "write postgresql://user:password@host:port/name, and percent-encode # / @ : ? % [ ] in the password: %23 is #"
_PORT = "5432"
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
    """The address as it may be shown: where the server is, the database, and the schema if it is not the usual one."""
    parts, schema = _split(address), read_address(address)[1].schema
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    return shown if schema == PostgresOptions().schema else f"{shown}?schema={schema}"


def identity(address: str) -> tuple[str, ...]:
    """What all addresses of a store have in common that name its server alike, whoever uses it and however."""
    driver, options = read_address(address)
    parts = urlsplit(driver)
    given = dict(parse_qsl(parts.query))
    before, _, named = parts.netloc.rpartition("@")
    user = before.partition(":")[0] or given.get("user", "")
    database = parts.path.removeprefix("/") or given.get("dbname") or given.get("database") or user
    port = _PORT if named else given.get("port", _PORT)
    hosts = (unquote(one) for one in (named or given.get("host", "")).split(","))
    places = (one if _port_of(one) else f"{one}:{port}" for one in hosts)
    return (*places, unquote(database), options.schema)


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
        if not host or _HOST.fullmatch(host) is None:
            raise _unreadable()
        if port := _port_of(host):
            ports.append(unquote(port))
    if not all(port.isascii() and port.isdecimal() and 0 < int(port) < 1 << 16 for port in ports):
        raise InvalidInput(
            "the port in the database's address is no number from 1 to 65535",
            hint=_SPELLED,
        )


def _port_of(host: str) -> str | None:
    found = _HOST.fullmatch(host)
    return None if found is None else found["port"]
