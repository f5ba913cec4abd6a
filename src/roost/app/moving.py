"""Whole stores: brought up to date, looked at, copied from one database to another."""

import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeAlias

import anyio

from roost.app.opening import driver_missing, is_address, named_store, open_named
from roost.app.places import database_file
from roost.clock import SystemClock
from roost.config import Loaded
from roost.core.errors import InvalidInput
from roost.stores.migrations import steps_in
from roost.stores.sql import bulk
from roost.stores.sql.bulk import Bulk, Progress
from roost.stores.sqlite import bulk as sqlite
from roost.stores.sqlite.structure import MIGRATIONS

# What is looked through in a second or two.
LARGEST_GLANCE = 256 << 20

Opened: TypeAlias = Callable[[], AbstractAsyncContextManager[Bulk]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a store is like: its schema and the one that this Roost knows, how many rows each table has, the gateways that
    work on it, and what is wrong. Of one that is not up to date nothing more is known."""

    where: str
    version: int
    known: int
    rows: dict[str, int] = field(default_factory=dict)
    gateways: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Glanced:
    """Whether a file was looked through, and the first fault that was found in it."""

    file: Path
    looked: bool
    fault: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A store by its file or address, and what is done to it as a whole; `identity` is the same for the same store."""

    name: str
    identity: tuple[str, ...]
    known: int
    is_there: bool
    reading: Opened
    source: Opened
    target: Opened


async def migrate_store(loaded: Loaded, name: str | None) -> tuple[int, int]:
    """Bring a store up to date, or make it; its schema before and after."""
    place, before = _place(name or named_store(loaded)), 0
    if place.is_there:
        async with place.reading() as found:
            before = await found.version()
    async with open_named(place.name, SystemClock()):
        return before, place.known


async def check_store(loaded: Loaded, name: str | None) -> Checked:
    """What a store is like; whoever works on it is not disturbed."""
    place = _place(name or named_store(loaded))
    async with place.reading() as found:
        where, version = found.where, await found.version()
        if version != place.known:
            return Checked(where=where, version=version, known=place.known)
    # First of all: it may have the number of this schema and not be one.
    async with open_named(place.name, SystemClock(), damaged=True) as store:
        faults = await store.check()
    async with place.reading() as found:
        rows, fleet = await bulk.counts(found), await found.fleet()
    return Checked(
        where=where,
        version=version,
        known=place.known,
        rows=rows,
        gateways=tuple(one.gateway.name for one in fleet.live),
        faults=faults,
    )


async def glance_at_store(loaded: Loaded, largest: int = LARGEST_GLANCE) -> Glanced | None:
    """Whether the file of the store is sound in itself, unless it is a large one; None where there is no file."""
    name = named_store(loaded)
    file = anyio.Path(name)
    if is_address(name) or not await file.exists():
        return None
    if (await file.stat()).st_size > largest:
        return Glanced(file=Path(name), looked=False)
    async with sqlite.reading(Path(name), SystemClock().now) as found:
        return Glanced(file=Path(name), looked=True, fault=found.first_fault())


async def copy_store(
    loaded: Loaded, source: str | None, target: str, begin: Callable[[int], None], progress: Progress
) -> dict[str, int]:
    """Every row of one store, by default the configured one, to another: all of it or nothing; how many of each table.
    `begin` hears of how many rows there will be progress."""
    whence, whither = _place(source or named_store(loaded)), _place(target)
    if whence.identity == whither.identity:
        raise InvalidInput(
            "what is to be copied and where it is to go are one store",
            hint="name another one with --to, of another database or schema, or a new file",
        )
    async with whence.source() as theirs, whither.target() as ours:
        begin(2 * sum((await bulk.counts(theirs)).values()))
        return await bulk.copy(theirs, ours, progress)


def _place(name: str) -> _Place:
    return _server(name) if is_address(name) else _file(Path(name))


def _file(path: Path) -> _Place:
    file, now = database_file(path) if path.is_dir() else path, SystemClock().now
    return _Place(
        name=str(file),
        identity=(os.path.realpath(file),),
        known=steps_in(MIGRATIONS)[-1].number,
        is_there=file.exists(),
        reading=partial(sqlite.reading, file, now),
        source=partial(sqlite.source, file, now),
        target=partial(sqlite.target, file, now),
    )


def _server(address: str) -> _Place:
    try:
        from roost.stores.postgres import bulk as postgres  # noqa: PLC0415 — only those load its driver who need it
        from roost.stores.postgres.address import identity  # noqa: PLC0415 — the same
        from roost.stores.postgres.migrating import MIGRATIONS as STEPS  # noqa: PLC0415 — the same
    except ModuleNotFoundError as error:
        raise driver_missing(error) from error
    return _Place(
        name=address,
        identity=identity(address),
        known=steps_in(STEPS)[-1].number,
        is_there=True,
        reading=partial(postgres.reading, address),
        source=partial(postgres.source, address),
        target=partial(postgres.target, address),
    )
