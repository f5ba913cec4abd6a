"""`roost doctor`: what is wrong here, and what to do about it."""

import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from roost.cli.show import as_json, objects, table
from roost.cli.status import address_of
from roost.cli.where import HERE, Where, anywhere
from roost.config import Loaded
from roost.config.gateway import TOKEN_FILE
from roost.core.errors import RoostError
from roost.core.figures import counted
from roost.core.fleet import SAME
from roost.core.jsonvalue import JsonObject
from roost.protocol.families.agents import MODELS
from roost.protocol.families.status import STATUS

_OTHERS = 0o077


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    about: str
    well: bool
    said: str
    fix: str = ""


async def doctor(
    *,
    fix: Annotated[bool, Parameter(help="Mend what can be mended without asking.", negative="")] = False,
    where: Where = HERE,
) -> int:
    """Look at the configuration, the files and the gateway; 1 if something is wrong."""
    try:
        loaded = where.loaded()
    except RoostError as error:
        found = [Finding(about="configuration", well=False, said=str(error), fix="mend the file")]
    else:
        found = [*_configuration(loaded), *_files(loaded, mend=fix), *await _gateway(where)]
    if where.json:
        as_json([{"about": one.about, "well": one.well, "said": one.said, "fix": one.fix} for one in found])
    else:
        table(
            ("about", "well", "found", "what to do"),
            [(one.about, one.well, one.said, one.fix) for one in found],
        )
    return 0 if all(one.well for one in found) else 1


def _configuration(loaded: Loaded) -> Iterator[Finding]:
    sources = loaded.sources
    said = str(sources.file) if sources.exists else "no file: the defaults hold"
    yield Finding(about="configuration", well=True, said=said)
    for warning in loaded.warnings:
        yield Finding(about="configuration", well=True, said=str(warning))


def _files(loaded: Loaded, *, mend: bool) -> Iterator[Finding]:
    """Nobody but their owner may read what holds secrets or conversations."""
    sources = loaded.sources
    for file in (sources.home, sources.file, sources.home / TOKEN_FILE, sources.home / "roost.db"):
        if file.exists():
            yield _private(file, mend=mend)


def _private(file: Path, *, mend: bool) -> Finding:
    mode = stat.S_IMODE(file.stat().st_mode)
    if mode & _OTHERS and mend:
        file.chmod(mode & ~_OTHERS)
        return Finding(about=str(file), well=True, said="is private now")
    if mode & _OTHERS:
        fix = f"run chmod go-rwx {file}, or roost doctor --fix"
        return Finding(about=str(file), well=False, said="can be read by others", fix=fix)
    return Finding(about=str(file), well=True, said="private")


async def _gateway(where: Where) -> list[Finding]:
    try:
        async with anywhere(where) as client:
            stands = await client.call(STATUS)
            models = (await client.call(MODELS))["models"]
    except RoostError as error:
        return [Finding(about="gateway", well=False, said=error.message, fix=error.hint)]
    return [_running(stands, models), *_failing(stands)]


def _failing(stands: JsonObject) -> Iterator[Finding]:
    """Parts of the gateway that do not do what they should."""
    for part in objects(stands.get("parts")):
        if part.get("condition") != "ok":
            fix = "see the log" if part.get("name") != SAME else "give all gateways of a store the same file"
            yield Finding(
                about=f"gateway: {part.get('name')}", well=False, said=str(part.get("error")), fix=fix
            )


def _running(stands: JsonObject, models: Sequence[JsonObject]) -> Finding:
    said = f"{'' if address_of(stands) else 'none runs; '}version {stands.get('runtimeVersion')}, {counted(len(models), 'model')}"
    if all(row.get("provider") == "demo" for row in models):
        return Finding(
            about="gateway",
            well=True,
            said=f"{said}: only the demo model",
            fix="run `roost onboard` to set one up",
        )
    return Finding(about="gateway", well=True, said=said)
