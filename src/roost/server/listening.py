"""The port: bound before anything else is opened, served until it is told to stop."""

import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import uvicorn
from starlette.types import ASGIApp

from roost.core.errors import ConfigInvalid
from roost.protocol.handshake import MAX_PAYLOAD
from roost.server.transports import Silent, Widening, cautious

BACKLOG = 2_048
PING_S, PONG_S = 20.0, 25.0
STOP_S = 1


def bind(host: str, port: int) -> socket.socket:
    """A socket on this address; port 0 is one that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named: asyncio lets small writes go at once only on what says that it is TCP.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise ConfigInvalid(
                f"port {port} of {host} is taken: a gateway may be running already",
                hint="stop it, or choose another with --port or `gateway.port`",
            ) from None
        raise ConfigInvalid(
            f"cannot listen on {host} port {port}: {error.strerror}",
            hint="see `gateway.bind` and `gateway.port`",
        ) from None
    listening.setblocking(False)
    return listening


class Listener(uvicorn.Server):
    """A server that leaves signals to whoever started it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    chain: str
    key: str


def listener(app: ASGIApp, certificate: Certificate | None = None) -> Listener:
    settings = uvicorn.Config(
        app,
        http=cautious(Silent()),
        ws=Widening,
        ws_max_size=MAX_PAYLOAD,
        ws_ping_interval=PING_S,
        ws_ping_timeout=PONG_S,
        ws_per_message_deflate=False,
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=STOP_S,
    )
    if certificate is not None:
        settings.ssl_certfile, settings.ssl_keyfile = certificate.chain, certificate.key
    try:
        settings.load()
    except OSError as error:
        raise ConfigInvalid(
            f"the certificate cannot be used: {error}", hint="see `gateway.tls.cert` and `gateway.tls.key`"
        ) from None
    return Listener(settings)
