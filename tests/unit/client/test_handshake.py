"""Coming in."""

import pytest

from roost.client.errors import Refused, Starting, Unreachable
from roost.client.events import Event
from roost.client.handshake import Hello, Introduction, shake_hands
from roost.client.memory import ends
from roost.core.secrets import Secret
from tests.unit.client.gateways import FakeGateway, Refusal


def test_a_client_says_who_it_is_and_shows_only_what_it_has() -> None:
    params = Introduction(token=Secret("t"), scopes=("operator.read",)).params()
    assert params["auth"] == {"token": "t"}
    assert params["scopes"] == ["operator.read"]
    assert Introduction(password=Secret("p")).params()["auth"] == {"password": "p"}


async def test_who_is_let_in_is_told_about_the_gateway() -> None:
    async with FakeGateway().dial() as wire:
        hello = await shake_hands(wire, Introduction(), list[Event]().append)
    assert (hello.version, hello.main_key, hello.scopes) == ("1", "agent:main:main", ("operator.read",))
    assert hello.methods == {"health"}


def test_a_gateway_that_says_little_is_understood() -> None:
    assert Hello.read({"features": {"methods": 1}}).main_key == "main"


@pytest.mark.parametrize(("code", "error"), [("UNAVAILABLE", Starting), ("INVALID_REQUEST", Refused)])
async def test_who_is_not_let_in_is_told_why(code: str, error: type[Exception]) -> None:
    gateway = FakeGateway()

    def refuse(params: object) -> None:
        raise Refusal(code=code, message="not now")

    gateway.replies["connect"] = refuse
    async with gateway.dial() as wire:
        with pytest.raises(error, match="not now"):
            await shake_hands(wire, Introduction(), list[Event]().append)


async def test_a_gateway_that_leaves_before_hello_was_not_reached() -> None:
    near, far = ends()
    heard: list[Event] = []
    await far.send(b'{"type":"event","event":"tick"}')
    await far.send(b"nonsense")
    far.hang_up()
    with pytest.raises(Unreachable):
        await shake_hands(near, Introduction(), heard.append)
    assert [event.name for event in heard] == ["tick"]
    near.drop()
    far.drop()
