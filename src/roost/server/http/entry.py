"""Who a request comes from: by its bearer credential, judged as at every other door."""

from collections.abc import Callable
from typing import TypeAlias

from starlette.requests import HTTPConnection, Request

from roost.core.entrance import origin_allowed
from roost.protocol.handshake import PROTOCOL, Connect, Refusal
from roost.protocol.scopes import EVERY, Scope, holds
from roost.protocol.turnedaway import FOREIGN_PAGE
from roost.server.auth import Admitted, Authenticator, Peer
from roost.server.house import House, Phase
from roost.server.http.offers import AWAY, BUSY, FORBIDDEN, UNAUTHORIZED, Offer
from roost.server.http.pages import Turned, dismissed
from roost.server.strangers import code_of

ASKED = "x-openclaw-scopes"
_USUAL = tuple(sorted(EVERY - {Scope.SESSION_TOOLS}))

PeerOf: TypeAlias = Callable[[HTTPConnection], Peer]


class Entry:
    def __init__(self, house: House, authenticator: Authenticator, peer_of: PeerOf) -> None:
        self._house = house
        self._authenticator = authenticator
        self._peer_of = peer_of

    async def admit(self, request: Request, offer: Offer) -> Admitted:
        """Raises `Turned` unless the caller may have this."""
        admitted = await self._admitted(request)
        if offer.needs is not None and not holds(admitted.scopes, offer.needs):
            raise Turned(FORBIDDEN, f"missing scope: {offer.needs}", "forbidden")
        if offer.owners and not admitted.principal.is_owner:
            raise Turned(FORBIDDEN, "this is for the owner of the gateway", "forbidden")
        return admitted

    async def would_admit(self, request: Request, offer: Offer) -> bool:
        """Whether a caller who shows a credential may have this."""
        if "authorization" not in request.headers:
            return False
        try:
            await self.admit(request, offer)
        except Turned:
            return False
        return True

    async def _admitted(self, request: Request) -> Admitted:
        if self._house.phase is not Phase.SERVING:
            raise Turned(AWAY, f"the gateway is {self._house.phase}", "unavailable", retry_ms=1_000)
        peer = self._peer_of(request)
        entrance = self._house.engine.rules.house.entrance
        if peer.origin is not None and not origin_allowed(peer.origin, peer.called, entrance):
            # A web page of somebody else's: its reader did not send this.
            self._house.strangers.turned_away(code_of(FOREIGN_PAGE), peer.host)
            raise Turned(FORBIDDEN, "this origin may not call", "forbidden")
        found = None
        with self._house.callers.staying() as stay:
            found = await self._authenticator.admit(_connect(request), peer)
        if found is None:
            raise dismissed(stay)
        if isinstance(found, Refusal):
            self._house.strangers.turned_away(code_of(found), peer.host)
            wait = found.failure.retry_after_ms if found.failure else None
            if wait is not None:
                raise Turned(BUSY, "Too many attempts", "rate_limited", retry_ms=wait)
            raise Turned(UNAUTHORIZED, "Unauthorized", "unauthorized")
        return found


def _connect(request: Request) -> Connect:
    """The handshake that a request stands for: it asks for all that is usual, or for what it names."""
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    named = request.headers.get(ASKED, "")
    asked = [word for word in named.replace(",", " ").split() if word] or list(_USUAL)
    client = {"id": "http", "version": "1", "platform": "http", "mode": "http"}
    return Connect.model_validate(
        {
            "minProtocol": PROTOCOL,
            "maxProtocol": PROTOCOL,
            "client": client,
            "scopes": asked,
            "auth": {"token": secret.strip() or None} if kind.lower() == "bearer" else {},
        }
    )
