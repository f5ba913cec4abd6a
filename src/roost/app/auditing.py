"""The security audit: what the settings and the files on this machine leave open, and closing the files."""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from roost.app.places import database_file
from roost.config import Loaded
from roost.config.exposure import exposure
from roost.config.gateway import TOKEN_FILE
from roost.core.audit import audit
from roost.core.filemodes import FileRole, KeptFile, exposed
from roost.core.findings import Finding, in_order
from roost.core.guests import NOBODY, LetIn


def audited(
    loaded: Loaded, let_in: LetIn = NOBODY.let_in, listening: Iterable[str] = ()
) -> tuple[Finding, ...]:
    """All that is found, the worst first; `listening` are the addresses of gateways that run, `let_in` who is, by
    pairing."""
    seen = exposure(loaded.settings, listening, let_in)
    return in_order((*audit(seen), *exposed(kept_files(loaded))))


def close_files(loaded: Loaded) -> tuple[str, ...]:
    """Take others' rights from the files that are this user's own; what was done."""
    done = []
    for file in kept_files(loaded):
        if file.can_be_closed:
            Path(file.path).chmod(file.mode & file.wanted)
            done.append(f"chmod {file.mode & file.wanted:o} {file.path}")
    return tuple(done)


def kept_files(loaded: Loaded) -> Iterator[KeptFile]:
    """What nobody else may read, as far as it is there and can be looked at: what needs it says so otherwise."""
    sources = loaded.sources
    store = database_file(sources.home)
    key = () if loaded.certificate is None else (loaded.certificate[1],)
    folders = (loaded.transcript_folder(agent.id) for agent in loaded.settings.agents.list)
    kept = (
        (FileRole.HOME, sources.home),
        (FileRole.CONFIG, sources.file),
        (FileRole.TOKEN, sources.home / TOKEN_FILE),
        *((FileRole.STORE, store.with_name(f"{store.name}{end}")) for end in ("", "-wal", "-shm")),
        *((FileRole.CREDENTIAL, file) for file in sources.credentials),
        *((FileRole.TLS_KEY, file) for file in key),
        *((FileRole.TRANSCRIPTS, one) for one in dict.fromkeys(folders) if one is not None),
    )
    for role, path in kept:
        try:
            found = path.stat()
        except OSError:
            continue
        yield KeptFile(
            role=role,
            path=str(path),
            mode=stat.S_IMODE(found.st_mode),
            own=found.st_uid == os.getuid(),
            is_link=path.is_symlink(),
        )
