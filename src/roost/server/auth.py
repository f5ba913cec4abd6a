"""Who a client is, by the credential it shows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from roost.core.principals import OWNER, Principal
from roost.core.secrets import Secret
from roost.protocol.handshake import (
    NO_CREDENTIAL,
    OPERATOR,
    Connect,
    Refusal,
    wrong_role,
    wrong_secret,
)
from roost.protocol.scopes import EVERY, Scope, grant


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """Where a connection comes from, before anything of it is believed."""

    host: str | None = None
    origin: str | None = None
    forwarded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """Whose credential it was, how it was proven, and what it may do."""

    principal: Principal
    method: str
    scopes: tuple[Scope, ...]


class Authenticator(Protocol):
    """Decides on a handshake."""

    async def admit(self, connect: Connect, peer: Peer) -> Admitted | Refusal: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """The owner's; None for what is not set. `open` lets in whoever can reach the port."""

    token: Secret | None = None
    password: Secret | None = None
    open: bool = False


Current: TypeAlias = Callable[[], Secrets]


class SharedSecret:
    """The owner's token or password, in either field; whoever has it is the owner, with the scopes asked for."""

    def __init__(self, secrets: Current) -> None:
        self._secrets = secrets

    async def admit(self, connect: Connect, peer: Peer) -> Admitted | Refusal:
        if connect.role != OPERATOR:
            return wrong_role(connect.role)
        secrets, auth = self._secrets(), connect.auth
        if secrets.open:
            return self._owner("none", connect)
        shown = [one for one in (auth.token, auth.password, auth.device_token) if one]
        if not shown:
            return NO_CREDENTIAL
        for method, secret in (("token", secrets.token), ("password", secrets.password)):
            if secret is not None and any(secret.matches(one) for one in shown):
                return self._owner(method, connect)
        return wrong_secret("token" if secrets.token is not None else "password")

    def _owner(self, method: str, connect: Connect) -> Admitted:
        return Admitted(principal=OWNER, method=method, scopes=grant(connect.scopes, EVERY))
