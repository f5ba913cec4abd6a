"""`roost people`: who is let in on a channel by pairing."""

from typing import Annotated

from cyclopts import App, Parameter

from roost.cli.rows import otherwise
from roost.cli.show import ago, answer, answer_table, objects, part
from roost.cli.where import HERE, Where, gateway
from roost.core.errors import NotFound
from roost.core.jsonvalue import JsonObject, JsonValue

app = App(name="people", help="People who are let in on a channel by pairing.")

LIST, APPROVE, REJECT, REMOVE = (f"people.{verb}" for verb in ("list", "approve", "reject", "remove"))
SEE = "`roost people` shows those there are"


@app.command(name="list")
@app.default
async def list_people(*, where: Where = HERE) -> int:
    """Those who ask to be let in, and those who are."""
    async with gateway(where) as client:
        found = await client.call(LIST)
    now = part(found, "ts")
    rows = [
        ("asks", one.get("requestId"), *_who(one), ago(one.get("askedAtMs"), now))
        for one in objects(part(found, "asking"))
    ]
    rows += [
        ("let in", one.get("personId"), *_who(one), ago(one.get("approvedAtMs"), now))
        for one in objects(part(found, "people"))
    ]
    heads = ("state", "id", "channel", "account", "sender", "name", "since")
    answer_table(where, found, heads, rows, "nobody was let in by pairing, and nobody asks")
    return 0


def _who(one: JsonObject) -> tuple[JsonValue, ...]:
    return tuple(one.get(name) for name in ("channel", "accountId", "senderId", "displayName"))


@app.command
async def approve(
    code: Annotated[str, Parameter(help="The code that the person was told in the chat, and gave you.")],
    *,
    where: Where = HERE,
) -> int:
    """Let somebody in who gave you his code."""
    missing = NotFound(
        f"nobody who asks has the code {code}",
        hint="it is good for an hour: who writes again then is told another one",
    )
    with otherwise(missing):
        return await _do(where, APPROVE, {"code": code}, "is let in")


@app.command
async def reject(
    request: Annotated[str, Parameter(help="The id of one who asks, from the list.")], *, where: Where = HERE
) -> int:
    """Forget that somebody asked."""
    with otherwise(NotFound(f"nobody asks as {request}", hint=SEE)):
        return await _do(where, REJECT, {"requestId": request}, "is not let in")


@app.command
async def remove(
    person: Annotated[str, Parameter(help="The id of one who is let in, from the list.")],
    *,
    where: Where = HERE,
) -> int:
    """Let somebody in no longer; what was said with him stays."""
    with otherwise(NotFound(f"nobody is let in as {person}", hint=SEE)):
        return await _do(where, REMOVE, {"personId": person}, "is let in no longer")


async def _do(where: Where, method: str, params: JsonObject, words: str) -> int:
    async with gateway(where) as client:
        found = await client.call(method, params)
    who = part(found, "person")
    answer(where, found, f"{part(who, 'senderId')} on {part(who, 'channel')} {words}")
    return 0
