"""`roost explain`: why a session is as it is."""

from typing import Annotated

from cyclopts import Parameter

from roost.cli.rows import meaning
from roost.cli.show import answer
from roost.cli.where import HERE, Where, anywhere
from roost.core.commands import Aspect
from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonValue
from roost.protocol.families.reasons import EXPLAIN

MAIN = "main"


async def explain(
    *words: Annotated[
        str,
        Parameter(
            help=f"A session, by its key or alias, `{MAIN}` by default; then what about it: "
            f"{', '.join(Aspect)}, by default all."
        ),
    ],
    session: Annotated[
        str | None, Parameter(help="The session, where its name reads as one of those.")
    ] = None,
    where: Where = HERE,
) -> int:
    """The reasons that were kept when it happened."""
    named, about = _meant(words, session)
    params: dict[str, JsonValue] = {"key": named}
    if about is not None:
        params["about"] = str(about)
    async with anywhere(where) as client:
        with meaning(named):
            found = await client.call(EXPLAIN, params)
    answer(where, found, "\n".join(str(one.get("text")) for one in found["reasons"]))
    return 0


def _meant(words: tuple[str, ...], session: str | None) -> tuple[str, Aspect | None]:
    """The session and the aspect in what was written; a word that is an aspect, and alone, is one."""
    rest = list(words)
    if session is None:
        alone = len(rest) == 1 and rest[0].lower() in tuple(Aspect)
        session = MAIN if alone or not rest else rest.pop(0)
    if not rest:
        return session, None
    if len(rest) > 1 or rest[0].lower() not in tuple(Aspect):
        raise InvalidInput(
            f"nothing is known about {' '.join(rest)!r}", hint=f"say one of {', '.join(Aspect)}"
        )
    return session, Aspect(rest[0].lower())
