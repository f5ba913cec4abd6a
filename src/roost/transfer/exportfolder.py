"""The folder that exports are written to: a folder a session, a file a transcript, secrets masked unless asked not to."""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import BinaryIO

from anyio import to_thread

from roost.core.errors import Conflict
from roost.core.exports import folder_name
from roost.core.keys import SessionKey
from roost.core.redaction import SecretScanner
from roost.ports import Store
from roost.transfer.cleaning import masked, masking
from roost.transfer.export import export_session


async def export_to(
    root: Path, store: Store, key: SessionKey, scanner: SecretScanner | None
) -> tuple[str, ...]:
    """Write every transcript of a key; the paths. Without a scanner the bytes are written as they are."""
    try:
        return await _export(root / folder_name(key), store, key, scanner)
    except OSError as error:
        raise Conflict(
            f"the export could not be written: {error.strerror}", hint=f"make room, or mend {root}"
        ) from None


async def _export(
    folder: Path, store: Store, key: SessionKey, scanner: SecretScanner | None
) -> tuple[str, ...]:
    clean = None if scanner is None else masking(scanner)
    await to_thread.run_sync(partial(folder.mkdir, parents=True, exist_ok=True, mode=0o700))
    with ExitStack() as files:
        open_files: dict[str, BinaryIO] = {}

        async def sink(name: str, line: bytes) -> None:
            if name not in open_files:
                open_files[name] = files.enter_context(opened_privately(part_of(folder / name)))
            await to_thread.run_sync(open_files[name].write, line if clean is None else masked(line, clean))

        names = await export_session(store, key, sink)
    await to_thread.run_sync(_publish, folder, tuple(open_files))
    return tuple(str(folder / name) for name in names if name in open_files)


def _publish(folder: Path, names: Sequence[str]) -> None:
    """Whole or not at all: an export that is cut short leaves the one before it."""
    for name in names:
        part_of(folder / name).replace(folder / name)


def part_of(path: Path) -> Path:
    """Where a file is until it is whole."""
    return path.with_name(f"{path.name}.part")


def opened_privately(path: Path, *, append: bool = False) -> BinaryIO:
    """A file that its owner alone can read, if it is made here; never what a link leads to."""
    how = os.O_APPEND if append else os.O_TRUNC
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | how | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    return os.fdopen(descriptor, "ab" if append else "wb")
