"""Stores and engines, opened as the configuration says."""

import random
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from roost.app.desk import Desk
from roost.app.places import database_file
from roost.app.reloading import NAME as FOLLOWER
from roost.app.reloading import Follower, Press
from roost.app.rules import command_rules, engine_rules
from roost.app.scanning import Masks
from roost.clock import SystemClock
from roost.config import Loaded
from roost.config.printed import printed, printing
from roost.core.addresses import Account
from roost.core.admission import ChannelPolicy
from roost.core.errors import ConfigInvalid
from roost.core.leases import Gateway
from roost.engine.gateway import Engine
from roost.engine.ids import FreshIds
from roost.engine.leasing import holding
from roost.engine.rules import Rules
from roost.engine.stops import Stops
from roost.logs import logging_to
from roost.models.registry import Registry
from roost.ports import Channel, Clock, Store
from roost.stores.sqlite import SqliteStore


@asynccontextmanager
async def open_store(loaded: Loaded, clock: Clock | None = None) -> AsyncIterator[Store]:
    """The store that the configuration names."""
    store = await _opened(loaded, clock or SystemClock())
    try:
        yield store
    finally:
        await store.close()


async def _opened(loaded: Loaded, clock: Clock) -> Store:
    server = loaded.settings.database
    if server is None:
        return SqliteStore.open(database_file(loaded.sources.home), clock)
    try:
        from roost.stores.postgres import PostgresStore  # noqa: PLC0415 — only those load its driver who need it
    except ModuleNotFoundError as error:
        raise ConfigInvalid(
            f"`database` names a PostgreSQL server, and {error.name} is missing to reach it",
            hint='pip install "roost[postgres]", or leave `database` out',
        ) from error
    return await PostgresStore.open(server.reveal(), clock)


@asynccontextmanager
async def open_held_store(loaded: Loaded, gateway: Gateway) -> AsyncIterator[Store]:
    """The store under its lease, without anything that works on it: no gateway may serve meanwhile."""
    clock = SystemClock()
    async with open_store(loaded, clock) as store, holding(store, clock, gateway):
        yield store


@asynccontextmanager
async def open_engine(
    loaded: Loaded, channels: Sequence[Channel], doors: Mapping[str, ChannelPolicy], *, version: str = ""
) -> AsyncIterator[Engine]:
    """An engine over the configured store and models, which follows the configuration as it changes.

    `doors` are those of channels the file does not name, and `version` is what `/status` says. Warnings and errors
    go to the error output, without secrets.
    """
    clock, masks, stops = SystemClock(), Masks(), Stops()
    threads = {Account(one.name, one.account) for one in channels if one.abilities.threads}
    programs = printing(loaded.settings)
    loaded = replace(loaded, settings=await printed(loaded.settings))
    async with open_store(loaded, clock) as store, AsyncExitStack() as connections:

        def compose(loaded: Loaded, registry: Registry) -> Rules:
            desk = Desk(loaded, registry, store, clock, threads=threads, stop=stops.end)
            rules = engine_rules(loaded, registry, doors, desk.tools)
            return replace(
                rules,
                commands=command_rules(loaded, registry, store, version),
                house=replace(rules.house, transcript=desk.transcript_path_of),
            )

        press = Press(clock, compose, masks, connections)
        edition = await press.edition(loaded, programs)
        with logging_to(sys.stderr, masks):
            engine = Engine(
                store, clock, FreshIds(clock), edition.rules, channels, jitter=random.random, stops=stops
            )
            engine.accompany(FOLLOWER, Follower(press, edition, clock).follow)
            yield engine
