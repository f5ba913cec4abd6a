"""How clients come in, or are turned away."""

import pytest

from roost.protocol.handshake import (
    NO_CREDENTIAL,
    NOT_JSON,
    STARTING,
    Connect,
    Offer,
    Refusal,
    Welcome,
    hello,
    protocol_refusal,
    refused,
    wrong_role,
    wrong_secret,
)
from roost.protocol.params import read_params

CONNECT = {
    "minProtocol": 4,
    "maxProtocol": 4,
    "client": {"id": "cli", "version": "1", "platform": "linux", "mode": "cli"},
}


def connect(**changes: object) -> Connect:
    return read_params("connect", Connect, {**CONNECT, **changes})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("oldest", "newest", "taken"), [(4, 4, True), (3, 4, True), (3, 3, False), (5, 6, False)]
)
def test_a_client_must_speak_our_version(oldest: int, newest: int, *, taken: bool) -> None:
    refusal = protocol_refusal(connect(minProtocol=oldest, maxProtocol=newest))
    assert (refusal is None) is taken
    if refusal is not None:
        assert refusal.close == 1002
        assert refusal.failure is not None
        assert refusal.failure.details == {
            "code": "PROTOCOL_MISMATCH",
            "clientMinProtocol": oldest,
            "clientMaxProtocol": newest,
            "expectedProtocol": 4,
            "minimumProbeProtocol": 3,
        }


def test_every_refusal_says_why_in_the_frame_that_closes() -> None:
    assert NOT_JSON.reason == ""
    assert refused("ä" * 100).reason == "ä" * 61
    assert Refusal(close=1008, said="shorter").reason == "shorter"
    assert wrong_role("node").close == 1008
    for refusal, code in (
        (wrong_secret("password"), "AUTH_PASSWORD_MISMATCH"),
        (NO_CREDENTIAL, "DEVICE_IDENTITY_REQUIRED"),
    ):
        assert refusal.failure is not None
        assert refusal.failure.details is not None
        assert refusal.failure.details["code"] == code
    assert STARTING.close == 1013


def test_who_comes_in_is_told_what_there_is_and_what_it_may() -> None:
    welcome = Welcome(connection_id="c", method="token", scopes=("operator.read",))
    told = hello(welcome, Offer(version="1", boot_id="b", methods=("health",), events=("tick",)), {"a": 1})
    assert told["server"] == {"version": "1", "bootId": "b", "connId": "c"}
    assert told["auth"] == {"method": "token", "role": "operator", "scopes": ["operator.read"]}
    assert told["policy"] == {
        "maxPayload": 26_214_400,
        "maxBufferedBytes": 52_428_800,
        "tickIntervalMs": 30_000,
        "attachments": {"maxBytes": 6_291_456, "maxImageBytes": 6_291_456},
    }
    assert (told["type"], told["protocol"], told["snapshot"]) == ("hello-ok", 4, {"a": 1})
