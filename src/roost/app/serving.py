"""A gateway that clients can reach: the engine, its door, and the port they find it at."""

import logging
import os
import platform
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from socket import socket

import anyio

from roost.app import privatefiles
from roost.app.housing import housed
from roost.app.opening import open_engine
from roost.app.places import log_file
from roost.config import Loaded, Settings, policies
from roost.config.gateway import TOKEN_FILE, Bind
from roost.config.printed import printed
from roost.core.entrance import Entrance
from roost.core.errors import ConfigInvalid
from roost.core.leases import Gateway
from roost.core.secrets import Secret
from roost.engine.standby import Tell
from roost.server.asgi import application
from roost.server.auth import Secrets, SharedSecret
from roost.server.gatekeeper import Gatekeeper
from roost.server.house import House, Phase
from roost.server.listening import Certificate, Listener, bind, listener
from roost.server.ticking import dismiss_callers, say_goodbye, tick

TOKEN_BYTES = 24
GOODBYE_S, DISMISSAL_S = 2, 1

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """Where a gateway is reached. `token_file` holds what clients need, where the configuration gives no token. `drain`
    has clients leave and what is under way end, for `drain_ms` at most; nothing more is taken up. `leaving` is set when
    a client asked for that."""

    host: str
    port: int
    token_file: Path | None
    tls: bool
    drain: Callable[[], Awaitable[None]]
    drain_ms: int
    leaving: anyio.Event

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'wss' if self.tls else 'ws'}://{host}:{self.port}"

    @property
    def page(self) -> str:
        """What a person on this machine opens."""
        near = self.url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
        return f"http{near.removeprefix('ws')}/"


@asynccontextmanager
async def open_gateway(
    loaded: Loaded, *, version: str, tell: Tell, port: int | None = None, address: Bind | None = None
) -> AsyncIterator[Served]:
    """Serve clients for the length of the block, on the configured port and address unless others are given. The port
    is bound first; who comes before the store can be had is told to come again."""
    loaded = await _settled(loaded, address)
    settings = loaded.settings.gateway
    own = OwnToken(loaded.sources.home / TOKEN_FILE)
    token_file = own.made() if policies.entrance(loaded.settings).own else None
    certificate = _certificate(loaded)
    listening = bind(settings.bind.host, settings.port if port is None else port)
    host, bound = listening.getsockname()[:2]
    try:
        log = log_file(loaded.sources.home)
        async with open_engine(loaded, [], {}, version=version, log=log) as engine:
            for warning in loaded.warnings:
                _log.warning("%s", warning)
            inside = housed(
                loaded,
                engine,
                version=version,
                auth_mode=str(settings.auth.mode),
                drain_ms=settings.drain_ms,
            )
            house = inside.house
            keeper = Gatekeeper(house, SharedSecret(lambda: _secrets(engine.rules.house.entrance, own)))
            server = listener(application(house, inside.door(keeper), keeper), certificate)

            served = Served(
                host=host,
                port=bound,
                token_file=token_file,
                tls=certificate is not None,
                drain=partial(_drain, house, server, settings.drain_ms),
                drain_ms=settings.drain_ms,
                leaving=house.leaving,
            )
            engine.accompany("event loop", partial(house.meters.watch, house.clock))
            engine.accompany("strangers", partial(house.strangers.watch, house.clock))
            engine.accompany("credentials", keeper.watch)
            engine.accompany("ticks", partial(tick, house))
            async with _answering(server, listening, house), engine.standing_by(_gateway(served), tell):
                house.phase = Phase.SERVING
                yield served
                await _leave(house)
                await _dismiss(house)
    finally:
        listening.close()


@asynccontextmanager
async def _answering(server: Listener, listening: socket, house: House) -> AsyncIterator[None]:
    """Answer at the port for the length of the block. However that ends, clients are told before the store is closed."""
    closed = anyio.Event()

    async def serve() -> None:
        try:
            await server.serve([listening])
        finally:
            closed.set()

    async with anyio.create_task_group() as group:
        group.start_soon(serve)
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                await _leave(house)
                await _dismiss(house)
                server.should_exit = True
                await closed.wait()


async def _settled(loaded: Loaded, address: Bind | None) -> Loaded:
    """With the address that was asked for, so that whatever looks at the settings sees what runs."""
    if address is not None:
        loaded = loaded.with_change(partial(_bound, address))
    return replace(loaded, settings=await printed(loaded.settings))


def _bound(address: Bind, settings: Settings) -> Settings:
    own = settings.gateway.model_copy(update={"bind": address})
    return settings.model_copy(update={"gateway": own})


async def _drain(house: House, server: Listener, limit_ms: int) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(_leave, house)
        await house.engine.drain(limit_ms)
    await _dismiss(house)
    # What nobody waits for is closed while what did not end is ended.
    server.should_exit = True


async def _leave(house: House) -> None:
    if house.phase is Phase.STOPPING:
        return
    say_goodbye(house)
    with anyio.move_on_after(GOODBYE_S):
        await house.clients.all_gone()


async def _dismiss(house: House) -> None:
    """While there is a lease, so that what their questions leave behind can be tidied up."""
    dismiss_callers(house)
    with anyio.move_on_after(DISMISSAL_S):
        await house.callers.all_gone()


def _certificate(loaded: Loaded) -> Certificate | None:
    if loaded.certificate is None:
        return None
    chain, key = loaded.certificate
    return Certificate(chain=str(chain), key=str(key))


def _secrets(entrance: Entrance, own: "OwnToken") -> Secrets:
    """The owner's credentials as they are now: another file, or another configuration, holds at once."""
    token = own.current() if entrance.own else entrance.token
    return Secrets(token=token, password=entrance.password, open=not entrance.asks, login=entrance.login)


class OwnToken:
    """The token in a file, which its owner may replace. While there is none that can be used, nobody has it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._token: Secret | None = None
        self._stamp: tuple[int, int, int, int] | None = None

    def made(self) -> Path:
        """The file, made now if there is none; raises `ConfigInvalid` where it cannot be used."""
        self._token, self._stamp = own_token(self._file), self._look()
        return self._file

    def current(self) -> Secret | None:
        stamp = self._look()
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._token = None if stamp is None else own_token(self._file)
            except (ConfigInvalid, OSError, ValueError) as error:
                _log.warning("the gateway's token is not accepted any more: %s", error)
                self._token = None
        return self._token

    def _look(self) -> tuple[int, int, int, int] | None:
        try:
            found = self._file.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode


def own_token(file: Path) -> Secret:
    """The token of this gateway, made if there is none. Nobody but the owner of the file can read it."""
    if not file.exists():
        # In digits: one that begins with a dash cannot be given to a command.
        token = secrets.token_hex(TOKEN_BYTES)
        with suppress(FileExistsError):
            privatefiles.create(file, f"{token}\n")
    # Where two begin at once, the token is that of the first.
    if file.stat().st_mode & 0o077:
        raise ConfigInvalid(f"{file} can be read by others", hint=f"run chmod 600 {file}")
    text = file.read_text(encoding="utf-8").strip()
    if not text:
        raise ConfigInvalid(f"{file} is empty", hint="remove it: a token is made at the next start")
    return Secret(text)


def _gateway(served: Served) -> Gateway:
    """A name that no other has, on whatever machine or in whatever container: a second gateway on the same store works
    beside the first or waits for it, instead of taking its place."""
    process, machine = os.getpid(), platform.node() or "gateway"
    return Gateway(
        name=f"{machine}-{process}-{secrets.token_hex(2)}",
        holder=f"process {process} on {machine}",
        address=served.url,
    )
