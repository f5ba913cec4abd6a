"""`roost sessions`: the conversations there are, and what was said in them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Annotated, Literal, TypeAlias

from cyclopts import App, Parameter

from roost.cli.rows import meaning, message_line, sessions_table, unknown
from roost.cli.show import answer, as_json, facts, objects, say, told
from roost.cli.where import HERE, Where, anywhere, now_of
from roost.client import Client
from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.references import refuse_unknown
from roost.protocol.families.agents import AGENTS
from roost.protocol.families.changes import RESET
from roost.protocol.families.chat import HISTORY
from roost.protocol.families.sessions import DESCRIBE, LIST, MOST_ROWS, Listed

app = App(name="sessions", help="The conversations there are.")

SHOWN = 50
_END = (1, "")

Place: TypeAlias = tuple[int, str]
Ask: TypeAlias = Callable[[Mapping[str, JsonValue]], Awaitable[Listed]]
Key = Annotated[str, Parameter(help="A key from the list, main, or a session id.")]


@app.command(name="list")
@app.default
async def list_sessions(
    *,
    active: Annotated[int | None, Parameter(help="Only those of the last so many minutes.")] = None,
    agent: Annotated[str | None, Parameter(help="Only those of this agent.")] = None,
    all_agents: Annotated[bool, Parameter(help="Those of every agent, as without it.", negative="")] = False,
    search: Annotated[str | None, Parameter(help="Only those with this in key, names or title.")] = None,
    archived: Annotated[bool, Parameter(help="The archived ones instead.", negative="")] = False,
    limit: Annotated[
        int | Literal["all"] | None,
        Parameter(help="At most so many, or all. Without it 50, and with --json all."),
    ] = None,
    where: Where = HERE,
) -> int:
    """The newest first."""
    if agent is not None and all_agents:
        raise InvalidInput("one agent, or all of them", hint="leave --agent or --all-agents out")
    most = ("all" if where.json else SHOWN) if limit is None else limit
    given: dict[str, JsonValue] = {"activeMinutes": active, "agentId": agent, "search": search}
    params: dict[str, JsonValue] = {name: value for name, value in given.items() if value is not None}
    asked = {**params, "archived": archived, "includeDerivedTitles": True}
    async with anywhere(where) as client:

        async def ask(params: Mapping[str, JsonValue]) -> Listed:
            return await client.call(LIST, params)

        found = await (every(ask, asked) if most == "all" else ask({**asked, "limit": most}))
        if agent is not None and not found["sessions"]:
            await _refuse_absent(client, agent)
    if where.json:
        as_json({**found, "activeMinutes": active})
    elif found["sessions"]:
        sessions_table(found["sessions"], found["ts"])
        if found["hasMore"]:
            say(f"… and more: --limit {2 * len(found['sessions'])}, or all")
    elif params or archived:
        say("no session fits")
    else:
        say('no sessions yet; begin one with `roost agent --message "hello"`')
    return 0


async def _refuse_absent(client: Client, agent: str) -> None:
    """One that is gone is still known by what it left, whether that fits or not."""
    left = await client.call(LIST, {"agentId": agent, "archived": "all", "limit": 1})
    if not left["sessions"]:
        there = await client.call(AGENTS)
        refuse_unknown(agent, [str(row["id"]) for row in objects(there["agents"])])


async def every(ask: Ask, asked: Mapping[str, JsonValue], page: int = MOST_ROWS) -> Listed:
    """All of them, each once. One that is used meanwhile comes to the front, perhaps before it was seen: the front is
    looked at again until one page, which is read at once, holds all that came there."""
    rows: dict[JsonValue, JsonObject] = {}
    front, moving = _END, True
    while moving:
        pages = [found async for found in _pages(ask, {**asked, "limit": page}, front)]
        newest = {row["key"]: row for found in pages for row in found["sessions"]}
        rows = newest | {key: row for key, row in rows.items() if key not in newest}
        moving = len(pages) > 1
        front = _place(pages[0]["sessions"][0]) if moving else _END
    told: Listed = {**pages[-1], "nextOffset": None, "nextCursor": None, "hasMore": False}
    told["count"] = told["totalCount"] = len(rows)
    told["sessions"] = list(rows.values())
    return told


async def _pages(ask: Ask, asked: Mapping[str, JsonValue], front: Place) -> AsyncIterator[Listed]:
    """Until they reach what once was the front."""
    found = await ask(asked)
    yield found
    while (cursor := found["nextCursor"]) is not None and _place(found["sessions"][-1]) < front:
        found = await ask({**asked, "cursor": cursor})
        yield found


def _place(row: JsonObject) -> Place:
    at = row["updatedAt"]
    assert isinstance(at, int)
    return -at, str(row["key"])


@app.command
async def show(key: Key, *, where: Where = HERE) -> int:
    """Everything that is known of one."""
    async with anywhere(where) as client:
        found = await client.call(
            DESCRIBE, {"key": key, "includeDerivedTitles": True, "includeLastMessage": True}
        )
        now = await now_of(client)
    row = found["session"]
    if row is None:
        raise unknown(key)
    if where.json:
        as_json(row)
    else:
        facts(told(row, now))
    return 0


@app.command
async def history(
    key: Key,
    *,
    limit: Annotated[int, Parameter(help="At most so many messages.")] = 50,
    where: Where = HERE,
) -> int:
    """What was said, oldest first."""
    async with anywhere(where) as client:
        found = await client.call(HISTORY, {"sessionKey": key, "limit": limit})
    if "sessionId" not in found:
        raise unknown(key)
    if where.json:
        as_json(found)
        return 0
    for row in found["messages"]:
        say(message_line(row))
    if not found["messages"]:
        say("nothing was said yet")
    return 0


@app.command
async def reset(key: Key, *, where: Where = HERE) -> int:
    """Begin anew under the same key; what was said stays in the history."""
    async with anywhere(where) as client:
        with meaning(key):
            found = await client.call(RESET, {"key": key, "reason": "reset"})
    answer(where, found, f"{found['key']} begins anew")
    return 0


# Loaded by who asks for them; what imports loads what keeps.
app.command(
    "roost.cli.tail:tail",
    name="tail",
    help="What was said last, and what is said from now on, until Ctrl-C.",
)
app.command("roost.cli.digging:search", name="search", help="Where something was said, newest first.")
app.command("roost.cli.digging:tree", name="tree", help="A session and all that was spawned below it.")
app.command(
    "roost.cli.exports:export",
    name="export",
    help="Write the transcripts of sessions as files here, a folder a session.",
)
app.command(
    "roost.cli.digging:compact",
    name="compact",
    help="Condense a conversation: the next turn goes on from a summary, and the history stays.",
)
app.command(
    "roost.cli.digging:cleanup", name="cleanup", help="Remove now what retention would remove in its time."
)
app.command(
    "roost.cli.removing:archive",
    name="archive",
    help="Put sessions away: they are listed no more, and nothing of them is removed.",
)
app.command(
    "roost.cli.removing:delete",
    name="delete",
    help="Remove sessions with all that was said in them, for good.",
)
app.command(
    "roost.cli.points:app", name="points", help="Save points: moments of a conversation to go back to."
)
app.command("roost.cli.imports:session", name="import", help="Take in a conversation that was exported.")
app.command("roost.cli.bundles:bundle", name="bundle", help="Write one with its children to one file.")
app.command("roost.cli.bundles:unbundle", name="unbundle", help="Take in what `bundle` wrote.")
app.command(
    "roost.cli.replays:replay", name="replay", help="Play an exported conversation again and compare."
)
