"""A gateway's door in process, with clients that speak the protocol to it."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import httpx2
from starlette.types import ASGIApp

from roost.core.catalogue import Catalogue
from roost.core.models import ModelRef
from roost.core.principals import Principal, PrincipalKind, person
from roost.core.secrets import Secret
from roost.engine.gateway import Engine
from roost.engine.rules import CommandRules, KnownAgent, ShownConfig
from roost.protocol.handshake import Connect, Refusal
from roost.protocol.scopes import EVERY, grant
from roost.scanners.stdlib import StdlibScanner
from roost.server.asgi import application
from roost.server.auth import Admitted, Authenticator, Peer, Secrets, SharedSecret
from roost.server.fanout import Fanout
from roost.server.firings import Firings
from roost.server.handlers.table import table
from roost.server.house import About, House, Phase
from roost.server.socket import Door
from roost.testing.scripted import ScriptedModel
from roost.testing.wires import LocalClient, visiting
from tests.flows.gateways import SPEC, Bench, benches

OTHER = replace(SPEC, ref=ModelRef("scripted", "two"), reasoning=True, images=True)
COMMANDS = CommandRules(
    models=Catalogue([SPEC, OTHER]), agents=("main", "helper"), version="1", scanner=StdlibScanner()
)
SHOWN = ShownConfig(
    path="/home/roost.json",
    fingerprint="f",
    document={"session": {}},
    agents=(
        KnownAgent(id="main", name="Main", model="scripted/one", workspace="/w"),
        KnownAgent(id="helper", name=None, model="scripted/one"),
    ),
)


# Who else has a credential; Alice owns nothing yet.
PEOPLE = {
    "alice-token": person("telegram", "7"),
    "bob-token": person("loopback", "bob"),
    "carol-token": person("loopback", "carol"),
    "desk-token": Principal(PrincipalKind.OPERATOR, "desk"),
}


class Known(SharedSecret):
    """Knows other people than the owner."""

    async def admit(self, connect: Connect, peer: Peer) -> Admitted | Refusal:
        principal = PEOPLE.get(connect.auth.token or "")
        if principal is not None:
            return Admitted(principal=principal, method="token", scopes=grant(connect.scopes, EVERY))
        return await super().admit(connect, peer)


@dataclass
class Gate:
    bench: Bench
    engine: Engine
    house: House
    door: Door
    app: ASGIApp

    def browser(self, token: str | None = "secret-token", **headers: str) -> httpx2.AsyncClient:
        """One who asks over HTTP, without a port between."""
        own = {} if token is None else {"Authorization": f"Bearer {token}"}
        transport = httpx2.ASGITransport(self.app, client=("127.0.0.1", 1))
        return httpx2.AsyncClient(
            transport=transport, base_url="http://127.0.0.1", headers={**own, **headers}
        )

    @asynccontextmanager
    async def client(self, **changes: object) -> AsyncIterator[LocalClient]:
        async with visiting(self.door) as client:
            await client.connect(**changes)
            yield client


SECRET = SharedSecret(lambda: Secrets(token=Secret("secret-token")))


def known(house: House) -> Authenticator:
    return Known(lambda: Secrets(token=Secret("secret-token")))


@asynccontextmanager
async def gates(
    kind: str, folder: Path, keeping: Callable[[House], Authenticator] = known
) -> AsyncIterator[Gate]:
    """A gateway that serves, over a store of a kind."""
    async with benches(kind, folder) as bench, gate_of(bench, folder, keeping=keeping) as gate:
        yield gate


@asynccontextmanager
async def gate_of(
    bench: Bench,
    folder: Path,
    name: str = "flow",
    keeping: Callable[[House], Authenticator] = known,
) -> AsyncIterator[Gate]:
    """A gateway that serves on a bench."""
    bench.model = ScriptedModel(clock=bench.clock)
    bench.change(commands=COMMANDS, house=replace(bench.rules.house, shown=SHOWN))
    async with bench.serving(name) as (engine, _), anyio.create_task_group() as group:
        about = About(
            version="1",
            boot_id="boot",
            started_at=bench.clock.now(),
            store_path="/s",
            log=str(folder / "log"),
            drain_ms=8_000,
        )
        house = House(engine, about)
        house.phase = Phase.SERVING
        fanout = Fanout(house)
        authenticator = keeping(house)
        door = Door(house, fanout, authenticator, table(fanout))
        group.start_soon(fanout.serve)
        group.start_soon(Firings(house).serve)
        yield Gate(bench, engine, house, door, application(house, door, authenticator))
        group.cancel_scope.cancel()


Opened = Callable[[], AbstractAsyncContextManager[tuple[Gate, LocalClient]]]


def send(text: str, name: str, **more: object) -> dict[str, object]:
    return {"sessionKey": "main", "message": text, "idempotencyKey": name, **more}
