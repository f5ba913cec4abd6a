"""`roost sessions search | tree | compact | cleanup`: further into what is stored."""

from typing import Annotated

from cyclopts import Parameter

from roost.cli.rows import meaning
from roost.cli.show import ago, answer, answer_table, as_json, objects, say
from roost.cli.where import HERE, Where, anywhere
from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.protocol.families.changes import COMPACT
from roost.protocol.families.own import CLEANUP, SEARCH, TREE, Cleaned


async def search(
    words: Annotated[str, Parameter(help='Every word must occur; "a phrase" stands in quotes.')],
    *,
    session: Annotated[str | None, Parameter(help="Only in this session.")] = None,
    limit: Annotated[int, Parameter(help="At most so many hits.")] = 10,
    where: Where = HERE,
) -> int:
    """Where something was said, newest first."""
    if not words.strip():
        raise InvalidInput("there is nothing to search for", hint="give a word, or more")
    params: dict[str, JsonValue] = {"query": words, "limit": limit}
    if session is not None:
        params["key"] = session
    async with anywhere(where) as client:
        with meaning(session):
            found = await client.call(SEARCH, params)
    answer_table(
        where,
        found,
        ("session", "when", "who", "what"),
        (
            (row.get("key"), ago(row.get("timestamp"), found["ts"]), row.get("role"), row.get("snippet"))
            for row in found["results"]
        ),
        "nothing found",
    )
    return 0


async def tree(
    key: Annotated[str, Parameter(help="The session at the top.")] = "main", *, where: Where = HERE
) -> int:
    """A session and all that was spawned below it."""
    async with anywhere(where) as client:
        with meaning(key):
            found = await client.call(TREE, {"key": key})
    if where.json:
        as_json(found)
    else:
        _branch(found["tree"], 0)
    return 0


def _branch(row: JsonObject, depth: int) -> None:
    say(
        f"{'  ' * depth}{row.get('key')}  {row.get('status') or 'idle'}  {row.get('derivedTitle') or ''}".rstrip()
    )
    for child in objects(row.get("children")):
        _branch(child, depth + 1)


async def compact(
    key: Annotated[str, Parameter(help="Which session.")] = "main", *, where: Where = HERE
) -> int:
    """Condense a conversation: the next turn goes on from a summary, and the history stays."""
    async with anywhere(where) as client:
        with meaning(key):
            found = await client.call(COMPACT, {"key": key})
    answer(where, found, f"{found['key']}: {found['reason']}")
    return 0


async def cleanup(
    *,
    dry_run: Annotated[bool, Parameter(help="Only say what would be removed.", negative="")] = False,
    where: Where = HERE,
) -> int:
    """Remove now what retention would remove in its time."""
    async with anywhere(where) as client:
        found = await client.call(CLEANUP, {"dryRun": dry_run})
    if where.json:
        as_json(found)
    else:
        show_cleaned(found)
    return 0


def show_cleaned(found: Cleaned) -> None:
    would = found["dryRun"]
    for key in found["removed"]:
        say(f"{'would remove' if would else 'removed'}  {key}")
    for key in found["archived"]:
        say(f"{'would archive' if would else 'archived'}  {key}")
    if not found["removed"] and not found["archived"]:
        say("no session is old enough")
