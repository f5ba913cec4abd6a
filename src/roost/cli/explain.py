"""`roost explain`: why a session is as it is."""

from typing import Annotated

from cyclopts import Parameter

from roost.cli.show import as_json, say
from roost.cli.where import HERE, Where, anywhere


async def explain(
    what: Annotated[str, Parameter(help="route, model, reset, silence or denials; by default all.")] = "",
    *,
    session: Annotated[str, Parameter(help="Of which session.")] = "main",
    where: Where = HERE,
) -> int:
    """The reasons that were kept when it happened."""
    async with anywhere(where) as client:
        text = await client.ask(f"/explain {what}".strip(), session)
    if where.json:
        as_json({"session": session, "text": text})
    else:
        say(text)
    return 0
