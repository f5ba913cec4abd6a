"""One person is erased: from the store, from every backup that is known, and from the files made of their sessions."""

import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread

from roost.app.backups import database_of, known_backups
from roost.app.places import export_folder
from roost.clock import SystemClock
from roost.config import Loaded
from roost.config.policies import identity_links
from roost.core.erasing import Person
from roost.core.errors import RoostError
from roost.core.keys import SessionKey
from roost.core.traits import KNOWN_CHANNELS
from roost.stores.sqlite.erasing import erase_in
from roost.transfer.exports import folder_name
from roost.transfer.mirror import forget_mirrored


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """A file without the person: how many rows went, and how many sessions of others they had spoken in."""

    path: Path
    rows: int
    sessions: int
    touched: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreached:
    """A backup in which the person still is, as far as is known."""

    path: Path
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    rewritten: tuple[Rewritten, ...]
    unreached: tuple[Unreached, ...]


def who(loaded: Loaded, name: str) -> Person:
    """The person who is meant."""
    return Person.named(name, identity_links(loaded.settings), KNOWN_CHANNELS, secrets.token_hex(16))


async def erase(loaded: Loaded, person: Person, more: tuple[Path, ...] = ()) -> Erased:
    """Erase a person from the store, its backups, and more files that are backups. Done again, it changes nothing. A store
    that is in use raises, and nothing was erased."""
    now, own = SystemClock().now, database_of(loaded)
    without, rows = await erase_in(own, person, now)
    rewritten = [Rewritten(path=own, rows=rows, sessions=len(without.sessions), touched=without.touched)]
    unreached = []
    await to_thread.run_sync(_remove_files, loaded, without.sessions)
    for path in (*known_backups(loaded), *(one.absolute() for one in more)):
        try:
            found, rows = await erase_in(path, person, now)
        except RoostError as error:
            unreached.append(Unreached(path=path, why=str(error)))
        else:
            rewritten.append(
                Rewritten(path=path, rows=rows, sessions=len(found.sessions), touched=found.touched)
            )
    return Erased(rewritten=tuple(rewritten), unreached=tuple(unreached))


def _remove_files(loaded: Loaded, keys: frozenset[str]) -> None:
    """Exports of their sessions go; transcripts beside the store are written anew by the next gateway."""
    home = loaded.sources.home
    for key in keys:
        shutil.rmtree(export_folder(home) / folder_name(SessionKey.parse(key)), ignore_errors=True)
    agents = loaded.settings.agents
    folders = {loaded.transcript_folder(one.id) for one in (agents.default, *agents.list)}
    forget_mirrored(home, tuple(folder for folder in folders if folder is not None))
