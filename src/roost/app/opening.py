"""Stores and engines, opened as the configuration says."""

import random
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio

from roost.app.desk import Desk
from roost.app.places import database_file
from roost.app.reloading import NAME as FOLLOWER
from roost.app.reloading import Follower, Press
from roost.app.rules import command_rules, engine_rules
from roost.app.scanning import Masks, seals_of
from roost.channels.webhook import WebhookChannel
from roost.clock import SystemClock
from roost.config import Loaded
from roost.config.printed import printed, printing
from roost.core.addresses import Account
from roost.core.admission import ChannelPolicy
from roost.core.errors import ConfigInvalid
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.seals import Sealing
from roost.engine.gateway import Companion, Engine
from roost.engine.ids import FreshIds
from roost.engine.leasing import holding
from roost.engine.rules import Rules
from roost.engine.stops import Stops
from roost.logs import Form, logging_into, logging_to
from roost.models.registry import Registry
from roost.ports import Channel, Clock, Store
from roost.stores.sqlite import SqliteStore
from roost.stores.sqlite.store import SqliteOptions

ADDRESS = ("postgresql://", "postgres://")


def named_store(loaded: Loaded) -> str:
    """The store that the configuration names: the address of a server, or a file."""
    server = loaded.settings.database
    return str(database_file(loaded.sources.home)) if server is None else server.reveal()


def shown_store(loaded: Loaded) -> str:
    """The same as it may be shown, once it was opened."""
    name = named_store(loaded)
    if not is_address(name):
        return name
    from roost.stores.postgres.address import without_password  # noqa: PLC0415 — only those load its driver who need it

    return without_password(name)


def is_address(store: str) -> bool:
    return store.startswith(ADDRESS)


@asynccontextmanager
async def open_store(
    loaded: Loaded, clock: Clock | None = None, secrets: Sealing | None = None, *, damaged: bool = False
) -> AsyncIterator[Store]:
    """The store that the configuration names; none of the configured secrets gets into it."""
    async with open_named(named_store(loaded), clock or SystemClock(), damaged=damaged) as store:
        store.keep_out(secrets or seals_of(loaded))
        yield store


@asynccontextmanager
async def open_named(name: str, clock: Clock, *, damaged: bool = False) -> AsyncIterator[Store]:
    """The store at an address or in a file; of a `damaged` one parts may be missing."""
    store = await _opened(name, clock, damaged=damaged)
    try:
        yield store
    finally:
        # Cancelled or not: what is open in its threads ends with it.
        with anyio.CancelScope(shield=True):
            await store.close()


async def _opened(name: str, clock: Clock, *, damaged: bool) -> Store:
    if not is_address(name):
        return SqliteStore.open(Path(name), clock, options=SqliteOptions(damaged=damaged))
    try:
        from roost.stores.postgres import PostgresStore  # noqa: PLC0415 — only those load its driver who need it
    except ModuleNotFoundError as error:
        raise driver_missing(error) from error
    return await PostgresStore.open(name, clock)


def driver_missing(error: ModuleNotFoundError) -> ConfigInvalid:
    return ConfigInvalid(
        f"a PostgreSQL server is named, and {error.name} is missing to reach it",
        hint='pip install "roost[postgres]", or leave `database` out',
    )


@asynccontextmanager
async def open_held_store(loaded: Loaded, gateway: Gateway, *, damaged: bool = False) -> AsyncIterator[Store]:
    """The store under its lease, without anything that works on it: no gateway may serve meanwhile."""
    clock = SystemClock()
    async with open_store(loaded, clock, damaged=damaged) as store, holding(store, clock, gateway):
        yield store


class _Web:
    """The way out, loaded by who first takes it."""

    def __init__(self, allowed: Callable[[], tuple[str, ...]]) -> None:
        self._allowed = allowed

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        from roost.egress import WebEgress  # noqa: PLC0415 — see above

        return await WebEgress(self._allowed).post(url, body, headers)


@asynccontextmanager
async def open_engine(
    loaded: Loaded,
    channels: Sequence[Channel],
    doors: Mapping[str, ChannelPolicy],
    *,
    version: str = "",
    log: Path | None = None,
) -> AsyncIterator[Engine]:
    """An engine over the configured store and models, which follows the configuration as it changes.

    `doors` are those of channels the file does not name, and `version` is what `/status` says. Warnings and errors
    go to the error output, and to `log` as JSON with the rest, without secrets.
    """
    clock, masks, stops = SystemClock(), Masks(), Stops()
    channels = [*channels, WebhookChannel(_Web(lambda: loaded.settings.gateway.egress.allow))]
    threads = {Account(one.name, one.account) for one in channels if one.abilities.threads}
    programs = printing(loaded.settings)
    loaded = replace(loaded, settings=await printed(loaded.settings))
    async with open_store(loaded, clock, masks) as store, AsyncExitStack() as connections:

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
        with _logging(loaded, masks, log):
            engine = Engine(
                store, clock, FreshIds(clock), edition.rules, channels, jitter=random.random, stops=stops
            )
            engine.accompany(FOLLOWER, partial(Follower(press, edition, clock).follow, engine))
            if loaded.transcript_folder(loaded.settings.agents.default.id) is not None:
                engine.accompany("mirror", _mirroring(loaded, store, clock, masks))
            yield engine


def _mirroring(loaded: Loaded, store: Store, clock: Clock, masks: Masks) -> Companion:
    from roost.transfer.mirror import Mirror, Places  # noqa: PLC0415 — who mirrors nothing writes no files

    def place(key: SessionKey) -> Path | None:
        return loaded.transcript_folder(key.agent or loaded.settings.agents.default.id)

    folders = (loaded.transcript_folder(agent.id) for agent in loaded.settings.agents.list)
    places = Places(of=place, all=tuple({folder: None for folder in folders if folder is not None}))
    return Mirror(store, clock, places, masks, loaded.sources.home).follow


@contextmanager
def _logging(loaded: Loaded, masks: Masks, file: Path | None) -> Iterator[None]:
    wanted = loaded.settings.logging
    with ExitStack() as stack:
        stack.enter_context(
            logging_to(sys.stderr, masks, wanted.console_level.number, Form(wanted.console_style))
        )
        if file is not None:
            kept = wanted.level.number, wanted.max_file_bytes.bytes
            stack.enter_context(logging_into(file, masks, *kept))
        yield
