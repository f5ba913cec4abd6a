"""`roost sessions points`: names for moments of a conversation, to go back to and to compare."""

from typing import Annotated

from cyclopts import App, Parameter

from roost.cli.rows import message_line
from roost.cli.show import ago, answer, answer_table, as_json, say
from roost.cli.where import HERE, Where, anywhere
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.oneline import one_line
from roost.protocol.families.points import DELETE, DIFF, LIST, LOAD, SAVE, Differing, Messages

LINE = 160
MAIN = "main"

app = App(name="points", help="Save points: moments of a conversation to go back to.")

Name = Annotated[str, Parameter(help="What the save point is called.")]
Session = Annotated[str, Parameter(help="Which session.")]


@app.command
async def save(name: Name, *, session: Session = MAIN, where: Where = HERE) -> int:
    """Give the moment at which a session is a name."""
    async with anywhere(where) as client:
        found = await client.call(SAVE, {"key": session, "name": name})
    answer(where, found, f"saved {found['point']['name']} of {found['key']}")
    return 0


@app.command(name="list")
@app.default
async def list_points(*, session: Session = MAIN, where: Where = HERE) -> int:
    """The oldest first."""
    async with anywhere(where) as client:
        found = await client.call(LIST, {"key": session})
    answer_table(
        where,
        found,
        ("name", "when", "model"),
        ((one.get("name"), ago(one.get("at"), found["ts"]), one.get("model")) for one in found["points"]),
        _none(session),
    )
    return 0


@app.command
async def diff(
    before: Name,
    after: Annotated[str | None, Parameter(help="The other one; by default, how it is now.")] = None,
    *,
    session: Session = MAIN,
    limit: Annotated[int, Parameter(help="At most so many messages of each.")] = 50,
    where: Where = HERE,
) -> int:
    """What is different between two of them, or between one and now."""
    asked: dict[str, JsonValue] = {"key": session, "before": before, "limit": limit}
    async with anywhere(where) as client:
        found = await client.call(DIFF, asked if after is None else {**asked, "after": after})
    if where.json:
        as_json(found)
    else:
        _show(found)
    return 0


@app.command
async def load(name: Name, *, session: Session = MAIN, where: Where = HERE) -> int:
    """Go on from one in a session of its own, with the settings of then; says its key."""
    async with anywhere(where) as client:
        found = await client.call(LOAD, {"key": session, "name": name})
    answer(where, found, found["key"])
    return 0


@app.command
async def rm(name: Name, *, session: Session = MAIN, where: Where = HERE) -> int:
    """Forget one; nothing that was said goes."""
    async with anywhere(where) as client:
        found = await client.call(DELETE, {"key": session, "name": name})
    answer(where, found, f"{found['key']} has no save point {found['name']} any more")
    return 0


def _none(session: str) -> str:
    """Whoever named no session may mean another than the one that was looked at."""
    if session == MAIN:
        return (
            "the main session has no save points yet: `roost sessions points save NAME` makes one,"
            " and `--session KEY` names another session"
        )
    return (
        f"{session} has no save points yet: `roost sessions points save NAME --session {session}` makes one"
    )


def _show(found: Differing) -> None:
    lines = [*_messages("-", found["gone"]), *_messages("+", found["new"])]
    model = found["model"]
    if model is not None:
        lines.append(_change({"name": "model", **model}))
    lines += [f"setting {_change(one)}" for one in found["settings"]]
    for sign, kind in (("-", "left"), ("+", "born"), ("~", "moved")):
        keys = found["children"][kind]
        lines += [f"{sign} child {key}" for key in keys] if isinstance(keys, list) else []
    say("\n".join(lines) or "no difference")


def _change(one: JsonObject) -> str:
    before, after = ("none" if one[name] is None else one[name] for name in ("before", "after"))
    return f"{one['name']}  {before} → {after}"


def _messages(sign: str, found: Messages) -> list[str]:
    # A line each: what a tool gave would hide the rest. `--json` has it whole.
    shown = [f"{sign} {one_line(message_line(row), LINE)}" for row in found["messages"]]
    more = found["count"] - len(shown)
    return [*([f"{sign} … {more} more"] if more else []), *shown]
