"""Conversations from elsewhere, into the store that the configuration names or, to try it, into none."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from roost.app.opening import open_held_store
from roost.clock import SystemClock
from roost.config import Loaded
from roost.config.policies import identity_links
from roost.core.leases import Gateway
from roost.engine.ids import FreshIds
from roost.ports import Store
from roost.stores.memory import MemoryStore
from roost.transfer.openclaw import import_openclaw
from roost.transfer.options import ImportOptions
from roost.transfer.report import ImportReport, Progress
from roost.transfer.transcripts import import_transcripts
from roost.transfer.unpacking import unpack


async def import_folder(
    loaded: Loaded, folder: Path, *, agent: str | None, dry_run: bool, progress: Progress
) -> ImportReport:
    """What was imported. A dry run reads all of it and keeps nothing, so it does not know what is there already."""
    async with _nowhere() if dry_run else _held(loaded) as store:
        return await import_openclaw(store, folder, import_options(loaded, agent), progress)


async def import_session(
    loaded: Loaded, path: Path, *, key: str | None, agent: str | None, dry_run: bool
) -> ImportReport:
    """One conversation from its transcripts, under a key as people write it."""
    agent = agent or loaded.settings.agents.default.id
    options = import_options(loaded, agent)
    chosen = None if key is None else options.key(agent, key)
    async with _nowhere() if dry_run else _held(loaded) as store:
        return await import_transcripts(store, path, options, chosen)


async def import_packed(
    loaded: Loaded, path: Path, *, agent: str | None, fork: bool, dry_run: bool
) -> ImportReport:
    """A bundle, all of it or nothing."""
    clock, options = SystemClock(), import_options(loaded, agent)
    async with _nowhere() if dry_run else _held(loaded) as store:
        return await unpack(store, path, options, _agents(loaded), FreshIds(clock) if fork else None)


def import_options(loaded: Loaded, agent: str | None) -> ImportOptions:
    """How what is imported is read here."""
    return ImportOptions(
        now=SystemClock().now(),
        agent=agent,
        agents=_agents(loaded),
        main_name=loaded.settings.session.main_key,
        owners=loaded.settings.commands.owner_allow_from or (),
        links=identity_links(loaded.settings),
    )


def _agents(loaded: Loaded) -> frozenset[str]:
    return frozenset(one.id for one in loaded.settings.agents.list)


@asynccontextmanager
async def _nowhere() -> AsyncIterator[Store]:
    yield MemoryStore(SystemClock())


@asynccontextmanager
async def _held(loaded: Loaded) -> AsyncIterator[Store]:
    process = os.getpid()
    async with open_held_store(
        loaded, Gateway(name=f"import-{process}", holder=f"process {process}")
    ) as store:
        yield store
