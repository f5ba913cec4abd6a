"""The security audit: what the settings and the files on this machine leave open, and closing the files."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from roost.app.places import database_file
from roost.config import Loaded
from roost.config.exposure import exposure
from roost.config.gateway import TOKEN_FILE
from roost.core.audit import audit
from roost.core.filemodes import FileRole, KeptFile, exposed
from roost.core.findings import Finding, in_order


def audited(loaded: Loaded) -> tuple[Finding, ...]:
    """All that is found, the worst first."""
    return in_order((*audit(exposure(loaded.settings)), *exposed(_files(loaded))))


def close_files(loaded: Loaded) -> tuple[str, ...]:
    """Take others' rights from the files that are this user's own; what was done."""
    done = []
    for file in _files(loaded):
        if file.can_be_closed:
            Path(file.path).chmod(file.mode & file.wanted)
            done.append(f"chmod {file.mode & file.wanted:o} {file.path}")
    return tuple(done)


def _files(loaded: Loaded) -> Iterator[KeptFile]:
    sources = loaded.sources
    store = database_file(sources.home)
    kept = (
        (FileRole.HOME, sources.home),
        (FileRole.CONFIG, sources.file),
        (FileRole.TOKEN, sources.home / TOKEN_FILE),
        *((FileRole.STORE, store.with_name(f"{store.name}{end}")) for end in ("", "-wal", "-shm")),
        *((FileRole.CREDENTIAL, file) for file in sources.credentials),
    )
    for role, path in kept:
        try:
            found = path.stat()
        except FileNotFoundError:
            continue
        yield KeptFile(
            role=role,
            path=str(path),
            mode=stat.S_IMODE(found.st_mode),
            own=found.st_uid == os.getuid(),
            is_link=path.is_symlink(),
        )
