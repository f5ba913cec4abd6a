"""Who a client is, by the credential it shows."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from roost.core.devices import digest
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
    """Where a connection comes from, before anything of it is believed: its address, the page it is of, if it is of
    one, the name it called the gateway by, and the challenge it was given."""

    host: str = ""
    origin: str | None = None
    called: str | None = None
    local: bool = True
    nonce: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issued:
    token: str
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """Whose credential it was, how it was proven, and what it may do. `proof` is a digest of what was shown; `issued` is
    a token that the device gets now."""

    principal: Principal
    method: str
    scopes: tuple[Scope, ...]
    device: str | None = None
    proof: str = field(default="", compare=False, repr=False)
    issued: Issued | None = field(default=None, compare=False, repr=False)


class Authenticator(Protocol):
    """Decides on a handshake."""

    async def admit(self, connect: Connect, peer: Peer) -> Admitted | Refusal: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """The owner's; None for what is not set. `open` lets in whoever is on this machine."""

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
            return self._owner("none", connect, "") if peer.local else NO_CREDENTIAL
        shown = [one for one in (auth.token, auth.password, auth.device_token) if one]
        if not shown:
            return NO_CREDENTIAL
        for method, secret in _named(secrets):
            if any(secret.matches(one) for one in shown):
                return self._owner(method, connect, digest(secret.reveal()))
        return wrong_secret("token" if secrets.token is not None else "password")

    def stands(self, admitted: Admitted) -> bool:
        """Whether the secret that somebody came in with is still one."""
        secrets = self._secrets()
        if secrets.open:
            return True
        return any(
            method == admitted.method and digest(secret.reveal()) == admitted.proof
            for method, secret in _named(secrets)
        )

    def _owner(self, method: str, connect: Connect, proof: str) -> Admitted:
        return Admitted(principal=OWNER, method=method, scopes=grant(connect.scopes, EVERY), proof=proof)


def _named(secrets: Secrets) -> list[tuple[str, Secret]]:
    named = (("token", secrets.token), ("password", secrets.password))
    return [(method, secret) for method, secret in named if secret is not None]
