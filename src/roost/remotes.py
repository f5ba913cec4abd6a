"""Another gateway, as a client of it reaches it.

The token says to it who we are; its certificate, or the one fingerprint that is trusted, says to us who it is.
"""

from collections.abc import Awaitable, Callable
from itertools import chain, repeat

from roost.client.client import Client
from roost.client.errors import ConnectionLost, Refused, TurnFailed, Unreachable, Untrusted
from roost.client.handshake import Introduction
from roost.client.trust import Trust
from roost.client.turns import waited
from roost.core.errors import RoostError, Undelivered
from roost.core.exchanges import Exchange
from roost.core.jsonvalue import JsonObject
from roost.core.remotes import Taken
from roost.core.secrets import Secret
from roost.ports import Unreached
from roost.protocol.families.agents import WAIT
from roost.protocol.families.chat import SEND
from roost.protocol.frames import ErrorCode
from roost.protocol.scopes import Scope

# At first it is asked sooner whether a run has begun.
WAITS_MS = (1_000, 5_000)
WAIT_MS = 25_000


class RemoteGateway:
    def __init__(self, url: str, token: Secret, fingerprint: str | None = None) -> None:
        self._url = url
        self._who = Introduction(
            id="gateway-client", mode="backend", token=token, scopes=(Scope.WRITE,), caps=()
        )
        self._trust = Trust(fingerprint=fingerprint)

    async def carry(
        self, exchange: Exchange, limit_ms: int, taken: Callable[[Taken], Awaitable[None]]
    ) -> str | None:
        try:
            async with Client(self._url, who=self._who, trust=self._trust) as client:
                said = await client.call(SEND, _message(exchange, limit_ms))
                key = str(said.get("sessionKey", ""))
                await taken(Taken(key=key))
                return await self._answer(client, exchange.id, key, taken)
        except (Unreachable, ConnectionLost, Untrusted, Refused, TurnFailed) as error:
            raise self._told(error) from error

    async def _answer(
        self, client: Client, name: str, key: str, taken: Callable[[Taken], Awaitable[None]]
    ) -> str | None:
        begun = False
        for wait_ms in chain(WAITS_MS, repeat(WAIT_MS)):
            heard = await client.call(WAIT, {"runId": name, "timeoutMs": wait_ms})
            ended = waited(heard)
            if ended is not None:
                return ended.text
            if not begun and heard.get("startedAt") is not None:
                begun = True
                await taken(Taken(key=key, begun=True))
        raise AssertionError("it is asked for ever")

    def _told(self, error: RoostError) -> RoostError:
        """An error of a client as its sender is to read it."""
        match error:
            case Refused(wire_code=ErrorCode.UNAVAILABLE) | Unreachable() | ConnectionLost():
                return Unreached(f"{self._url} cannot be reached: {error.message}")
            case Refused():
                return Undelivered(
                    f"{self._url} refused it: {error.reason or error.wire_code}, {error.message}"
                )
            case TurnFailed():
                return Undelivered(f"{self._url} gave no answer: {error.message}")
            case _:
                return Undelivered(
                    f"{error.message}", hint="nothing was sent; see `remotes` and its `fingerprint`"
                )


def _message(exchange: Exchange, limit_ms: int) -> JsonObject:
    remote = exchange.sent.remote
    assert remote is not None, "only what goes to another gateway is carried"
    return {
        "sessionKey": remote.session,
        "message": exchange.request,
        "idempotencyKey": exchange.id,
        "timeoutMs": limit_ms,
        "systemInputProvenance": {"kind": "inter_session", "sourceSessionKey": str(exchange.requester)},
    }
