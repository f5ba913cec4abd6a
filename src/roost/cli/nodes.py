"""`roost nodes`: devices that lend the gateway what they can do."""

import uuid
from typing import Annotated

from cyclopts import App, Parameter

from roost.cli.asking import read_object
from roost.cli.rows import otherwise
from roost.cli.show import answer_table, as_json, facts, told
from roost.cli.where import HERE, Where, gateway
from roost.core.errors import NotFound
from roost.core.jsonvalue import JsonValue
from roost.core.schedules import read_span
from roost.protocol.families.nodes import DESCRIBE, INVOKE, LIST, NodeRow

app = App(name="nodes", help="Devices that lend what they can do: list, show, invoke.")

SAID_ELSE = ("ts", "paired", "connected", "gateway")
"""What the state says, or nobody asked for."""

Id = Annotated[str, Parameter(help="Its id in the list.")]


@app.command(name="list")
@app.default
async def list_nodes(*, where: Where = HERE) -> int:
    """Those that are paired, the newest first, and what those that are connected can do."""
    async with gateway(where) as client:
        found = await client.call(LIST)
    answer_table(
        where,
        found,
        ("id", "name", "platform", "state", "commands"),
        (
            (row["nodeId"], row.get("displayName"), row["platform"], _state(row), " ".join(row["commands"]))
            for row in found["nodes"]
        ),
        "no nodes; `roost devices` shows those that ask to be paired",
    )
    return 0


@app.command
async def show(node: Id, *, where: Where = HERE) -> int:
    """Everything that is known of one."""
    async with gateway(where) as client:
        with otherwise(_unknown(node)):
            row = await client.call(DESCRIBE, {"nodeId": node})
    if where.json:
        as_json(row)
    else:
        shown = {name: value for name, value in row.items() if name not in SAID_ELSE}
        facts(told({"state": _state(row), **shown}, row["ts"]))
    return 0


@app.command
async def invoke(
    node: Id,
    command: Annotated[str, Parameter(help="One that it declared.")],
    params: Annotated[str, Parameter(help="What it is told, a JSON object.")] = "{}",
    *,
    within: Annotated[
        str, Parameter(name="--timeout", help="How long it may take: 30s, 10m at most.")
    ] = "30s",
    key: Annotated[str | None, Parameter(help="Asked again under the same key it is asked once.")] = None,
    where: Where = HERE,
) -> int:
    """Ask one for something; its answer is JSON."""
    asked: dict[str, JsonValue] = {
        "nodeId": node,
        "command": command,
        "params": read_object(params),
        "timeoutMs": read_span(within),
        "idempotencyKey": key or str(uuid.uuid4()),
    }
    async with gateway(where) as client:
        with otherwise(_unknown(node)):
            found = await client.call(INVOKE, asked)
    as_json(found if where.json else found["payload"])
    return 0


def _unknown(node: str) -> NotFound:
    return NotFound(f"there is no node {node}", hint="`roost nodes` shows those there are")


def _state(row: NodeRow) -> str:
    elsewhere = row.get("gateway")
    if elsewhere is not None:
        return f"at {elsewhere}"
    return "connected" if row["connected"] else "away"
