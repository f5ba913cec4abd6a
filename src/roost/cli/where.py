"""Which gateway a command speaks to, and the client that speaks to it."""

import ipaddress
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from cyclopts import Parameter

import roost
from roost import __version__
from roost.cli.show import as_json, say
from roost.client import Client, Refused, Trust, Unreachable, Untrusted
from roost.client.errors import Starting
from roost.client.handshake import Introduction
from roost.client.trust import fingerprint_of
from roost.config import ConfigSource, Loaded, from_environment
from roost.config import gateway as config
from roost.config.gateway import TOKEN_FILE, AuthMode
from roost.config.printed import printed
from roost.config.source import FILE, TOKEN
from roost.core.errors import InvalidInput, RoostError
from roost.core.secrets import Secret
from roost.protocol.families.status import HEALTH


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Local:
    """What a command needs that works on this machine's own files."""

    config: Annotated[Path | None, Parameter(help="The configuration file.")] = None
    json: Annotated[bool, Parameter(help="Print JSON.", negative="")] = False

    def source(self) -> ConfigSource:
        found = from_environment()
        if self.config is None:
            return found
        return ConfigSource({**found.environ, FILE: str(self.config.absolute())})

    def loaded(self) -> Loaded:
        found = self.source().read()
        if self.config is not None and not found.sources.exists:
            raise InvalidInput(
                f"there is no file {self.config}", hint="name one that is, or leave --config out"
            )
        return found


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Where(Local):
    """What a command needs that asks a gateway."""

    url: Annotated[str | None, Parameter(help="A gateway elsewhere: wss://HOST:PORT.")] = None
    token: Annotated[
        str | None, Parameter(help="Its token; the variable ROOST_GATEWAY_TOKEN is seen by nobody else.")
    ] = None
    tls_fingerprint: Annotated[
        str | None, Parameter(help="The certificate it must have, whoever signed it: sha256:….")
    ] = None
    dangerously_allow_clear_text: Annotated[
        bool, Parameter(help="Speak to it over ws:// although others can listen in.", negative="")
    ] = False


LOCAL = Local()
HERE = Where()
_INTRODUCTION = Introduction(version=__version__)


@asynccontextmanager
async def gateway(where: Where) -> AsyncIterator[Client]:
    """The gateway that runs, which there must be."""
    async with AsyncExitStack() as stack:
        yield await _entered(stack, where, where.loaded())


@asynccontextmanager
async def anywhere(where: Where) -> AsyncIterator[Client]:
    """The gateway that runs; where none does and none was named, one in this process."""
    loaded = where.loaded()
    async with AsyncExitStack() as stack:
        try:
            client = await _entered(stack, where, loaded)
        except Unreachable as error:
            if where.url is not None or isinstance(error, Starting):
                raise
            client = await stack.enter_async_context(roost.open(loaded))
        yield client


def answer(where: Local, found: object, words: str) -> None:
    """What came of it: words for people, JSON for programs."""
    if where.json:
        as_json(found)
    else:
        say(words)


async def now_of(client: Client) -> int:
    """UTC milliseconds by the clock of the gateway."""
    ts = (await client.call(HEALTH)).get("ts")
    return ts if isinstance(ts, int) else 0


async def _entered(stack: AsyncExitStack, where: Where, loaded: Loaded) -> Client:
    """Where the configuration says, or else where a lease says that one is: it may have been given another port."""
    if where.url is not None:
        return await stack.enter_async_context(_elsewhere(where.url, where, loaded))
    settings = loaded.settings.gateway
    who = replace(_INTRODUCTION, token=Secret(where.token)) if where.token else await _own(loaded)
    configured = _url("wss" if settings.tls.cert else "ws", settings.bind.host, settings.port)
    try:
        return await stack.enter_async_context(
            Client(configured, who=who, trust=_trust(configured, settings))
        )
    except Starting:
        raise
    except (Unreachable, Refused) as error:
        failures: list[RoostError] = [error]
    from roost.app.finding import serving_addresses  # noqa: PLC0415 — the store's libraries are loaded where a lease must be read

    for address in await serving_addresses(loaded):
        parts = urlsplit(address)
        known = _url(parts.scheme, parts.hostname or "", parts.port or 0)
        if known != configured:
            try:
                return await stack.enter_async_context(Client(known, who=who, trust=_trust(known, settings)))
            except (Unreachable, Refused, Untrusted, InvalidInput) as error:
                failures.append(error)
    # One that is there and not ready says more than one that is not there.
    raise next((one for one in failures if isinstance(one, Starting)), failures[-1])


def _trust(url: str, settings: config.Gateway) -> Trust:
    """In the gateway that this configuration describes."""
    cert = settings.tls.cert if url.startswith("wss:") else None
    return Trust(
        fingerprint=fingerprint_of(Path(cert)) if cert else None,
        clear_text=settings.dangerously_allow_clear_text,
    )


def _elsewhere(url: str, where: Where, loaded: Loaded) -> Client:
    # The credential of the gateway here is not shown to one elsewhere, unless it was set for this process.
    given = loaded.settings.gateway.auth.token if TOKEN in loaded.sources.variables else None
    token = Secret(where.token) if where.token else given
    trust = Trust(fingerprint=where.tls_fingerprint, clear_text=where.dangerously_allow_clear_text)
    return Client(
        url, who=replace(_INTRODUCTION, token=token if isinstance(token, Secret) else None), trust=trust
    )


async def _own(loaded: Loaded) -> Introduction:
    """The credential of the gateway that this configuration describes."""
    who = _INTRODUCTION
    auth = (await printed(loaded.settings)).gateway.auth
    match auth.mode:
        case AuthMode.PASSWORD:
            return replace(who, password=auth.password if isinstance(auth.password, Secret) else None)
        case AuthMode.TOKEN if isinstance(auth.token, Secret):
            return replace(who, token=auth.token)
        case AuthMode.TOKEN:
            file = loaded.sources.home / TOKEN_FILE
            text = file.read_text(encoding="utf-8").strip() if file.exists() else ""
            return replace(who, token=Secret(text) if text else None)
        case _:
            return who


def _url(scheme: str, host: str, port: int) -> str:
    """Where a gateway that listens there is found from here."""
    found = ipaddress.ip_address(host)
    if found.is_unspecified:
        found = ipaddress.ip_address("::1" if found.version == 6 else "127.0.0.1")
    return f"{scheme}://[{found}]:{port}" if found.version == 6 else f"{scheme}://{found}:{port}"
