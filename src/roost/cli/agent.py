"""`roost agent`: one message, one answer."""

import uuid
from collections.abc import AsyncIterator
from typing import Annotated

from cyclopts import Parameter

from roost.cli.show import as_json, say, say_wrong
from roost.cli.speech import Speech, shows_steps
from roost.cli.where import HERE, Where, anywhere
from roost.client import Client, Piece, ToolStep, TurnFailed
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.protocol.families.agents import AGENT
from roost.protocol.families.chat import HISTORY


async def agent(
    *,
    message: Annotated[str, Parameter(name=("--message", "-m"), help="What to say.")],
    session: Annotated[str, Parameter(help="In which session.")] = "main",
    agent: Annotated[str | None, Parameter(help="To which agent.")] = None,
    thinking: Annotated[str | None, Parameter(help="How hard to think, for this turn.")] = None,
    deliver: Annotated[
        bool, Parameter(help="Send the answer to the chat the session was last met in, too.", negative="")
    ] = False,
    limit_s: Annotated[
        int | None, Parameter(name="--timeout", help="How many seconds the turn may take.")
    ] = None,
    where: Where = HERE,
) -> int:
    """Say something and print the answer as it comes; with --json the whole turn when it is over."""
    given: dict[str, JsonValue] = {"agentId": agent, "thinking": thinking, "deliver": deliver or None}
    more: dict[str, JsonValue] = {name: value for name, value in given.items() if value is not None}
    async with anywhere(where) as client:
        if where.json:
            name = str(uuid.uuid4())
            asked: JsonObject = {"message": message, "sessionKey": session, "idempotencyKey": name, **more}
            found = await client.call(AGENT, {**asked, "timeout": limit_s or 0})
            as_json(found)
            return 0
        try:
            asking = {**more, "timeout": limit_s or 0}
            await _print(client, client.run(message, session, more=asking), session, more)
        except TurnFailed as error:
            say_wrong(_without(error))
            return 1
        return 0


async def print_turn(client: Client, message: str, session: str, more: dict[str, JsonValue]) -> int:
    """Print an answer as it is made, or that there is none; 1 then."""
    try:
        await _print(client, client.chat(message, session, more=more), session, more)
    except TurnFailed as error:
        say(_without(error))
        return 1
    return 0


async def _print(
    client: Client, pieces: AsyncIterator[Piece], session: str, more: dict[str, JsonValue]
) -> None:
    speech = Speech()
    try:
        async for piece in pieces:
            if isinstance(piece, ToolStep):
                # Whether they are shown can be said at any time.
                read = await client.call(HISTORY, {"sessionKey": session, "limit": 1, **_agent(more)})
                speech.verbose = shows_steps(read.get("sessionInfo", {}))
            speech.show(piece)
    except TurnFailed:
        speech.break_off()
        raise


def _without(error: TurnFailed) -> str:
    return f"no answer: {error}"


def _agent(more: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {name: value for name, value in more.items() if name == "agentId"}
