"""Who a client is, by the credential it shows."""

from dataclasses import replace

import pytest

from roost.core.entrance import ProxyLogin
from roost.core.principals import OWNER
from roost.core.secrets import Secret
from roost.protocol.handshake import Connect, Refusal
from roost.protocol.params import read_params
from roost.protocol.scopes import Scope
from roost.server.auth import Admitted, Peer, Secrets, SharedSecret
from tests.unit.protocol.test_handshake import CONNECT

TOKEN = Secrets(token=Secret("t0ken"))
SCOPES = (Scope.WRITE, Scope.ADMIN)
BOTH = Secrets(token=Secret("t0ken"), password=Secret("sesame"))


async def admit(secrets: Secrets, user: str | None = None, **changes: object) -> Admitted | Refusal:
    asked = {**CONNECT, "scopes": ["operator.write", "operator.admin"], **changes}
    connect = read_params("connect", Connect, asked)  # type: ignore[arg-type]
    return await SharedSecret(lambda: secrets).admit(connect, Peer(user=user))


@pytest.mark.parametrize(
    "auth", [{"token": "t0ken"}, {"password": "t0ken"}, {"token": "x", "password": "t0ken"}]
)
async def test_the_secret_makes_the_owner_in_whichever_field(auth: dict[str, str]) -> None:
    admitted = await admit(TOKEN, auth=auth)
    assert admitted == Admitted(principal=OWNER, method="token", scopes=SCOPES)


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


LOGIN = ProxyLogin(proxies=("10.0.0.1/32",), header="x-user", owners=frozenset({"ada"}))


@pytest.mark.requirement("S19")
async def test_whom_a_proxy_names_stays_as_long_as_the_name_is_believed_alike() -> None:
    named = replace(TOKEN, login=LOGIN)
    admitted = await admit(named, "ada", auth={})
    assert isinstance(admitted, Admitted)
    assert (admitted.principal, admitted.method) == (OWNER, "trusted-proxy")
    assert SharedSecret(lambda: named).stands(admitted)
    for login in (
        None,
        replace(LOGIN, owners=frozenset()),
        replace(LOGIN, proxies=("10.0.0.2/32",)),
        replace(LOGIN, header="x-other"),
    ):
        after = replace(TOKEN, login=login)
        assert not SharedSecret(lambda after=after: after).stands(admitted)  # type: ignore[misc]


@pytest.mark.requirement("S19")
async def test_who_is_not_believed_may_still_show_the_secret() -> None:
    named = replace(TOKEN, login=LOGIN)
    assert isinstance(await admit(named, "mallory", auth={}), Refusal)
    shown = await admit(named, "mallory", auth={"token": "t0ken"})
    assert isinstance(shown, Admitted)
    assert shown.method == "token"
