"""A gateway within this process, and a client of it: no port, no token, the same protocol."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup

from roost.app.housing import housed
from roost.app.opening import open_engine
from roost.client import Client
from roost.client.handshake import Introduction
from roost.client.memory import ends
from roost.client.wires import Dial, Wire
from roost.config import Loaded, from_environment, load
from roost.core.leases import Gateway
from roost.engine.gateway import Engine
from roost.server.auth import Peer, Secrets, SharedSecret
from roost.server.house import Phase
from roost.server.socket import Door

NAME = "embedded"


@asynccontextmanager
async def open_embedded(
    config: Loaded | Mapping[str, str] | None = None, *, version: str = "", on_time: bool = True
) -> AsyncIterator[Client]:
    """Run a gateway for the length of the block, as its owner; what was said in it is answered before it is left. Jobs and
    look-arounds that are due meanwhile are taken up, unless `on_time` is False.

    `config` is an environment, by default this process's own: `ROOST_HOME` says where everything is kept. Raises
    `LeaseHeld` while another gateway has the store.
    """
    failed: Exception | None = None
    loaded = _loaded(config)
    async with (
        open_engine(loaded, [], {}, version=version) as engine,
        _door(loaded, engine, version, on_time=on_time) as door,
        anyio.create_task_group() as group,
        Client(_dialing(door, group), who=Introduction(version=version or NAME, mode=NAME)) as client,
    ):
        try:
            yield client
            await engine.settled()
        except Exception as error:  # noqa: BLE001 — what the block raised leaves it as it is, not in groups of tasks
            failed = error
    if failed is not None:
        raise failed


def _loaded(config: Loaded | Mapping[str, str] | None) -> Loaded:
    if isinstance(config, Loaded):
        return config
    return from_environment().read() if config is None else load(config)


@asynccontextmanager
async def _door(loaded: Loaded, engine: Engine, version: str, *, on_time: bool) -> AsyncIterator[Door]:
    inside = housed(loaded, engine, version=version, auth_mode="none")
    # A name of its own: two in one process do not take the store from each other.
    own = Gateway(name=f"{NAME}-{engine.new_id()}", holder=f"process {os.getpid()}")
    async with engine.serving(own, on_time=on_time):
        inside.house.phase = Phase.SERVING
        yield inside.door(SharedSecret(lambda: Secrets(open=True)))


def _dialing(door: Door, group: TaskGroup) -> Dial:
    @asynccontextmanager
    async def dial() -> AsyncIterator[Wire]:
        near, far = ends()

        async def attend() -> None:
            try:
                await door.attend(far, Peer())
            finally:
                far.drop()

        group.start_soon(attend)
        try:
            yield near
        finally:
            near.drop()

    return dial
