"""One person is erased: from the store, from every backup that is known, and from the files made of their sessions."""

import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread

from roost.app.backups import database_of, known_backups, notes_of
from roost.app.bundling import forget_bundle, known_bundles
from roost.app.places import export_folder
from roost.clock import SystemClock
from roost.config import Loaded
from roost.config.policies import identity_links
from roost.core.channeltraits import KNOWN_CHANNELS
from roost.core.erasing import Person
from roost.core.errors import RoostError
from roost.core.exports import folder_name
from roost.core.keys import SessionKey
from roost.stores.sql.erasing import Without
from roost.stores.sqlite.erasing import erase_in
from roost.transfer.exportfolder import part_of
from roost.transfer.lines import Limits
from roost.transfer.mirror import forget_mirrored
from roost.transfer.unpacking import keys_in


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """A file without the person: how many rows went, and in how many sessions of others something was blanked."""

    path: Path
    rows: int
    sessions: int
    touched: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreached:
    """A backup, or a folder of files made of sessions, in which the person still is, as far as is known."""

    path: Path
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """`removed` are exports of sessions in which the person was."""

    rewritten: tuple[Rewritten, ...]
    removed: tuple[Path, ...]
    unreached: tuple[Unreached, ...]


def who(loaded: Loaded, name: str) -> Person:
    """The person who is meant."""
    return Person.named(name, identity_links(loaded.settings), KNOWN_CHANNELS, secrets.token_hex(16))


async def erase(loaded: Loaded, person: Person, more: tuple[Path, ...] = ()) -> Erased:
    """Erase a person from the store, its backups, and more files that are backups. Done again, it changes nothing. A store
    that is in use raises, and nothing was erased."""
    now, own, files = SystemClock().now, database_of(loaded), _Files(loaded)
    rewritten = [_rewritten(own, *await erase_in(own, person, now, files.remove_all))]
    unreached = []
    for path in (*known_backups(loaded), *(one.absolute() for one in more)):
        try:
            found = await erase_in(path, person, now, files.remove_exports)
        except (RoostError, OSError) as error:
            unreached.append(Unreached(path=path, why=_why(error, path, notes_of(loaded))))
        else:
            rewritten.append(_rewritten(path, *found))
    return Erased(
        rewritten=tuple(rewritten), removed=tuple(files.removed), unreached=(*files.left.values(), *unreached)
    )


def _why(error: Exception, path: Path, notes: Path) -> str:
    """Whether one that is not where it was put was moved or is gone, nobody can tell but who did it."""
    if not isinstance(error, RoostError) or path.exists():
        return str(error)
    return f"{error.message} (if it was moved, name it with --backup; if it is gone, take its line out of {notes})"


def _rewritten(path: Path, found: Without, rows: int) -> Rewritten:
    return Rewritten(path=path, rows=rows, sessions=len(found.sessions), touched=len(found.touched))


class _Files:
    """What was made of sessions in which they were. It goes before the rows that lead to it, so that whatever is cut short
    can be done again."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self.removed: list[Path] = []
        self.left: dict[Path, Unreached] = {}

    async def remove_all(self, found: Without) -> None:
        await self.remove_exports(found)
        await to_thread.run_sync(self._forget_transcripts)

    async def remove_exports(self, found: Without) -> None:
        await to_thread.run_sync(self._remove_exports, found.sessions | found.touched)

    def _remove_exports(self, keys: frozenset[str]) -> None:
        for key in sorted(keys):
            folder = export_folder(self._loaded.sources.home) / folder_name(SessionKey.parse(key))
            try:
                shutil.rmtree(folder)
            except FileNotFoundError:
                continue
            except OSError as error:
                self._leave(folder, error)
            else:
                self.removed.append(folder)
        for bundle in known_bundles(self._loaded):
            self._remove_bundle(bundle, keys)

    def _remove_bundle(self, path: Path, keys: frozenset[str]) -> None:
        try:
            if self._is_removed(path, keys):
                forget_bundle(self._loaded, path)
        except (RoostError, OSError) as error:
            self._leave(path, error)

    def _is_removed(self, path: Path, keys: frozenset[str]) -> bool:
        part = part_of(path)
        if part.exists():
            # Cut short, it cannot be read: whoever is in it, it goes.
            part.unlink()
            self.removed.append(part)
            if not path.exists():
                return True
        if keys.isdisjoint(map(str, keys_in(path, Limits()))):
            return False
        path.unlink()
        self.removed.append(path)
        return True

    def _forget_transcripts(self) -> None:
        """All of them: the next gateway writes those that there are anew."""
        agents = self._loaded.settings.agents
        for folder in {self._loaded.transcript_folder(one.id) for one in (agents.default, *agents.list)}:
            if folder is not None:
                try:
                    forget_mirrored(self._loaded.sources.home, folder)
                except OSError as error:
                    self._leave(folder, error)

    def _leave(self, folder: Path, error: Exception) -> None:
        self.left[folder] = Unreached(path=folder, why=str(error))
