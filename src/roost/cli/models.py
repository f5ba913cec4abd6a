"""`roost models`: what can answer."""

from roost.cli.show import as_json, table
from roost.cli.where import HERE, Where, anywhere
from roost.core.figures import thousands
from roost.protocol.families.agents import MODELS


async def models(*, where: Where = HERE) -> int:
    """The models there are."""
    async with anywhere(where) as client:
        found = await client.call(MODELS)
    if where.json:
        as_json(found)
        return 0
    table(
        ("model", "window", "thinks", "reads"),
        [
            (
                f"{row.get('provider')}/{row.get('id')}",
                thousands(window) if isinstance(window := row.get("contextWindow"), int) else None,
                row.get("reasoning"),
                ", ".join(map(str, reads)) if isinstance(reads := row.get("input"), list) else None,
            )
            for row in found["models"]
        ],
    )
    return 0
