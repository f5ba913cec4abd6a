"""A connection from its challenge to its end, without a socket."""

from typing import Any

import orjson
import pytest

from roost.protocol.connection import Ask, Close, Connection, Nothing, Phase, Send, Serve
from roost.protocol.handshake import MAX_BEFORE_HELLO, MAX_PAYLOAD, NO_CREDENTIAL
from tests.unit.protocol.test_handshake import CONNECT


def request(method: str, params: object = None, request_id: str = "1") -> bytes:
    return orjson.dumps({"type": "req", "id": request_id, "method": method, "params": params or {}})


def challenged() -> Connection:
    connection = Connection("nonce", 5)
    challenge = orjson.loads(connection.open())
    assert challenge == {
        "type": "event",
        "event": "connect.challenge",
        "payload": {"nonce": "nonce", "ts": 5},
    }
    return connection


def opened() -> Connection:
    connection = challenged()
    assert isinstance(connection.receive(request("connect", CONNECT)), Ask)
    assert orjson.loads(connection.welcome({"hi": 1})) == {
        "type": "res",
        "id": "1",
        "ok": True,
        "payload": {"hi": 1},
    }
    return connection


def error(action: object) -> dict[str, Any]:
    assert isinstance(action, Close | Send)
    assert action.frame is not None
    found: dict[str, Any] = orjson.loads(action.frame)
    return found


def test_a_client_that_connects_is_asked_about_and_then_served() -> None:
    connection = opened()
    assert connection.phase is Phase.OPEN
    served = connection.receive(request("health"))
    assert isinstance(served, Serve)
    assert served.request.method == "health"
    assert orjson.loads(connection.number(b'{"type":"event","event":"x","payload":{}'))["seq"] == 1
    assert orjson.loads(connection.number(b'{"type":"event","event":"x","payload":{}'))["seq"] == 2


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        (request("health"), 1008, "invalid handshake: first request must be connect"),
        (b"[]", 1008, "invalid handshake: first request must be connect"),
        (request("connect", {}), 1008, "invalid connect params: must have required property 'minProtocol'"),
        (request("connect", {**CONNECT, "maxProtocol": 3, "minProtocol": 3}), 1002, "protocol mismatch"),
    ],
)
def test_a_handshake_that_is_none_ends_the_connection(text: bytes, code: int, message: str) -> None:
    connection = challenged()
    ended = connection.receive(text)
    assert isinstance(ended, Close)
    assert ended.code == code
    assert message in error(ended)["error"]["message"]
    assert connection.receive(request("connect", CONNECT)) == Nothing()


def test_what_is_no_json_ends_a_handshake_without_a_word() -> None:
    assert challenged().receive("hello") == Close(code=1000, reason="", frame=None)


def test_a_client_that_is_turned_away_hears_why() -> None:
    connection = challenged()
    connection.receive(request("connect", CONNECT, "7"))
    ended = connection.turn_away(NO_CREDENTIAL)
    assert (error(ended)["id"], error(ended)["error"]["code"], ended.code) == ("7", "NOT_PAIRED", 1008)
    assert ended.reason == "device identity required: give the gateway's token"


def test_a_client_that_does_not_wait_for_its_answer_is_sent_away() -> None:
    connection = challenged()
    connection.receive(request("connect", CONNECT))
    assert isinstance(connection.receive(request("health")), Close)


def test_before_the_handshake_little_is_taken_and_later_much() -> None:
    too_much = challenged().receive(b" " * (MAX_BEFORE_HELLO + 1))
    assert isinstance(too_much, Close)
    assert too_much.code == 1009
    connection = opened()
    padded = request("health") + b" " * MAX_BEFORE_HELLO
    assert isinstance(connection.receive(padded), Serve)
    assert isinstance(connection.receive(b" " * (MAX_PAYLOAD + 1)), Close)


def test_what_is_no_request_is_answered_and_the_connection_stays() -> None:
    connection = opened()
    assert connection.receive("no json") == Nothing()
    assert error(connection.receive(b'{"type":"req"}'))["id"] == "invalid"
    assert error(connection.receive(request("connect", CONNECT, "9")))["id"] == "9"
    assert connection.phase is Phase.OPEN
