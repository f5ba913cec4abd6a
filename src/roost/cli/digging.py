"""`roost sessions search | tree | compact | cleanup`: further into what is stored."""

from typing import Annotated

from cyclopts import Parameter

from roost.cli.rows import meaning
from roost.cli.several import key_of
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
    key: Annotated[str, Parameter(help="Which session.")] = "main",
    *,
    max_lines: Annotated[
        int | None, Parameter(help="Refused: nothing is cut off a transcript, whose older part is condensed.")
    ] = None,
    where: Where = HERE,
) -> int:
    """Condense a conversation: the next turn goes on from a summary, and the history stays."""
    if max_lines is not None:
        raise InvalidInput(
            "nothing is cut off a transcript",
            hint="leave --max-lines out, and the older part is condensed for the model",
        )
    async with anywhere(where) as client:
        found = await client.call(COMPACT, {"key": await key_of(client, key)})
    answer(where, found, f"{found['key']}: {found.get('reason') or 'condensed'}")
    return 0


async def cleanup(
    *,
    dry_run: Annotated[bool, Parameter(help="Only say what would be removed.", negative="")] = False,
    enforce: Annotated[
        bool, Parameter(help="Do it also where `session.maintenance.mode` is warn.", negative="")
    ] = False,
    active_key: Annotated[
        str | None, Parameter(help="A session that is neither removed nor archived.")
    ] = None,
    fix_missing: Annotated[
        bool, Parameter(help="Changes nothing: no session is without its transcript.", negative="")
    ] = False,
    fix_dm_scope: Annotated[
        bool, Parameter(help="Refused: what is no longer written to is archived by its key.", negative="")
    ] = False,
    where: Where = HERE,
) -> int:
    """Remove now what retention would remove in its time."""
    if fix_dm_scope:
        raise InvalidInput(
            "a conversation of a person is not removed because `session.dmScope` was changed",
            hint="`roost sessions archive KEY` puts those away that are no longer written to",
        )
    params: dict[str, JsonValue] = {"dryRun": dry_run, "enforce": enforce}
    if active_key is not None:
        params["activeKey"] = active_key
    async with anywhere(where) as client:
        with meaning(active_key):
            found = await client.call(CLEANUP, params)
    if where.json:
        as_json(found)
        return 0
    if fix_missing:
        say("no transcript is missing")
    if found["mode"] == "warn" and not dry_run:
        say("`session.maintenance.mode` is warn: --dry-run says what would be removed, and --enforce does it")
    show_cleaned(found)
    return 0


def show_cleaned(found: Cleaned) -> None:
    would = found["dryRun"]
    for key in found["removed"]:
        say(f"{'would remove' if would else 'removed'}  {key}")
    for key in found["archived"]:
        say(f"{'would archive' if would else 'archived'}  {key}")
    if not found["removed"] and not found["archived"] and (would or found["mode"] == "enforce"):
        say("no session is old enough")
