"""The gateway's port, as an audit looks at it: who reaches it, and how somebody proves who he is there."""

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_network

from roost.core.findings import Finding, Severity

SHORTEST_TOKEN = 24
MOST_ATTEMPTS_A_MINUTE = 60
MOST_ADDRESSES = 256
_LOOPBACK = tuple(map(ip_network, ("127.0.0.0/8", "::1/128", "::ffff:127.0.0.0/104")))
_APART = "put the proxy on an address of its own and list that alone"
_ELSE = "or set `gateway.auth.mode` to `token`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """How the port is guarded. Without `auth` whoever reaches it is the owner; lengths are those of the configured
    credentials, None where there is none. With `proxy_logins` a proxy says who somebody is, the owner too."""

    loopback: bool = True
    auth: bool = True
    encrypted: bool = False
    token_length: int | None = None
    password_length: int | None = None
    attempts_a_minute: int = 20
    proxies: tuple[str, ...] = ()
    proxy_logins: bool = False
    completions: bool = False


def edge_findings(edge: Edge) -> Iterator[Finding]:
    if not edge.auth:
        yield Finding(
            id="gateway.loopback_no_auth" if edge.loopback else "gateway.bind_no_auth",
            severity=Severity.CRITICAL,
            text="Whoever reaches the port is the owner: every program here"
            + ("." if edge.loopback else " and every machine around."),
            setting="gateway.auth.mode",
            fix="set it to `token`",
        )
    if not edge.loopback and not edge.encrypted:
        yield Finding(
            id="gateway.bind_clear_text",
            severity=Severity.CRITICAL,
            text="Credentials and conversations cross the network in clear text.",
            setting="gateway.dangerouslyAllowClearText",
            fix="unset it and give `gateway.tls` a certificate, or set `gateway.bind` to `loopback` and use a tunnel",
        )
    for name, length in (("token", edge.token_length), ("password", edge.password_length)):
        if length is not None and length < SHORTEST_TOKEN:
            yield Finding(
                id=f"gateway.{name}_too_short",
                severity=Severity.WARN,
                text=f"The owner's {name} has {length} characters and may be guessed.",
                setting=f"gateway.auth.{name}",
                fix=f"use at least {SHORTEST_TOKEN} characters, or leave it out: a token is made at the first start",
            )
    if edge.attempts_a_minute > MOST_ATTEMPTS_A_MINUTE:
        yield Finding(
            id="gateway.auth_rate_limit_loose",
            severity=Severity.WARN,
            text=f"{edge.attempts_a_minute} wrong credentials a minute are taken before answers slow down.",
            setting="gateway.auth.rateLimit",
            fix="leave it out: 20 a minute",
        )
    if edge.proxies:
        yield from _proxies(edge)
    if edge.completions:
        yield Finding(
            id="gateway.http.chat_completions_enabled",
            severity=Severity.INFO if edge.loopback else Severity.WARN,
            text="Agents, with their tools, can be run over plain HTTP with the owner's credential.",
            setting="gateway.http.endpoints.chatCompletions.enabled",
            fix="leave it out unless a program needs it",
        )


def _proxies(edge: Edge) -> Iterator[Finding]:
    networks = [ip_network(one) for one in edge.proxies]
    yield Finding(
        id="gateway.trusted_proxies",
        severity=Severity.INFO,
        text="What the listed proxies say of where a request comes from is believed.",
        setting="gateway.trustedProxies",
        fix="list only proxies that overwrite the forwarded headers",
    )
    here = [str(one) for one in networks if any(map(one.overlaps, _LOOPBACK))]
    if edge.proxy_logins and here:
        yield Finding(
            id="gateway.trusted_proxies_loopback",
            severity=Severity.CRITICAL,
            text=f"Every program on this machine is the owner by a header, which is believed from {', '.join(here)}.",
            setting="gateway.trustedProxies",
            fix=f"{_APART}, {_ELSE}",
        )
    wide = [str(one) for one in networks if one.num_addresses > MOST_ADDRESSES]
    if wide:
        said = "who somebody is, the owner too" if edge.proxy_logins else "where a request comes from"
        yield Finding(
            id="gateway.trusted_proxies_wide",
            severity=Severity.WARN,
            text=f"More than {MOST_ADDRESSES} addresses are believed in {said}: {', '.join(wide)}.",
            setting="gateway.trustedProxies",
            fix=f"{_APART}, {_ELSE}" if edge.proxy_logins else _APART,
        )
