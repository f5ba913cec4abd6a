"""`roost agents`: who answers."""

from roost.cli.show import as_json, objects, part, table
from roost.cli.where import HERE, Where, anywhere
from roost.protocol.families.agents import AGENTS


async def agents(*, where: Where = HERE) -> int:
    """The agents there are, and the models they run with."""
    async with anywhere(where) as client:
        found = await client.call(AGENTS)
    if where.json:
        as_json(found)
        return 0
    default = found.get("defaultId")
    table(
        ("agent", "name", "model", "workspace", "default"),
        [
            (
                row.get("id"),
                row.get("name"),
                part(row, "model", "primary"),
                row.get("workspace"),
                row.get("id") == default,
            )
            for row in objects(found.get("agents"))
        ],
    )
    return 0
