"""`roost deliveries`: messages on their way out, and what becomes of those that did not arrive."""

from typing import Annotated

from cyclopts import App, Parameter

from roost.cli.rows import otherwise, short
from roost.cli.show import ago, answer, answer_table
from roost.cli.where import HERE, Where, gateway
from roost.client import Client
from roost.core.deliveries import DeliveryState
from roost.core.errors import InvalidInput, NotFound
from roost.protocol.families.operations import DELIVERIES, DISMISS, MOST_DELIVERIES, RETRY, Deliveries

app = App(name="deliveries", help="Messages on their way out: list, retry, dismiss.")

UNDECIDED = (DeliveryState.FAILED, DeliveryState.UNCERTAIN)
"""They wait for a word."""

Id = Annotated[str, Parameter(help="Its id in the list.")]


@app.command(name="list")
@app.default
async def list_deliveries(
    *,
    state: Annotated[
        DeliveryState | None,
        Parameter(help="Those in one state. Default: those that failed or are uncertain."),
    ] = None,
    limit: Annotated[int, Parameter(help="At most so many in each state.")] = 100,
    where: Where = HERE,
) -> int:
    """Those that wait for a word: the channel refused them for good, or nobody knows whether they arrived."""
    async with gateway(where) as client:
        found = [await _in(client, one, limit) for one in ((state,) if state else UNDECIDED)]
    rows = [row for one in found for row in one["deliveries"]]
    answer_table(
        where,
        {**found[-1], "deliveries": rows},
        ("id", "state", "to", "when", "tries", "error", "text"),
        (
            (
                row.get("id"),
                row.get("state"),
                f"{row.get('channel')}:{row.get('to')}",
                ago(row.get("createdAt"), found[-1]["ts"]),
                row.get("attempts"),
                short(row.get("error")),
                short(row.get("text")),
            )
            for row in rows
        ),
        "none" if state else "nothing failed and nothing is uncertain",
    )
    return 0


@app.command
async def retry(
    delivery: Id,
    *,
    yes: Annotated[
        bool, Parameter(help="Also one that may have arrived: then it arrives twice.", negative="")
    ] = False,
    where: Where = HERE,
) -> int:
    """Send one again; also one that was dismissed, by whomever."""
    async with gateway(where) as client:
        if not yes and await _may_have_arrived(client, delivery):
            raise InvalidInput(
                f"{delivery} may have arrived already; then it arrives twice",
                hint="say --yes to send it again",
            )
        with otherwise(_unknown(delivery)):
            decided = await client.call(RETRY, {"id": delivery})
    answer(where, decided, f"{delivery} is sent again")
    return 0


@app.command
async def dismiss(delivery: Id, *, where: Where = HERE) -> int:
    """Give one up; it stays in the list of those that were dismissed."""
    async with gateway(where) as client:
        with otherwise(_unknown(delivery)):
            decided = await client.call(DISMISS, {"id": delivery})
    answer(where, decided, f"{delivery} is given up")
    return 0


async def _may_have_arrived(client: Client, delivery: str) -> bool:
    """Whether it is an uncertain one, or was dismissed, which says nothing of what had become of it; where there are more
    of those than a list holds, any may be."""
    for state in (DeliveryState.UNCERTAIN, DeliveryState.DISMISSED):
        listed = {row.get("id") for row in (await _in(client, state, MOST_DELIVERIES))["deliveries"]}
        if delivery in listed or len(listed) == MOST_DELIVERIES:
            return True
    return False


def _unknown(delivery: str) -> NotFound:
    return NotFound(
        f"no delivery {delivery}",
        hint="`roost deliveries` shows those that wait for a word, and with --state others; give the id of one",
    )


async def _in(client: Client, state: DeliveryState, limit: int) -> Deliveries:
    return await client.call(DELIVERIES, {"state": str(state), "limit": limit})
