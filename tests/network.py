"""No test reaches beyond this machine: connecting to, or asking for the address of, any other host is an error."""

import ipaddress
import sys

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
    """From now on, in this process, for good."""
    sys.addaudithook(_watch)


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    match event, arguments:
        case (("socket.connect" | "socket.sendto" | "socket.sendmsg"), (_, (str(host), *_))):
            _check(host)
        case "socket.getaddrinfo", (host, *_) if host is None or isinstance(host, str | bytes):
            _check(host)
        case _:
            pass


def _check(host: str | bytes | None) -> None:
    if not is_here(host):
        raise ReachedOutside(f"a test reached for {host!r}")
