"""The configuration as it changes while a gateway runs. A file in which anything is wrong changes nothing."""

import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint_if_cancelled

from roost.app.providers import open_models
from roost.app.scanning import Masks, kept_token
from roost.config import ConfigRefused, Loaded, Reload, Sources, at_once, changes, until_restart
from roost.config.gateway import TOKEN_FILE
from roost.config.printed import printed, printing
from roost.core.errors import RoostError
from roost.core.secrets import Secret
from roost.engine.gateway import Engine
from roost.engine.rules import ConfigIssue, Rules
from roost.models.registry import Registry
from roost.ports import Clock

NAME = "configuration"
EVERY_MS = 250
# What was refused may have been so for something that is not watched: a program that prints a credential, say.
AGAIN_AFTER = 20

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
            # What was broken off as it came to its end is none: others have been made meanwhile.
            await checkpoint_if_cancelled()
            opened = trial.pop_all()
        self._connections.push_async_exit(opened)
        return Edition(
            loaded=loaded, rules=rules, registry=registry, connections=opened, printing=printing, own=own
        )

    def revised(self, edition: Edition, loaded: Loaded) -> Edition:
        """Other rules over the models that are open. Raises a `RoostError` where there can be none."""
        own = kept_token(loaded.sources.home)
        self._masks.learn(loaded)
        return replace(edition, loaded=loaded, rules=self._compose(loaded, edition.registry), own=own)


class Follower:
    """Watches the file and those that hold credentials, from the moment it is made. Who may do what is changed as soon as
    it is seen; what programs print and models need may take its time, and begins anew when the file changes meanwhile."""

    def __init__(self, press: Press, edition: Edition, clock: Clock) -> None:
        self._press = press
        self._edition = edition
        self._clock = clock
        self._stamps = _stamps(edition.loaded.sources)
        self._refused: str | None = None
        self._wanted: anyio.Event | None = None
        self._due = anyio.Event()
        self._looking: anyio.CancelScope | None = None
        self._waited = 0
        edition.registry.renewed_by(self.renew, edition.printing)

    async def renew(self) -> None:
        """Have the programs that print credentials run again; return when what came of it is in force."""
        self._wanted = self._wanted or anyio.Event()
        await self._wanted.wait()

    async def follow(self, engine: Engine) -> None:
        """Give the engine new rules whenever the configuration changes, until cancelled."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._complete, engine, group)
            while True:
                await self._clock.sleep(EVERY_MS)
                self._waited += 1
                stamps = _stamps(self._edition.loaded.sources)
                if stamps != self._stamps:
                    self._stamps = stamps
                    if self._looking is not None:
                        self._looking.cancel()
                elif self._looking is not None or not self._again:
                    continue
                self._take_at_once(engine, group)
                self._due.set()

    @property
    def _again(self) -> bool:
        return self._wanted is not None or (self._refused is not None and self._waited >= AGAIN_AFTER)

    def _take_at_once(self, engine: Engine, group: TaskGroup) -> None:
        before = self._edition.loaded
        try:
            self._take(before.read_again(), engine, group)
        except RoostError as error:
            self._refuse(engine, error)
            # Whatever else is wrong, a token is masked.
            self._take(before, engine, group)

    def _take(self, found: Loaded, engine: Engine, group: TaskGroup) -> None:
        """Credentials and denials, and the gateway's own token."""
        before = self._edition.loaded
        taken = at_once(before.settings, found.settings)
        if taken == before.settings and kept_token(before.sources.home) == self._edition.own:
            return
        loaded = replace(found, settings=taken, warnings=before.warnings)
        self._edition = self._press.revised(self._edition, loaded)
        group.start_soon(engine.reload, self._edition.rules)
        _tell(changes(before.settings, taken), before, loaded)

    async def _complete(self, engine: Engine, group: TaskGroup) -> None:
        """One look after another. One in which the file changed is begun again: it is not what it says any more."""
        while True:
            await self._due.wait()
            wanted, self._wanted = self._wanted, None
            try:
                while await self._broken_off(engine, group):
                    pass
            finally:
                if wanted is not None:
                    wanted.set()

    async def _broken_off(self, engine: Engine, group: TaskGroup) -> bool:
        self._due = anyio.Event()
        with anyio.CancelScope() as self._looking:
            await self._look(engine, group)
        broken_off = self._looking.cancelled_caught
        self._looking, self._waited = None, 0
        return broken_off

    async def _look(self, engine: Engine, group: TaskGroup) -> None:
        """What is there now is the edition in force, if nothing is wrong with it and anything is different."""
        before = self._edition.loaded
        try:
            found = before.read_again()
            settings = await printed(found.settings)
            loaded = replace(found, settings=until_restart(before.settings, settings))
            if loaded.settings == before.settings:
                self._edition = replace(self._edition, loaded=loaded)
            else:
                edition = await self._press.edition(loaded, printing(found.settings))
                self._replace(edition, engine, group)
        except RoostError as error:
            self._refuse(engine, error)
            return
        self._refused = None
        engine.config_issues = ()
        engine.tell(NAME, None)
        _tell(changes(before.settings, settings), before, found)

    def _replace(self, edition: Edition, engine: Engine, group: TaskGroup) -> None:
        old, self._edition = self._edition, edition
        edition.registry.renewed_by(self.renew, edition.printing)
        old.registry.replaced_by(edition.registry)
        group.start_soon(_reload, engine, edition.rules, old.connections)

    def _refuse(self, engine: Engine, error: RoostError) -> None:
        why = str(error)
        if why != self._refused:
            _log.warning("the configuration stays as it was: %s", why)
        self._refused = why
        engine.config_issues = _issues(error)
        engine.tell(NAME, why)


def _issues(error: RoostError) -> tuple[ConfigIssue, ...]:
    if isinstance(error, ConfigRefused):
        return tuple(ConfigIssue(path=one.path, message=one.message) for one in error.problems)
    return (ConfigIssue(path="", message=str(error)),)


async def _reload(engine: Engine, rules: Rules, connections: AsyncExitStack) -> None:
    """Close what was opened for the old rules when nothing goes by them any more."""
    out_of_use = await engine.reload(rules)
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
