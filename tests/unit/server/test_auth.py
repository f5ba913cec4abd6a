"""Who a client is, by the credential it shows."""

import pytest

from roost.core.principals import OWNER
from roost.core.secrets import Secret
from roost.protocol.handshake import Connect, Refusal
from roost.protocol.params import read_params
from roost.protocol.scopes import Scope
from roost.server.auth import Admitted, Peer, Secrets, SharedSecret
from tests.unit.protocol.test_handshake import CONNECT

TOKEN = Secrets(token=Secret("t0ken"))
BOTH = Secrets(token=Secret("t0ken"), password=Secret("sesame"))


async def admit(secrets: Secrets, **changes: object) -> Admitted | Refusal:
    asked = {**CONNECT, "scopes": ["operator.write"], **changes}
    connect = read_params("connect", Connect, asked)  # type: ignore[arg-type]
    return await SharedSecret(lambda: secrets).admit(connect, Peer())


@pytest.mark.parametrize(
    "auth", [{"token": "t0ken"}, {"password": "t0ken"}, {"token": "x", "password": "t0ken"}]
)
async def test_the_secret_makes_the_owner_in_whichever_field(auth: dict[str, str]) -> None:
    admitted = await admit(TOKEN, auth=auth)
    assert admitted == Admitted(principal=OWNER, method="token", scopes=(Scope.WRITE,))


async def test_a_password_counts_as_well() -> None:
    admitted = await admit(BOTH, auth={"password": "sesame"})
    assert isinstance(admitted, Admitted)
    assert admitted.method == "password"


@pytest.mark.parametrize(
    ("secrets", "auth", "code"),
    [
        (TOKEN, {"token": "wrong"}, "AUTH_TOKEN_MISMATCH"),
        (Secrets(password=Secret("p")), {"token": "wrong"}, "AUTH_PASSWORD_MISMATCH"),
        (TOKEN, {}, "DEVICE_IDENTITY_REQUIRED"),
        (TOKEN, {"token": ""}, "DEVICE_IDENTITY_REQUIRED"),
    ],
)
async def test_whoever_has_it_not_is_told_what_is_wrong(
    secrets: Secrets, auth: dict[str, str], code: str
) -> None:
    refusal = await admit(secrets, auth=auth)
    assert isinstance(refusal, Refusal)
    assert refusal.failure is not None
    assert refusal.failure.details is not None
    assert refusal.failure.details["code"] == code


async def test_an_open_gateway_asks_for_nothing_and_knows_one_role() -> None:
    assert isinstance(await admit(Secrets(open=True)), Admitted)
    assert isinstance(await admit(Secrets(open=True), role="node"), Refusal)
