"""Another gateway as its client sees it. Two real ones are in the flows."""

from collections.abc import Callable
from dataclasses import replace

import anyio
import pytest

from roost.client.errors import Unreachable, Untrusted
from roost.core.errors import RoostError, Undelivered
from roost.core.exchanges import Sent
from roost.core.jsonvalue import JsonObject
from roost.core.remotes import RemoteSession, Taken
from roost.core.secrets import Secret
from roost.ports import Unreached
from roost.remotes import WAIT_MS, WAITS_MS, RemoteGateway
from tests import samples
from tests.unit.client.gateways import FakeGateway, Refusal

EXCHANGE = replace(samples.exchange(), sent=Sent(remote=RemoteSession(gateway="office", session="main")))
STARTED: JsonObject = {"status": "started", "sessionKey": "agent:main:main"}


async def carried(gateway: FakeGateway) -> tuple[str | None, list[Taken]]:
    heard: list[Taken] = []

    async def taken(by: Taken) -> None:
        heard.append(by)

    with anyio.fail_after(60):
        return await RemoteGateway(gateway.dial, Secret("t")).carry(EXCHANGE, 7_000, taken), heard


async def test_a_message_is_said_under_its_id_and_its_run_is_waited_for() -> None:
    waits: list[JsonObject] = [
        {"status": "timeout"},
        {"status": "timeout", "startedAt": 1},
        {"status": "timeout", "startedAt": 1},
        {"status": "ok", "terminalReply": {"text": "Three."}},
    ]
    gateway = FakeGateway(chat_send=lambda params: STARTED)
    gateway.replies["agent.wait"] = lambda params: waits.pop(0)
    key = "agent:main:main"
    assert await carried(gateway) == ("Three.", [Taken(key=key), Taken(key=key, begun=True)])
    (_, connect), (_, said), *asked = gateway.asked
    assert (connect["auth"], connect["scopes"]) == ({"token": "t"}, ["operator.write"])
    assert said == {
        "sessionKey": "main",
        "message": EXCHANGE.request,
        "idempotencyKey": EXCHANGE.id,
        "timeoutMs": 7_000,
        "systemInputProvenance": {"kind": "inter_session", "sourceSessionKey": str(EXCHANGE.requester)},
    }
    lengths = (*WAITS_MS, WAIT_MS, WAIT_MS)
    assert [params for _, params in asked] == [{"runId": EXCHANGE.id, "timeoutMs": one} for one in lengths]


def refusing(code: str, details: dict[str, str]) -> Callable[[object], JsonObject]:
    def refuse(params: object) -> JsonObject:
        raise Refusal(code=code, message="no", details=details)

    return refuse


@pytest.mark.parametrize(
    ("code", "details", "kind", "told"),
    [
        ("UNAVAILABLE", {}, Unreached, "office cannot be reached: no"),
        ("INVALID_REQUEST", {"code": "AUTH_RATE_LIMITED"}, Unreached, "office cannot be reached: no"),
        ("FORBIDDEN", {}, Undelivered, "office refused it: FORBIDDEN, no"),
        ("FORBIDDEN", {"code": "MISSING_SCOPE"}, Undelivered, "office refused it: MISSING_SCOPE, no"),
    ],
)
async def test_a_refusal_is_kept_with_its_code(
    code: str, details: dict[str, str], kind: type[RoostError], told: str
) -> None:
    with pytest.raises(kind, match=told):
        await carried(FakeGateway(chat_send=refusing(code, details)))


async def test_a_run_that_ends_without_an_answer_is_told_of() -> None:
    gateway = FakeGateway(chat_send=lambda params: STARTED)
    gateway.replies["agent.wait"] = lambda params: {"status": "error", "error": "no model"}
    with pytest.raises(Undelivered, match="office gave no answer: no model"):
        await carried(gateway)


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (Unreachable("nobody is there"), Unreached, "nobody is there"),
        (Untrusted("another certificate"), Undelivered, "another certificate .nothing was sent"),
    ],
)
async def test_who_cannot_be_reached_may_be_later_and_who_cannot_be_trusted_never(
    error: RoostError, kind: type[RoostError], told: str
) -> None:
    gateway = FakeGateway()
    gateway.refusals.append(error)
    with pytest.raises(kind, match=told):
        await carried(gateway)
