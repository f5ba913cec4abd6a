"""The gateway that the configuration here describes: where it is, and what it is shown."""

import ipaddress
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from typing import assert_never
from urllib.parse import urlsplit

import roost
from roost import __version__
from roost.client import Absence, Client, Refused, Trust, Unreachable, Untrusted
from roost.client.errors import Starting
from roost.client.handshake import Introduction
from roost.client.trust import fingerprint_of
from roost.client.wires import Wire, dialing
from roost.config import Loaded
from roost.config.gateway import TOKEN_FILE, AuthMode
from roost.core.errors import InvalidInput, LeaseHeld, RoostError
from roost.core.secrets import Secret

_INTRODUCTION = Introduction(version=__version__)
_STRANGE = frozenset({"DEVICE_IDENTITY_REQUIRED", "AUTH_TOKEN_MISMATCH", "AUTH_PASSWORD_MISMATCH"})


@asynccontextmanager
async def running(loaded: Loaded, given: Introduction | None, absence: Absence) -> AsyncIterator[Client]:
    """The one that runs, which there must be."""
    async with AsyncExitStack() as stack:
        yield await _entered(stack, loaded, given, absence)


@asynccontextmanager
async def running_or_opened(
    loaded: Loaded, given: Introduction | None, absence: Absence
) -> AsyncIterator[Client]:
    """The one that runs; where none does, one in this process."""
    async with AsyncExitStack() as stack:
        try:
            client = await _entered(stack, loaded, given, absence)
        except Starting:
            raise
        except Unreachable:
            client = await _opened(stack, loaded, given, absence)
        yield client


async def _opened(
    stack: AsyncExitStack, loaded: Loaded, given: Introduction | None, absence: Absence
) -> Client:
    """One in this process, unless one has begun since it was looked for."""
    try:
        # Whoever looks something up lets no agent begin to work, and spend.
        return await stack.enter_async_context(roost.open(loaded, on_time=False))
    except LeaseHeld as held:
        try:
            return await _entered(stack, loaded, given, absence)
        except Starting:
            raise
        except Unreachable:
            # Who has the store listens nowhere: a command as this one.
            raise held from None


async def _entered(
    stack: AsyncExitStack, loaded: Loaded, given: Introduction | None, absence: Absence
) -> Client:
    """Where the configuration says, or else where a lease says that one is: it may have been given another port."""
    who = given or _owner(loaded)
    configured = _configured(loaded)
    try:
        return await stack.enter_async_context(
            Client(_Way(loaded, configured).dial, who=who, absence=absence)
        )
    except Starting:
        raise
    except (Unreachable, Refused) as error:
        failures: list[RoostError] = [error if given else _strange(error, configured, loaded)]
    for known in await _leased(loaded):
        if known != configured:
            try:
                return await stack.enter_async_context(
                    Client(_Way(loaded, known).dial, who=who, absence=absence)
                )
            except (Unreachable, Refused, Untrusted, InvalidInput) as error:
                failures.append(error)
    # One that is there and not ready says more than one that is not there.
    raise next((one for one in failures if isinstance(one, Starting)), failures[-1])


def _strange(error: RoostError, url: str, loaded: Loaded) -> RoostError:
    """What is said of a gateway to which the credential here is a stranger's; else the error itself."""
    if not isinstance(error, Refused) or error.reason not in _STRANGE:
        return error
    kind = "password" if loaded.settings.gateway.auth.mode is AuthMode.PASSWORD else "token"
    return Refused(
        f"a gateway answers on {url}, and does not take the {kind} of {loaded.sources.home}",
        wire_code=error.wire_code,
        details=error.details,
        hint="it may be of another ROOST_HOME or configuration: set ROOST_HOME or --config to what it runs with, name it with "
        "--url and --token or --password, or choose another `gateway.port` here",
    )


class _Way:
    """To the gateway that was found at an address. Once it was there and is no longer: to wherever the configuration or a
    lease says that one is, which may have taken over."""

    def __init__(self, loaded: Loaded, url: str) -> None:
        self._loaded = loaded
        self._url = url
        self._was_there = False

    @asynccontextmanager
    async def dial(self) -> AsyncIterator[Wire]:
        async with AsyncExitStack() as stack:
            yield await self._reached(stack)

    async def _reached(self, stack: AsyncExitStack) -> Wire:
        try:
            wire = await self._dialled(stack, self._url)
        except Unreachable as error:
            if not self._was_there:
                raise
            gone = error
        else:
            self._was_there = True
            return wire
        for url in await self._others():
            with suppress(Unreachable, Untrusted, InvalidInput):
                wire = await self._dialled(stack, url)
                self._url = url
                return wire
        raise gone

    async def _dialled(self, stack: AsyncExitStack, url: str) -> Wire:
        return await stack.enter_async_context(dialing(url, _trust(url, self._loaded))())

    async def _others(self) -> list[str]:
        found = [_configured(self._loaded)]
        # A store that is away, too, says nothing; it is asked again.
        with suppress(RoostError):
            found += await _leased(self._loaded)
        return [url for url in dict.fromkeys(found) if url != self._url]


async def _leased(loaded: Loaded) -> list[str]:
    """Where those listen who have a live lease on the store."""
    from roost.app.finding import serving_addresses  # noqa: PLC0415 — the store's libraries are loaded where a lease must be read

    found = [urlsplit(address) for address in await serving_addresses(loaded)]
    return [_url(parts.scheme, parts.hostname or "", parts.port or 0) for parts in found]


def _configured(loaded: Loaded) -> str:
    settings = loaded.settings.gateway
    return _url("wss" if settings.tls.cert else "ws", settings.bind.host, settings.port)


def _trust(url: str, loaded: Loaded) -> Trust:
    """In the gateway that this configuration describes."""
    files = loaded.certificate if url.startswith("wss:") else None
    return Trust(
        fingerprint=fingerprint_of(files[0]) if files else None,
        clear_text=loaded.settings.gateway.dangerously_allow_clear_text,
    )


def _owner(loaded: Loaded) -> Introduction:
    """With the credential of the gateway that this configuration describes."""
    who, auth = _INTRODUCTION, loaded.settings.gateway.auth
    match auth.mode:
        case AuthMode.PASSWORD:
            return replace(who, password=auth.password)
        case AuthMode.TOKEN if auth.token is not None:
            return replace(who, token=auth.token)
        case AuthMode.TOKEN:
            file = loaded.sources.home / TOKEN_FILE
            text = file.read_text(encoding="utf-8").strip() if file.exists() else ""
            return replace(who, token=Secret(text) if text else None)
        case AuthMode.TRUSTED_PROXY:
            return replace(who, token=auth.token, password=auth.password)
        case AuthMode.NONE:
            return who
        case mode:
            assert_never(mode)


def _url(scheme: str, host: str, port: int) -> str:
    """Where a gateway that listens there is found from here."""
    found = ipaddress.ip_address(host)
    if found.is_unspecified:
        found = ipaddress.ip_address("::1" if found.version == 6 else "127.0.0.1")
    return f"{scheme}://[{found}]:{port}" if found.version == 6 else f"{scheme}://{found}:{port}"
