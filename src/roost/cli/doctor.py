"""`roost doctor`: what is wrong here, and what to do about it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from roost.app.auditing import close_files, kept_files
from roost.app.moving import glance_at_store
from roost.cli.oldspellings import old_spellings, respell
from roost.cli.show import as_json, objects, part, table
from roost.cli.status import address_of
from roost.cli.where import HERE, Where, anywhere
from roost.config import ConfigSource, Loaded
from roost.core.addressed import CHANNEL as PAGE
from roost.core.errors import RoostError
from roost.core.figures import counted
from roost.core.filemodes import KeptFile, exposed
from roost.core.fleet import SAME
from roost.core.jsonvalue import JsonObject
from roost.protocol.families.agents import MODELS
from roost.protocol.families.status import CHANNELS, STATUS

CHECK = "run `roost db check`"


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
    """Look at the configuration, the files, the store and the gateway; 1 if something is wrong."""
    try:
        loaded = where.loaded()
    except RoostError as error:
        found = [Finding(about="configuration", well=False, said=str(error), fix="mend the file")]
    else:
        found = [
            *_configuration(loaded),
            *_spellings(where.source(), loaded, mend=fix),
            *_files(loaded, mend=fix),
            *await _store(loaded),
            *await _gateway(where),
        ]
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


def _spellings(source: ConfigSource, loaded: Loaded, *, mend: bool) -> Iterator[Finding]:
    for old in old_spellings(loaded.settings):
        said, fix = "an older spelling, which is read all the same", "run roost doctor --fix"
        if mend:
            try:
                respell(source, old)
            except RoostError as error:
                said, fix = f"{said}; {error.message}", error.hint
            else:
                said, fix = (
                    f"is written as {'.'.join(old.now)} now" if old.value else "is gone: it said nothing",
                    "",
                )
        yield Finding(about=str(old), well=True, said=said, fix=fix)


def _files(loaded: Loaded, *, mend: bool) -> Iterator[Finding]:
    """Nobody but their owner may read what holds secrets or conversations."""
    before = {one.path: one for one in kept_files(loaded)}
    if mend:
        close_files(loaded)
    for file in kept_files(loaded):
        if not file.is_private:
            yield _open(file)
            continue
        mended = not before.get(file.path, file).is_private
        yield Finding(about=file.path, well=True, said="is private now" if mended else "private")


def _open(file: KeptFile) -> Finding:
    fix = f"chmod {file.wanted:o} {file.path}, or run roost doctor --fix" if file.own else "make it your own"
    said = " ".join(one.text for one in exposed((file,)))
    return Finding(about=file.path, well=False, said=said or "others have rights to it", fix=fix)


async def _store(loaded: Loaded) -> list[Finding]:
    """Damage shows in an answer only when somebody reads what is damaged."""
    try:
        found = await glance_at_store(loaded)
    except RoostError as error:
        return [Finding(about="store", well=False, said=error.message, fix=CHECK)]
    if found is None:
        return []
    if not found.looked:
        return [Finding(about="store", well=True, said="too large to look through here", fix=CHECK)]
    if found.fault is not None:
        said = f"{found.file} is damaged: {' '.join(found.fault.split())}"
        return [Finding(about="store", well=False, said=said, fix=CHECK)]
    return [Finding(about="store", well=True, said="sound")]


async def _gateway(where: Where) -> list[Finding]:
    try:
        async with anywhere(where) as client:
            stands = await client.call(STATUS)
            models = (await client.call(MODELS))["models"]
            served = (await client.call(CHANNELS, {}))["channelOrder"]
    except RoostError as error:
        return [Finding(about="gateway", well=False, said=error.message, fix=error.hint)]
    configured = () if where.url else tuple(where.loaded().settings.channels)
    return [_running(stands, models), *_failing(stands), *_unserved(configured, served)]


def _unserved(configured: Sequence[str], served: Sequence[str]) -> Iterator[Finding]:
    """Channels that the file speaks of and nobody brought."""
    for name in configured:
        if name not in (*served, PAGE):
            yield Finding(
                about=f"channel {name}",
                well=True,
                said="there is no adapter for it: nothing comes from there, and nothing goes there",
                fix="its settings count when there is one",
            )


def _failing(stands: JsonObject) -> Iterator[Finding]:
    """Parts of the gateway that do not do what they should."""
    for one in objects(stands.get("parts")):
        if one.get("condition") != "ok":
            fix = "see the log" if one.get("name") != SAME else "give all gateways of a store the same file"
            yield Finding(
                about=f"gateway: {one.get('name')}", well=False, said=str(one.get("error")), fix=fix
            )


def _running(stands: JsonObject, models: Sequence[JsonObject]) -> Finding:
    said = f"{'' if address_of(stands) else 'none runs; '}version {stands.get('runtimeVersion')}, {counted(len(models), 'model')}"
    provider, model = (part(stands, "sessions", "defaults", name) for name in ("modelProvider", "model"))
    if provider == "demo":
        return Finding(
            about="gateway",
            well=True,
            said=f"{said}: {'only ' if len(models) == 1 else ''}the demo model answers",
            fix="run `roost onboard` to set one up",
        )
    return Finding(about="gateway", well=True, said=f"{said}: {provider}/{model} answers")
