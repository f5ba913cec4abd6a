"""A test that would speak to another machine fails instead, so no model is ever called for real."""

import ast
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest

from roost.core.secrets import Secret
from roost.models.endpoints import OPENAI_URL, Endpoint
from roost.models.library.anthropic import ANTHROPIC
from roost.models.library.google import GOOGLE
from roost.models.library.model import HostedModel, Wire
from roost.models.library.responses import RESPONSES
from roost.models.openai import OpenAIModel
from roost.ports import Model
from roost.testing.clock import FakeClock
from tests.asking import request
from tests.meta import tree
from tests.network import ReachedOutside, is_here

OUTSIDE = "203.0.113.7"


@pytest.mark.parametrize("host", [OUTSIDE, "2001:db8::1", "10.0.0.1"])
def test_connecting_to_another_machine_is_an_error(host: str) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as sock, pytest.raises(ReachedOutside, match=host):
        sock.connect((host, 80))
    with socket.socket(family, socket.SOCK_DGRAM) as sock, pytest.raises(ReachedOutside, match=host):
        sock.sendto(b"x", (host, 53))


def test_asking_for_the_address_of_another_machine_is_an_error() -> None:
    with pytest.raises(ReachedOutside, match=r"api\.example\.com"):
        socket.getaddrinfo("api.example.com", 443)


def reasons(error: BaseException | None) -> Iterator[BaseException]:
    """An error and everything behind it."""
    if error is not None:
        yield error
        yield from reasons(error.__cause__ or error.__context__)
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from reasons(one)


@contextmanager
def kept_in() -> Iterator[None]:
    with pytest.raises(Exception) as caught:  # noqa: PT011 — each library wraps it in its own way
        yield
    assert any(isinstance(one, ReachedOutside) for one in reasons(caught.value))


async def test_an_http_client_does_not_get_out() -> None:
    async with httpx2.AsyncClient(trust_env=False) as client:
        with kept_in():
            await client.get(f"http://{OUTSIDE}/")


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", b"localhost", "", None, "/run/pg", "::1%lo"]
)
def test_this_machine_may_be_reached(host: str | bytes | None) -> None:
    assert is_here(host)


async def refused(model: Model) -> None:
    with kept_in():
        async with model.stream(request()) as events:
            await anext(events)


@pytest.mark.parametrize("wire", [RESPONSES, ANTHROPIC, GOOGLE], ids=lambda wire: wire.api)
async def test_a_provider_at_its_own_address_is_never_called(wire: Wire) -> None:
    endpoint = Endpoint(provider="real", base_url=wire.base_url, key=Secret("sk-nobody"))
    model = HostedModel(endpoint, FakeClock(), wire)
    await refused(model)
    await model.aclose()


async def test_nor_is_the_address_of_chat_completions() -> None:
    model = OpenAIModel(Endpoint(provider="real", base_url=OPENAI_URL), FakeClock())
    await refused(model)
    await model.aclose()


# What opens a connection by itself: library → names.
OPENING = {
    "aiohttp": {"ClientSession", "TCPConnector", "request"},
    "httpx2": {
        "AsyncClient",
        "AsyncHTTPTransport",
        "Client",
        "HTTPTransport",
        "get",
        "post",
        "request",
        "stream",
    },
    "urllib.request": {"urlopen", "Request", "build_opener"},
    "http.client": {"HTTPConnection", "HTTPSConnection"},
}
OPENERS = frozenset[str]().union(*OPENING.values())


def opened(module: tree.Module) -> Iterator[str]:
    for at in ast.walk(module.syntax):
        if isinstance(at, ast.Call) and isinstance(at.func, ast.Attribute):
            name = at.func.attr
            if name in OPENERS and name in OPENING.get(library := ast.unparse(at.func.value), ()):
                yield f"{module.path}:{at.lineno}: {library}.{name}"
        if isinstance(at, ast.ImportFrom) and at.module in OPENING:
            yield from (f"{module.path}: {one.name}" for one in at.names if one.name in OPENING[at.module])


@pytest.mark.requirement("S14")
def test_only_one_module_reaches_out_to_the_web() -> None:
    shipped = [one for one in tree.modules("src") if not one.name.startswith("roost.testing")]
    assert list(opened(next(one for one in shipped if one.name == "roost.egress")))
    tree.assert_none(found for one in shipped if one.name != "roost.egress" for found in opened(one))
