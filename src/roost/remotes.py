"""Another gateway, as a client of it reaches it.

The token says to it who we are; its certificate, or the one fingerprint that is trusted, says to us who it is.
"""

from collections.abc import Awaitable, Callable
from itertools import chain, repeat
from typing import TypeAlias

from roost.client.client import Client
from roost.client.errors import ConnectionLost, Refused, TurnFailed, Unreachable, Untrusted
from roost.client.handshake import Introduction
from roost.client.trust import Trust
from roost.client.turns import waited
from roost.client.wires import Dial
from roost.core.errors import RoostError, Undelivered
from roost.core.exchanges import Exchange
from roost.core.jsonvalue import JsonObject
from roost.core.remotes import Taken
from roost.core.secrets import Secret
from roost.ports import Unreached
from roost.protocol import turnedaway
from roost.protocol.families.agents import WAIT
from roost.protocol.families.chat import SEND
from roost.protocol.frames import ErrorCode
from roost.protocol.scopes import Scope

# At first it is asked sooner whether a run has begun.
WAITS_MS = (1_000, 5_000)
WAIT_MS = 25_000

Told: TypeAlias = Callable[[Taken], Awaitable[None]]


class RemoteGateway:
    def __init__(self, gateway: str | Dial, token: Secret, fingerprint: str | None = None) -> None:
        """`gateway` is its address."""
        self._gateway = gateway
        self._who = Introduction(
            id="gateway-client", mode="backend", token=token, scopes=(Scope.WRITE,), caps=()
        )
        self._trust = Trust(fingerprint=fingerprint)

    async def carry(self, exchange: Exchange, limit_ms: int, taken: Told) -> str | None:
        remote = exchange.sent.remote
        assert remote is not None, "only what goes to another gateway is carried"
        message: JsonObject = {
            "sessionKey": remote.session,
            "message": exchange.request,
            "idempotencyKey": exchange.id,
            "timeoutMs": limit_ms,
            "systemInputProvenance": {"kind": "inter_session", "sourceSessionKey": str(exchange.requester)},
        }
        try:
            async with Client(self._gateway, who=self._who, trust=self._trust) as client:
                said = await client.call(SEND, message)
                key = str(said.get("sessionKey", ""))
                await taken(Taken(key=key))
                return await _answer(client, exchange.id, key, taken)
        except (Unreachable, ConnectionLost, Untrusted, Refused, TurnFailed) as error:
            raise _for_sender(error, remote.gateway) from error


async def _answer(client: Client, name: str, key: str, taken: Told) -> str | None:
    begun, waits = False, chain(WAITS_MS, repeat(WAIT_MS))
    while True:
        heard = await client.call(WAIT, {"runId": name, "timeoutMs": next(waits)})
        ended = waited(heard)
        if ended is not None:
            return ended.text
        if not begun and heard.get("startedAt") is not None:
            begun = True
            await taken(Taken(key=key, begun=True))


def _for_sender(error: RoostError, gateway: str) -> RoostError:
    """An error of a client as the sender of a message is to read it."""
    match error:
        case (
            Unreachable()
            | ConnectionLost()
            | Refused(wire_code=ErrorCode.UNAVAILABLE)
            | Refused(reason=turnedaway.RATE_LIMITED)
        ):
            return Unreached(f"{gateway} cannot be reached: {error.message}")
        case Refused():
            return Undelivered(f"{gateway} refused it: {error.reason or error.wire_code}, {error.message}")
        case TurnFailed():
            return Undelivered(f"{gateway} gave no answer: {error.message}")
        case _:
            return Undelivered(
                error.message, hint="nothing was sent; see `gateway.remotes` and `fingerprint`"
            )
