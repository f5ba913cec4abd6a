"""`roost sessions archive | delete`: put sessions away, or remove them."""

import sys
from collections.abc import Sequence
from typing import Annotated, TypeAlias

from cyclopts import Parameter

from roost.cli.rows import unknown
from roost.cli.several import Came, Several, key_of
from roost.cli.show import objects, say
from roost.cli.typing import read_line
from roost.cli.where import HERE, Where, anywhere
from roost.client import Client
from roost.core.errors import InvalidInput
from roost.protocol.families.agents import AGENTS
from roost.protocol.families.changes import DELETE, PATCH

Key: TypeAlias = Annotated[
    str, Parameter(help="Which sessions, by a key from the list, main, or a session id.")
]


async def archive(
    key: Key,
    /,
    *more: Key,
    undo: Annotated[bool, Parameter(help="Take them out of the archive.", negative="")] = False,
    dry_run: Annotated[bool, Parameter(help="Only say what would be done.", negative="")] = False,
    where: Where = HERE,
) -> int:
    """Put sessions away: they are listed no more, and nothing of them is removed; 1 if one could not be."""
    several = Several(operation="restore" if undo else "archive", where=where, dry_run=dry_run)
    state = "back" if undo else "archived"
    async with anywhere(where) as client:

        async def step(named: str) -> Came:
            key = await key_of(client, named)
            if dry_run:
                return several.keep(
                    Came(key=key, status=f"would be {state}", words=f"{key} would be {state}")
                )
            found = await client.call(PATCH, {"key": key, "archived": not undo})
            return several.keep(Came(key=found["key"], status=state, words=f"{found['key']} is {state}"))

        await several.each((key, *more), step)
    return several.code()


async def delete(
    key: Key,
    /,
    *more: Key,
    yes: Annotated[
        bool,
        Parameter(help="Do not ask; where nobody can be asked nothing is removed without it.", negative=""),
    ] = False,
    dry_run: Annotated[bool, Parameter(help="Only say what would be removed.", negative="")] = False,
    where: Where = HERE,
) -> int:
    """Remove sessions with all that was said in them, for good; 1 if one could not be."""
    several = Several(operation="delete", where=where, dry_run=dry_run)
    # Whoever is asked takes their time; no gateway is kept waiting.
    async with anywhere(where) as client:
        found = await _removable(client, several, (key, *more))
    if dry_run:
        for one in found:
            several.keep(one)
    elif found:
        if not yes:
            _agree([one.key for one in found], where)
        async with anywhere(where) as client:
            await several.each([one.key for one in found], lambda key: _remove(client, several, key))
    return several.code()


async def _removable(client: Client, several: Several, names: Sequence[str]) -> tuple[Came, ...]:
    """Nobody need agree to what the gateway does not do."""
    told = await client.call(AGENTS)
    mains = {f"agent:{one.get('id')}:{told.get('mainKey')}" for one in objects(told.get("agents"))}

    async def look(named: str) -> Came:
        key = await key_of(client, named)
        if key in mains:
            raise InvalidInput(f"{key} is a main session, which is never removed", hint="reset it instead")
        return Came(key=key, status="would be deleted", words=f"{key} would be removed")

    return await several.each(names, look)


def _agree(keys: Sequence[str], where: Where) -> None:
    meant = f"this removes {', '.join(keys)} and all that was said there, for good"
    if where.json or not sys.stdin.isatty():
        raise InvalidInput(meant, hint="say --yes to do it")
    say(meant)
    if (read_line("Type yes to go on: ") or "").strip().lower() != "yes":
        raise InvalidInput("nothing was removed", hint="answer yes, or add --yes")


async def _remove(client: Client, several: Several, key: str) -> Came:
    found = await client.call(DELETE, {"key": key})
    if not found["deleted"]:
        raise unknown(key)
    return several.keep(Came(key=found["key"], status="deleted", words=f"{found['key']} is gone"))
