"""The settings as an audit looks at them."""

import re
from collections.abc import Iterable, Iterator
from urllib.parse import parse_qsl, unquote, urlsplit

from roost.config import policies
from roost.config.automation import Hooks
from roost.config.gateway import AuthMode, Gateway
from roost.config.sandbox import SandboxMode
from roost.config.settings import Settings
from roost.core.addresses import DEFAULT_ACCOUNT, Account
from roost.core.admission import ANYONE
from roost.core.audit import HookDoor, Trust, View
from roost.core.channeltraits import KNOWN_CHANNELS
from roost.core.doors import Door
from roost.core.edge import Edge
from roost.core.entrance import is_loopback
from roost.core.figures import MINUTE_MS
from roost.core.guests import NOBODY, LetIn
from roost.core.identities import names_channel
from roost.core.secrets import Secret

GUARDED = frozenset({"require", "verify-ca", "verify-full"})
"""The ways to speak to a database's server that do not do without TLS."""
_PORT = re.compile(r":\d*$")


def exposure(settings: Settings, listening: Iterable[str] = (), let_in: LetIn = NOBODY.let_in) -> View:
    """`listening` are the addresses at which gateways are reached already, whatever the settings say now; `let_in` those
    whom the owner let in beside them."""
    return View(
        edge=_edge(settings.gateway, listening),
        hooks=_hooks(settings.hooks, settings.gateway),
        doors=tuple(_doors(settings, let_in)),
        routing=policies.routing_rules(settings),
        trust=_trust(settings),
    )


def _edge(gateway: Gateway, listening: Iterable[str]) -> Edge:
    limit, private = gateway.auth.rate_limit, gateway.bind.is_loopback or gateway.tls.cert is not None
    served = [urlsplit(one) for one in listening]
    far = [one.scheme == "wss" for one in served if not is_loopback(one.hostname or "")]
    return Edge(
        loopback=gateway.bind.is_loopback and not far,
        encrypted=private and all(far),
        auth=gateway.auth.mode is not AuthMode.NONE,
        token_length=_length(gateway.auth.token),
        password_length=_length(gateway.auth.password),
        attempts_a_minute=limit.max_attempts * MINUTE_MS // limit.window_ms,
        proxies=gateway.trusted_proxies,
        proxy_logins=gateway.auth.mode is AuthMode.TRUSTED_PROXY,
        completions=gateway.http.endpoints.chat_completions.enabled,
    )


def _hooks(hooks: Hooks, gateway: Gateway) -> HookDoor:
    own = hooks.token
    return HookDoor(
        enabled=hooks.enabled,
        token_length=_length(own) or 0,
        shared_token=own is not None and own in (gateway.auth.token, gateway.auth.password),
        any_agent=ANYONE in (hooks.allowed_agent_ids or ()),
        default_session=hooks.default_session_key is not None,
        names_sessions=hooks.allow_request_session_key,
        prefixes=bool(hooks.allowed_session_key_prefixes),
    )


def _doors(settings: Settings, let_in: LetIn) -> Iterator[Door]:
    for name, channel in settings.channels.items():
        policy = policies.channel_policy(settings, name)
        for account in channel.accounts or (None,):
            own = policy if account is None else policy.at(account)
            if own.enabled:
                own = own.letting_in(let_in.get(Account(name, account or DEFAULT_ACCOUNT)))
                yield Door(channel=name, account=account, policy=own)


def _trust(settings: Settings) -> Trust:
    agents, owners = settings.agents.list, settings.commands.owner_allow_from or ()
    return Trust(
        visibility=settings.tools.sessions.visibility,
        crosses=settings.tools.agent_to_agent.enabled,
        across=settings.tools.agent_to_agent.allow,
        owners=owners,
        placeless_owners=tuple(
            one
            for one in owners
            if one.strip() != ANYONE and not names_channel(one, settings.channels, KNOWN_CHANNELS)
        ),
        lifted=tuple(one.id for one in agents if policies.sandbox_lifted(one)),
        networked=tuple(
            one.id for one in agents if one.sandbox.network and one.sandbox.mode is not SandboxMode.OFF
        ),
        unconfined=tuple(one.id for one in agents if one.sandbox.mode is SandboxMode.OFF),
        clear=tuple(
            name
            for name, provider in settings.models.providers.items()
            if provider.base_url and _is_clear(provider.base_url)
        ),
        clear_store=settings.database is not None and _is_clear_store(settings.database.reveal()),
    )


def _is_clear(url: str) -> bool:
    found = urlsplit(url)
    return found.scheme.lower() == "http" and not is_loopback(found.hostname or "")


def _is_clear_store(address: str) -> bool:
    """Whether a server beyond this machine is spoken to without TLS where it offers none. One without a name, or with
    that of a folder, is taken for one on this machine: the address does not say otherwise."""
    netloc, _, query = address.partition("://")[2].partition("?")
    given = dict(parse_qsl(query))
    named = netloc.partition("/")[0].rpartition("@")[2] or given.get("host", "")
    hosts = (_PORT.sub("", unquote(one)).strip("[]") for one in named.split(","))
    far = any(host and not host.startswith("/") and not is_loopback(host.lower()) for host in hosts)
    return far and given.get("sslmode") not in GUARDED


def _length(credential: Secret | None) -> int | None:
    return None if credential is None else len(credential.reveal())
