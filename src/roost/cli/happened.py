"""`roost timeline | denials | ledger | exchanges`: what happened, from the beginning of a session."""

from typing import Annotated

from cyclopts import Parameter

from roost.cli.rows import calls, cost, meaning, message_line
from roost.cli.show import ago, answer_table, as_json, part, say, table
from roost.cli.where import HERE, Where, anywhere
from roost.core.jsonvalue import JsonValue
from roost.protocol.families.reasons import DENIALS, EXCHANGES, LEDGER, TIMELINE

Limit = Annotated[int, Parameter(help="At most so many.")]
Only = Annotated[str | None, Parameter(help="Of which session; by default of all.")]


async def timeline(
    key: Annotated[str, Parameter(help="Which session.")] = "main",
    *,
    limit: Limit = 200,
    before: Annotated[str | None, Parameter(help="The cursor that an earlier page ended with.")] = None,
    where: Where = HERE,
) -> int:
    """What was said in a session, through every reset and compaction."""
    params: dict[str, JsonValue] = {"key": key, "limit": limit}
    if before is not None:
        params["before"] = before
    async with anywhere(where) as client:
        with meaning(key):
            found = await client.call(TIMELINE, params)
    if where.json:
        as_json(found)
        return 0
    if found["before"] is not None:
        say(f"(earlier: --before {found['before']})")
    for row in found["messages"]:
        say(message_line(row))
    return 0


async def denials(session: Only = None, *, limit: Limit = 100, where: Where = HERE) -> int:
    """What was refused, and the rule that said so; newest first."""
    async with anywhere(where) as client:
        with meaning(session):
            found = await client.call(DENIALS, _of(session, limit))
    answer_table(
        where,
        found,
        ("when", "session", "what", "who", "rule", "why"),
        (
            (
                ago(row.get("at"), found["ts"]),
                row.get("sessionKey") or row.get("target"),
                row.get("operation"),
                row.get("principal"),
                row.get("rule"),
                row.get("reason"),
            )
            for row in found["denials"]
        ),
        "nothing was refused",
    )
    return 0


async def ledger(
    session: Only = None,
    *,
    tree: Annotated[bool, Parameter(help="With all that was spawned below it.", negative="")] = False,
    limit: Limit = 100,
    where: Where = HERE,
) -> int:
    """What each call of a model cost, newest first."""
    async with anywhere(where) as client:
        with meaning(session):
            found = await client.call(LEDGER, {**_of(session, limit), "tree": tree})
    if where.json:
        as_json(found)
        return 0
    table(
        ("when", "session", "model", "kind", "tokens", "cost"),
        [
            (
                ago(row.get("at"), found["ts"]),
                row.get("key"),
                f"{row.get('provider')}/{row.get('model')}",
                row.get("runKind"),
                part(row, "usage", "totalTokens"),
                cost(part(row, "usage", "totalCost")),
            )
            for row in found["calls"]
        ],
    )
    totals = found["totals"]
    say(f"{cost(totals.get('totalCost'))} in {calls(totals.get('calls'))}")
    return 0


async def exchanges(
    key: Annotated[str, Parameter(help="Which session.")] = "main", *, limit: Limit = 100, where: Where = HERE
) -> int:
    """What a session sent to others and was sent by them, newest first."""
    async with anywhere(where) as client:
        with meaning(key):
            found = await client.call(EXCHANGES, {"key": key, "limit": limit})
    answer_table(
        where,
        found,
        ("when", "", "session", "receipt", "message"),
        (
            (
                ago(row.get("createdAt"), found["ts"]),
                "to" if row.get("direction") == "sent" else "from",
                row.get("target") if row.get("direction") == "sent" else row.get("requester"),
                row.get("receipt"),
                row.get("request"),
            )
            for row in found["exchanges"]
        ),
        "nothing was sent",
    )
    return 0


def _of(session: str | None, limit: int) -> dict[str, JsonValue]:
    return {"limit": limit, **({} if session is None else {"key": session})}
