"""Sessions as files to take elsewhere, made while work goes on, and remembered so that they can be found again."""

import json
from dataclasses import replace
from pathlib import Path

from anyio import to_thread

from roost.app.importing import import_options
from roost.app.opening import open_store
from roost.app.places import export_folder
from roost.app.scanning import seals_of, secret_scanner
from roost.clock import SystemClock
from roost.config import Loaded
from roost.config.printed import printed
from roost.core.errors import Conflict
from roost.core.keys import SessionKey
from roost.transfer.cleaning import masking
from roost.transfer.exportfolder import opened_privately, part_of
from roost.transfer.packing import Packed, pack

# One path a line, of all that were made, as JSON.
BUNDLES = "bundles"


async def bundle_session(loaded: Loaded, key: str, to: Path) -> tuple[SessionKey, Packed]:
    """Write a session and all below it to a new file, without secrets."""
    loaded = replace(loaded, settings=await printed(loaded.settings))
    options = import_options(loaded, loaded.settings.agents.default.id)
    chosen = options.key(loaded.settings.agents.default.id, key)
    path = await to_thread.run_sync(_remembered, export_folder(loaded.sources.home), to)
    part = part_of(path)
    clean = masking(secret_scanner(loaded), seals_of(loaded))
    try:
        async with open_store(loaded) as store:
            with await to_thread.run_sync(opened_privately, part) as out:
                packed = await pack(store, chosen, out, clean, SystemClock().now())
        await to_thread.run_sync(part.replace, path)
    except OSError as error:
        raise Conflict(
            f"{path} could not be written: {error.strerror}", hint="make room, or name another"
        ) from None
    finally:
        await to_thread.run_sync(_tidy, loaded, path)
    return chosen, packed


def _tidy(loaded: Loaded, path: Path) -> None:
    part_of(path).unlink(missing_ok=True)
    if not path.exists():
        forget_bundle(loaded, path)


def known_bundles(loaded: Loaded) -> tuple[Path, ...]:
    """All that were made, be they still there or not."""
    listed = export_folder(loaded.sources.home) / BUNDLES
    text = listed.read_text(encoding="utf-8") if listed.exists() else ""
    return tuple(dict.fromkeys(Path(json.loads(line)) for line in text.splitlines()))


def forget_bundle(loaded: Loaded, path: Path) -> None:
    """It is there no more."""
    listed = export_folder(loaded.sources.home) / BUNDLES
    left = listed.with_name(f"{BUNDLES}.new")
    left.write_text("".join(_line(one) for one in known_bundles(loaded) if one != path), encoding="utf-8")
    left.replace(listed)


def _line(path: Path) -> str:
    """Of ASCII: a name may hold whatever else would end a line."""
    return f"{json.dumps(str(path))}\n"


def _remembered(folder: Path, to: Path) -> Path:
    """Where a bundle shall lie; noted before it is there: one that nobody knows of would never be found again."""
    path = to.absolute()
    if path.exists():
        raise Conflict(f"{path} is there already", hint="name a new file")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / BUNDLES).open("a", encoding="utf-8") as out:
        out.write(_line(path))
    return path
