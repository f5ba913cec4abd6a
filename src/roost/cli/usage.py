"""`roost usage`: what the models cost."""

from typing import Annotated, Literal

from cyclopts import Parameter

from roost.cli.rows import calls, cost
from roost.cli.show import as_json, objects, part, say, table
from roost.cli.where import HERE, Where, anywhere
from roost.protocol.families.usage import USAGE


async def usage(
    *,
    range: Annotated[  # noqa: A002 — the name of the option
        Literal["7d", "30d", "90d", "1y", "all"], Parameter(help="Which days are added up.")
    ] = "30d",
    limit: Annotated[int, Parameter(help="At most so many sessions.")] = 20,
    where: Where = HERE,
) -> int:
    """What was spent within some days, and by which sessions."""
    async with anywhere(where) as client:
        found = await client.call(USAGE, {"range": range, "limit": limit})
    if where.json:
        as_json(found)
        return 0
    table(
        ("session", "in", "out", "cost"),
        [
            (
                row.get("key"),
                part(row, "totals", "input"),
                part(row, "totals", "output"),
                cost(part(row, "totals", "totalCost")),
            )
            for row in objects(part(found, "aggregates", "bySession"))
        ],
    )
    others = part(found, "aggregates", "otherSessions")
    if part(others, "sessions"):
        say(f"and {part(others, 'sessions')} more: {cost(part(others, 'totals', 'totalCost'))}")
    totals = found.get("totals")
    say(
        f"{found.get('startDate')} to {found.get('endDate')}: {cost(part(totals, 'totalCost'))}, "
        f"{part(totals, 'totalTokens')} tokens in {calls(part(totals, 'calls'))}"
    )
    return 0
