"""Who a client is, by the credential it shows."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from roost.core.devices import digest
from roost.core.entrance import ProxyLogin
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

BY_PROXY = "trusted-proxy"
"""What somebody may whom a proxy names and who is not the owner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """Where a connection comes from, before anything of it is believed: its address, the page it is of, if it is of
    one, the name it called the gateway by, and the challenge it was given. `user` is whom a listed proxy speaks for."""

    host: str = ""
    origin: str | None = None
    called: str | None = None
    local: bool = True
    user: str | None = None
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
    user: str = ""
    proof: str = field(default="", compare=False, repr=False)
    issued: Issued | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return str(self.principal) if self.device is None else f"{self.principal} on device {self.device}"


class Authenticator(Protocol):
    """Decides on a handshake."""

    async def admit(self, connect: Connect, peer: Peer) -> Admitted | Refusal: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """The owner's; None for what is not set. `open` lets in whoever is on this machine, `login` whom proxies name."""

    token: Secret | None = None
    password: Secret | None = None
    open: bool = False
    login: ProxyLogin | None = None


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
        if (found := _by_proxy(peer, secrets.login, connect)) is not None:
            return found
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
        if admitted.method == BY_PROXY:
            return secrets.login is not None and _proof(admitted.user, secrets.login) == admitted.proof
        return any(
            method == admitted.method and digest(secret.reveal()) == admitted.proof
            for method, secret in _named(secrets)
        )

    def _owner(self, method: str, connect: Connect, proof: str) -> Admitted:
        return Admitted(principal=OWNER, method=method, scopes=grant(connect.scopes, EVERY), proof=proof)


def _by_proxy(peer: Peer, login: ProxyLogin | None, connect: Connect) -> Admitted | None:
    name = peer.user
    if name is None or login is None or (principal := login.principal(name)) is None:
        return None
    return Admitted(
        principal=principal,
        method=BY_PROXY,
        scopes=grant(connect.scopes, EVERY),
        user=name,
        proof=_proof(name, login),
    )


def _proof(name: str, login: ProxyLogin) -> str:
    """Changes with whatever the name was believed for."""
    return digest("\n".join((name, str(login.principal(name)), login.header, *login.proxies)))


def _named(secrets: Secrets) -> list[tuple[str, Secret]]:
    named = (("token", secrets.token), ("password", secrets.password))
    return [(method, secret) for method, secret in named if secret is not None]
