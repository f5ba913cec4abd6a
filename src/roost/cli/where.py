"""Which gateway a command speaks to, and the client that speaks to it."""

import ipaddress
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

import roost
from roost import __version__
from roost.client import Client, Unreachable
from roost.client.errors import Starting
from roost.client.handshake import Introduction
from roost.config import ConfigSource, Loaded, from_environment
from roost.config.gateway import TOKEN_FILE, AuthMode, Bind
from roost.config.printed import printed
from roost.config.source import FILE, TOKEN
from roost.core.secrets import Secret


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    url: Annotated[str | None, Parameter(help="A gateway elsewhere: ws://HOST:PORT.")] = None
    token: Annotated[
        str | None, Parameter(help="Its token; the variable ROOST_GATEWAY_TOKEN is seen by nobody else.")
    ] = None
    config: Annotated[Path | None, Parameter(help="The configuration file.")] = None
    json: Annotated[bool, Parameter(help="Print JSON.", negative="")] = False

    def source(self) -> ConfigSource:
        found = from_environment()
        if self.config is None:
            return found
        return ConfigSource({**found.environ, FILE: str(self.config.absolute())})

    def loaded(self) -> Loaded:
        return self.source().read()


HERE = Where()


@asynccontextmanager
async def gateway(where: Where) -> AsyncIterator[Client]:
    """The gateway that runs, which there must be."""
    async with await _client(where, where.loaded()) as client:
        yield client


@asynccontextmanager
async def anywhere(where: Where) -> AsyncIterator[Client]:
    """The gateway that runs; where none does and none was named, one in this process."""
    loaded = where.loaded()
    async with AsyncExitStack() as stack:
        try:
            client = await stack.enter_async_context(await _client(where, loaded))
        except Unreachable as error:
            if where.url is not None or isinstance(error, Starting):
                raise
            client = await stack.enter_async_context(roost.open(loaded))
        yield client


async def _client(where: Where, loaded: Loaded) -> Client:
    who = Introduction(version=__version__)
    if where.url is not None:
        # The credential of the gateway here is not shown to one elsewhere, unless it was set for this process.
        given = loaded.settings.gateway.auth.token if TOKEN in loaded.sources.variables else None
        token = Secret(where.token) if where.token else given
        return Client(where.url, who=replace(who, token=token if isinstance(token, Secret) else None))
    if where.token:
        who = replace(who, token=Secret(where.token))
    else:
        who = await _own(loaded, who)
    settings = loaded.settings.gateway
    return Client(_address(settings.bind, settings.port), who=who)


async def _own(loaded: Loaded, who: Introduction) -> Introduction:
    """The credential of the gateway that this configuration describes."""
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


def _address(bind: Bind, port: int) -> str:
    """Where a gateway that listens there is found from here."""
    host = ipaddress.ip_address(bind.host)
    if host.is_unspecified:
        host = ipaddress.ip_address("::1" if host.version == 6 else "127.0.0.1")
    return f"ws://[{host}]:{port}" if host.version == 6 else f"ws://{host}:{port}"
