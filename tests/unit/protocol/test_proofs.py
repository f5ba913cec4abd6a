"""What a device signs."""

from roost.protocol.handshake import Connect, Device
from roost.protocol.params import read_params
from roost.protocol.proofs import signed_texts
from tests.unit.protocol.test_handshake import CONNECT

DEVICE = {"id": "d", "publicKey": "k", "signature": "s", "signedAt": 7, "nonce": "n"}


def texts(**changes: object) -> tuple[str, str]:
    client = {"id": "tui", "version": "1", "platform": " Linux ", "deviceFamily": "ÄRA", "mode": "ui"}
    asked = {
        **CONNECT,
        "client": client,
        "scopes": ["operator.read", "operator.write"],
        "device": DEVICE,
        **changes,
    }
    connect = read_params("connect", Connect, asked)  # type: ignore[arg-type]
    assert isinstance(connect.device, Device)
    return signed_texts(connect, connect.device)


def test_both_forms_cover_who_asks_for_what_and_the_challenge() -> None:
    newer, older = texts(auth={"token": "t", "deviceToken": "x"})
    assert newer == "v3|d|tui|ui|operator|operator.read,operator.write|7|t|n|linux|Ära"
    assert older == "v2|d|tui|ui|operator|operator.read,operator.write|7|t|n"


def test_the_first_credential_that_is_given_is_covered() -> None:
    assert "|7|x|n" in texts(auth={"deviceToken": "x", "bootstrapToken": "b"})[1]
    assert "|7|b|n" in texts(auth={"bootstrapToken": "b"})[1]
    assert "|7||n" in texts(auth={"password": "p"})[1]
