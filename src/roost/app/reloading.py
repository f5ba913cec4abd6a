"""The configuration as it changes while a gateway runs. A file in which anything is wrong changes nothing."""

import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import anyio
from anyio.abc import TaskGroup

from roost.app.providers import open_models
from roost.app.scanning import Masks, kept_token
from roost.config import Loaded, Reload, Sources, changes, until_restart
from roost.config.gateway import TOKEN_FILE
from roost.config.printed import printed, printing
from roost.core.errors import RoostError
from roost.core.secrets import Secret
from roost.engine.gateway import Engine, OutOfUse
from roost.engine.rules import Rules
from roost.models.registry import Registry
from roost.ports import Clock

NAME = "configuration"
EVERY_MS = 500
# What was refused may have been so for something that is not watched: a program that prints a credential, say.
AGAIN_AFTER = 10

Compose: TypeAlias = Callable[[Loaded, Registry], Rules]
Stamps: TypeAlias = tuple[tuple[int, int, int] | None, ...]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """A configuration that can be in force: its rules, the models that were opened for them, and the providers whose
    credentials are printed. `own` is the token that the gateway made for itself, which is masked like the others."""

    loaded: Loaded
    rules: Rules
    registry: Registry
    connections: AsyncExitStack
    printing: frozenset[str]
    own: Secret | None


class Press:
    """Makes editions; what they opened is closed with `connections` at the latest."""

    def __init__(self, clock: Clock, compose: Compose, masks: Masks, connections: AsyncExitStack) -> None:
        self._clock = clock
        self._compose = compose
        self._masks = masks
        self._connections = connections

    async def edition(self, loaded: Loaded, printing: frozenset[str] = frozenset()) -> Edition:
        """Raises a `RoostError` and leaves nothing open where something is wrong."""
        own = kept_token(loaded.sources.home)
        self._masks.learn(loaded)
        async with AsyncExitStack() as trial:
            registry = await trial.enter_async_context(open_models(loaded.settings, self._clock))
            rules = self._compose(loaded, registry)
            opened = trial.pop_all()
        self._connections.push_async_exit(opened)
        return Edition(
            loaded=loaded, rules=rules, registry=registry, connections=opened, printing=printing, own=own
        )


class Follower:
    """Watches the file and those that hold credentials, from the moment it is made."""

    def __init__(self, press: Press, edition: Edition, clock: Clock) -> None:
        self._press = press
        self._edition = edition
        self._clock = clock
        self._stamps = _stamps(edition.loaded.sources)
        self._refused: str | None = None
        self._wanted: anyio.Event | None = None
        edition.registry.renewed_by(self.renew, edition.printing)

    async def renew(self) -> None:
        """Have the programs that print credentials run again; return when what came of it is in force."""
        self._wanted = self._wanted or anyio.Event()
        await self._wanted.wait()

    async def follow(self, engine: Engine) -> None:
        """Give the engine new rules whenever the configuration changes, until cancelled."""
        async with anyio.create_task_group() as closing:
            waited = 0
            while True:
                await self._clock.sleep(EVERY_MS)
                waited += 1
                stamps, wanted = _stamps(self._edition.loaded.sources), self._wanted
                again = wanted is not None or (self._refused is not None and waited >= AGAIN_AFTER)
                if stamps == self._stamps and not again:
                    continue
                self._stamps, self._wanted, waited = stamps, None, 0
                try:
                    await self._follow_once(engine, closing)
                finally:
                    if wanted is not None:
                        wanted.set()

    async def _follow_once(self, engine: Engine, closing: TaskGroup) -> None:
        old = self._edition
        await self._look(engine)
        if self._edition is not old:
            self._edition.registry.renewed_by(self.renew, self._edition.printing)
            old.registry.replaced_by(self._edition.registry)
            closing.start_soon(_close, await engine.reload(self._edition.rules), old.connections)

    async def _look(self, engine: Engine) -> None:
        """What is there now is the edition in force, if nothing is wrong with it and anything is different."""
        before = self._edition.loaded
        replaced = kept_token(before.sources.home) != self._edition.own
        try:
            found = before.read_again()
            settings = await printed(found.settings)
            kept = until_restart(before.settings, settings)
            if replaced or kept != before.settings:
                self._edition = await self._press.edition(
                    replace(found, settings=kept), printing(found.settings)
                )
        except RoostError as error:
            self._refuse(engine, str(error))
            if replaced:
                # Whatever else is wrong, a token is masked.
                self._edition = await self._press.edition(before, self._edition.printing)
            return
        self._refused = None
        engine.tell(NAME, None)
        _tell(changes(before.settings, settings), before, found)

    def _refuse(self, engine: Engine, why: str) -> None:
        if why != self._refused:
            _log.warning("the configuration stays as it was: %s", why)
        self._refused = why
        engine.tell(NAME, why)


async def _close(out_of_use: OutOfUse, connections: AsyncExitStack) -> None:
    await out_of_use()
    await connections.aclose()


def _tell(changed: Reload, before: Loaded, found: Loaded) -> None:
    if changed.immediate or changed.per_run:
        _log.info("the configuration changed: %s", ", ".join((*changed.immediate, *changed.per_run)))
    if changed.restart:
        _log.warning("changed, and in force after a restart: %s", ", ".join(changed.restart))
    for warning in found.warnings:
        if warning not in before.warnings:
            _log.warning("%s", warning)


def _stamps(sources: Sources) -> Stamps:
    return tuple(_stamp(file) for file in (sources.file, sources.home / TOKEN_FILE, *sources.credentials))


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
