"""`gateway`: where it listens and who may connect. Left empty it is closed: loopback, with a token."""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from roost.config.amounts import SpellingError
from roost.config.frozen import FrozenMap
from roost.config.remotes import Remote, RemoteName
from roost.config.secretfields import Credential
from roost.config.section import Loc, Section, Takes, about
from roost.config.spelling import Count, Flag, Port, Positive, Spelling, Text, Texts, pattern, read_text
from roost.core.entrance import FORWARDED

_HOST = re.compile(r"[a-z0-9]([a-z0-9.\-]{0,252}[a-z0-9])?", re.ASCII)
_ORIGIN = re.compile(r"https?://[a-z0-9.\-]+(:\d{1,5})?|https?://\[[0-9a-f:]+\](:\d{1,5})?", re.ASCII)
_HEADER = re.compile(r"[a-z0-9][a-z0-9\-]{0,62}", re.ASCII)
# These say something else, or are the client's own.
_TAKEN = FORWARDED | {"authorization", "cookie", "host", "origin", "user-agent"}

# Where the token lies that is made at the first start, below the folder of all state.
TOKEN_FILE = "gateway.token"  # noqa: S105 — the name of a file

_CLEAR_TEXT = (
    "beyond loopback the gateway needs TLS: set `gateway.tls.cert` and `gateway.tls.key`, or put a proxy with TLS before a"
    " gateway on loopback (`gateway.dangerouslyAllowClearText` does without)"
)


class AuthMode(StrEnum):
    NONE = "none"
    TOKEN = "token"  # noqa: S105 — a kind of credential, not one
    PASSWORD = "password"  # noqa: S105 — a kind of credential, not one
    TRUSTED_PROXY = "trusted-proxy"


@dataclass(frozen=True, slots=True)
class Bind:
    """An address to listen on, by name or number."""

    name: str

    @classmethod
    def parse(cls, found: object) -> "Bind":
        text = read_text(found)
        if text not in {"loopback", "lan"}:
            try:
                ipaddress.ip_address(text)
            except ValueError:
                raise SpellingError from None
        return cls(text)

    @property
    def host(self) -> str:
        return {"loopback": "127.0.0.1", "lan": "0.0.0.0"}.get(self.name, self.name)  # noqa: S104 — what `lan` means

    @property
    def is_loopback(self) -> bool:
        return ipaddress.ip_address(self.host).is_loopback


def _proxy(found: object) -> str:
    try:
        network = ipaddress.ip_network(read_text(found), strict=False)
    except ValueError:
        raise SpellingError from None
    if network.prefixlen == 0:
        raise SpellingError("this would trust everyone: name the proxies")
    return str(network)


class RateLimit(Section):
    max_attempts: Annotated[
        Positive, about("Wrong credentials within the window before answers are slowed.")
    ] = 20
    window_ms: Annotated[Positive, about("Length of the window.")] = 60_000


def _header(found: object) -> str:
    name = read_text(found).lower()
    if not _HEADER.fullmatch(name) or name in _TAKEN:
        raise SpellingError
    return name


class TrustedProxy(Section):
    user_header: Annotated[
        Annotated[str, Spelling(_header, "name of a header that the proxy always overwrites")],
        about("Where a proxy of `gateway.trustedProxies` says who somebody is."),
    ] = "x-forwarded-user"
    allow_users: Annotated[Texts, about("By which of these names the owner comes in.")] = ()


class GatewayAuth(Section):
    mode: Annotated[
        AuthMode,
        about(
            "How clients prove themselves. `none` only on loopback and without a credential; with `trusted-proxy` a"
            " credential counts too, if one is given."
        ),
    ] = AuthMode.TOKEN
    token: Annotated[
        Credential | None, about("The owner's token. Unset: one is made at the first start.")
    ] = None
    password: Annotated[Credential | None, about("The owner's password.")] = None
    trusted_proxy: Annotated[TrustedProxy, about("Whom a proxy may name.")] = TrustedProxy()
    rate_limit: Annotated[RateLimit, about("Wrong attempts, from loopback too.")] = RateLimit()

    def conflicts(self) -> Iterable[tuple[Loc, str]]:
        if self.mode is AuthMode.PASSWORD and self.password is None:
            yield ("password",), "mode `password` needs one"
        if self.mode is AuthMode.NONE and (self.token or self.password):
            yield ("mode",), "a credential is given but `none` asks for none: choose `token` or `password`"
        if self.mode is AuthMode.TRUSTED_PROXY and not self.trusted_proxy.allow_users:
            yield ("trustedProxy",), "mode `trusted-proxy` needs `allowUsers`: empty lets nobody in"


class ControlUi(Section):
    allowed_origins: Annotated[
        tuple[Annotated[str, pattern(_ORIGIN, "origin such as `https://host:port`", lower=True)], ...],
        about("Web origins that may connect, besides the gateway's own."),
    ] = ()


class Endpoint(Section):
    enabled: Annotated[Flag, about("Whether it answers.")] = False


class Endpoints(Section):
    chat_completions: Annotated[Endpoint, about("`POST /v1/chat/completions`.")] = Endpoint()


class GatewayHttp(Section):
    endpoints: Annotated[Endpoints, about("Surfaces that are off until enabled.")] = Endpoints()


class Tls(Section):
    cert: Annotated[Text | None, about("File with the certificate chain, PEM.")] = None
    key: Annotated[Text | None, about("File with its key, PEM, readable by its owner only.")] = None

    def conflicts(self) -> Iterable[tuple[Loc, str]]:
        if (self.cert is None) != (self.key is None):
            yield ("cert" if self.cert is None else "key",), "a certificate and its key go together"


class Egress(Section):
    allow: Annotated[
        tuple[Annotated[str, Spelling(_proxy, "IP address or network")], ...],
        about("Networks that webhooks may reach although they are not public."),
    ] = ()


class Gateway(Section):
    port: Annotated[Port, about("TCP port.", Takes.RESTART)] = 18789
    bind: Annotated[
        Bind,
        Spelling(Bind.parse, "`loopback`, `lan` or an IP address", lambda bind: bind.name),
        about("Address to listen on.", Takes.RESTART),
    ] = Bind("loopback")
    tls: Annotated[Tls, about("The certificate; needed beyond loopback.", Takes.RESTART)] = Tls()
    dangerously_allow_clear_text: Annotated[
        Flag,
        about("Listen beyond loopback without TLS: whoever is on the way reads credentials.", Takes.RESTART),
    ] = False
    auth: Annotated[GatewayAuth, about("Who may connect.", Takes.AT_ONCE)] = GatewayAuth()
    trusted_proxies: Annotated[
        tuple[Annotated[str, Spelling(_proxy, "IP address or network")], ...],
        about("Peers whose forwarded headers count. Empty: none.", Takes.AT_ONCE),
    ] = ()
    allowed_hosts: Annotated[
        tuple[Annotated[str, pattern(_HOST, "host name without a port", lower=True)], ...],
        about(
            "Names, besides numbers and `localhost`, under which pages may reach the gateway.", Takes.AT_ONCE
        ),
    ] = ()
    control_ui: Annotated[ControlUi, about("The web page.", Takes.AT_ONCE)] = ControlUi()
    http: Annotated[GatewayHttp, about("HTTP surfaces.", Takes.AT_ONCE)] = GatewayHttp()
    drain_ms: Annotated[
        Count,
        about("How long runs under way may take to end when the gateway is stopped.", Takes.RESTART),
    ] = 2_500
    egress: Annotated[Egress, about("Where the gateway reaches out to.", Takes.RESTART)] = Egress()
    remotes: Annotated[
        FrozenMap[RemoteName, Remote],
        about("Other gateways to whose sessions agents may send, by the name they have here.", Takes.AT_ONCE),
    ] = FrozenMap()

    @property
    def is_private(self) -> bool:
        """Whether it may listen beyond loopback: with TLS, or because somebody insists on doing without."""
        return self.tls.cert is not None or self.dangerously_allow_clear_text

    def conflicts(self) -> Iterable[tuple[Loc, str]]:
        if self.auth.mode is AuthMode.NONE and not self.bind.is_loopback:
            yield ("bind",), "beyond loopback the gateway needs auth: set `gateway.auth.mode`"
        if not self.bind.is_loopback and not self.is_private:
            yield ("bind",), _CLEAR_TEXT
        if self.auth.mode is AuthMode.TRUSTED_PROXY and not self.trusted_proxies:
            yield ("trustedProxies",), "mode `trusted-proxy` needs the proxies it trusts"
