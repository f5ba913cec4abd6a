"""`roost agent`: one message, one answer."""

import sys
import uuid
from typing import Annotated

from cyclopts import Parameter

from roost.cli.show import as_json, plain, say
from roost.cli.where import HERE, Where, anywhere
from roost.client import Answer, Client, Delta, TurnFailed
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.protocol.families.agents import AGENT


async def agent(
    *,
    message: Annotated[str, Parameter(name=("--message", "-m"), help="What to say.")],
    session: Annotated[str, Parameter(help="In which session.")] = "main",
    agent: Annotated[str | None, Parameter(help="To which agent.")] = None,
    thinking: Annotated[str | None, Parameter(help="How hard to think, for this turn.")] = None,
    where: Where = HERE,
) -> int:
    """Say something and print the answer as it comes; with --json the whole turn when it is over."""
    given: dict[str, JsonValue] = {"agentId": agent, "thinking": thinking}
    more: dict[str, JsonValue] = {name: value for name, value in given.items() if value is not None}
    async with anywhere(where) as client:
        if where.json:
            name = str(uuid.uuid4())
            asked: JsonObject = {"message": message, "sessionKey": session, "idempotencyKey": name, **more}
            found = await client.call(AGENT, asked)
            as_json(found)
            return 0
        return await print_turn(client, message, session, more)


async def print_turn(client: Client, message: str, session: str, more: dict[str, JsonValue]) -> int:
    """Print an answer as it is made; 1 if there is none."""
    shown = ""
    try:
        async for piece in client.chat(message, session, more=more):
            if isinstance(piece, Delta):
                if piece.replaces or not piece.text.startswith(shown):
                    _write("\n" if shown else "")
                    shown = ""
                _write(piece.text[len(shown) :])
                shown = piece.text
            elif isinstance(piece, Answer):
                rest = piece.text or ""
                _write(rest[len(shown) :] if rest.startswith(shown) else f"\n{rest}")
                _write("\n")
    except TurnFailed as error:
        _write("\n" if shown else "")
        say(f"no answer: {error}")
        return 1
    return 0


def _write(text: str) -> None:
    sys.stdout.write(plain(text))
    sys.stdout.flush()
