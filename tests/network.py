"""No test reaches beyond this machine: connecting to, or asking for the address of, any other host is an error."""

import functools
import ipaddress
import socket
from collections.abc import Callable
from typing import Any

NAMES = frozenset({"localhost", ""})


class ReachedOutside(RuntimeError):
    """A test tried to speak to another machine."""


def is_here(host: str | bytes | None) -> bool:
    """Whether a host is this machine itself; a path is a socket in its files."""
    text = host.decode("utf-8", "replace") if isinstance(host, bytes) else host or ""
    if text in NAMES or text.startswith("/"):
        return True
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def stay_here() -> None:
    """From now on, in this process, for good.

    Not by an audit hook: CPython 3.11 fails to trace a thread that starts while another one's hook is asked.
    """
    for name in ("connect", "connect_ex", "sendto", "sendmsg"):
        setattr(socket.socket, name, _guarded(getattr(socket.socket, name)))
    find = socket.getaddrinfo

    def found(host: str | bytes | None, *rest: Any, **named: Any) -> list[Any]:
        _check(host)
        return find(host, *rest, **named)

    setattr(socket, find.__name__, found)


def _guarded(reach: Callable[..., Any]) -> Callable[..., Any]:
    """A method of sockets whose last argument is an address, if it was given one."""

    @functools.wraps(reach)
    def checked(own: socket.socket, *arguments: Any) -> Any:
        match arguments:
            case (*_, (str(host), *_)):
                _check(host)
            case _:
                pass
        return reach(own, *arguments)

    return checked


def _check(host: str | bytes | None) -> None:
    if not is_here(host):
        raise ReachedOutside(f"a test reached for {host!r}")
