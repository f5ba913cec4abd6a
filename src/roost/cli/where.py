"""Which gateway a command speaks to, and the client that speaks to it.

Who names a gateway and its token needs nothing of the configuration here, which takes longer to load than to be answered.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from roost import __version__
from roost.cli.absence import LONGEST_S, Watch
from roost.cli.here import Local
from roost.client import Absence, Client, Refused, Trust
from roost.client.handshake import Introduction
from roost.core.secrets import Secret
from roost.protocol.families.status import HEALTH


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Where(Local):
    """What a command needs that asks a gateway."""

    url: Annotated[str | None, Parameter(help="A gateway elsewhere: wss://HOST:PORT.")] = None
    token: Annotated[
        str | None, Parameter(help="Its token; the variable ROOST_GATEWAY_TOKEN is seen by nobody else.")
    ] = None
    password: Annotated[
        str | None,
        Parameter(help="Its password; the variable ROOST_GATEWAY_PASSWORD is seen by nobody else."),
    ] = None
    tls_fingerprint: Annotated[
        str | None, Parameter(help="The certificate it must have, whoever signed it: sha256:….")
    ] = None
    dangerously_allow_clear_text: Annotated[
        bool, Parameter(help="Speak to it over ws:// although others can listen in.", negative="")
    ] = False

    def introduction(self) -> Introduction | None:
        """With the credential that was given; None without one."""
        if not self.token and not self.password:
            return None
        return _introduction(
            Secret(self.token) if self.token else None, Secret(self.password) if self.password else None
        )


HERE = Where()


def gateway(where: Where) -> AbstractAsyncContextManager[Client]:
    """The gateway that runs, which there must be."""
    absence = Watch().absence(LONGEST_S)
    if where.url is not None:
        return _elsewhere(where.url, where, absence)
    from roost.cli.own import running  # noqa: PLC0415 — see above

    return running(where.loaded(), where.introduction(), absence)


def anywhere(where: Where, absence: Absence | None = None) -> AbstractAsyncContextManager[Client]:
    """The gateway that runs; where none does and none was named, one in this process."""
    absence = absence or Watch().absence(LONGEST_S)
    if where.url is not None:
        return _elsewhere(where.url, where, absence)
    from roost.cli.own import running_or_opened  # noqa: PLC0415 — see above

    return running_or_opened(where.loaded(), where.introduction(), absence)


async def now_of(client: Client) -> int:
    """UTC milliseconds by the clock of the gateway."""
    ts = (await client.call(HEALTH)).get("ts")
    return ts if isinstance(ts, int) else 0


@asynccontextmanager
async def _elsewhere(url: str, where: Where, absence: Absence) -> AsyncIterator[Client]:
    # The credential of the gateway here is not shown to one elsewhere, unless it was set for this process.
    who = where.introduction() or _of_process(where)
    trust = Trust(fingerprint=where.tls_fingerprint, clear_text=where.dangerously_allow_clear_text)
    async with AsyncExitStack() as stack:
        try:
            client = await stack.enter_async_context(Client(url, who=who, trust=trust, absence=absence))
        except Refused as error:
            if who.token is None and who.password is None:
                error.hint += "; the configured one is not shown to another address"
            raise
        yield client


def _of_process(where: Where) -> Introduction:
    loaded = where.loaded()
    return _introduction(loaded.token_of_process, loaded.password_of_process)


def _introduction(token: Secret | None, password: Secret | None) -> Introduction:
    return Introduction(version=__version__, token=token, password=password)
