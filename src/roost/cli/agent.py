"""`roost agent`: one message, one answer."""

import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from roost.cli.rows import meaning
from roost.cli.send import NOWHERE, Place
from roost.cli.show import as_json, say, say_wrong
from roost.cli.speech import Speech, shows_steps
from roost.cli.where import HERE, Where, anywhere, gateway
from roost.client import Client, Piece, ToolStep, TurnFailed
from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonObject, JsonValue, as_object
from roost.protocol.families.agents import AGENT
from roost.protocol.families.chat import HISTORY
from roost.protocol.families.sessions import RESOLVE


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The session that is spoken in."""

    session: Annotated[
        str | None, Parameter(name=("--session", "--session-key"), help="In which session. Default: main.")
    ] = None
    session_id: Annotated[str | None, Parameter(help="In the session with this id.")] = None
    agent: Annotated[str | None, Parameter(help="To which agent.")] = None

    async def key(self, client: Client, place: Place) -> str | None:
        """None where the place says it."""
        if self.session is not None and self.session_id is not None:
            raise InvalidInput("a session by its key, or by its id", hint="leave one of them out")
        if self.session_id is None:
            return self.session or ("main" if place.to is None else None)
        with meaning(self.session_id):
            return (await client.call(RESOLVE, {"sessionId": self.session_id, **self.of_agent()}))["key"]

    def of_agent(self) -> JsonObject:
        return {} if self.agent is None else {"agentId": self.agent}


MAIN = Target()


async def agent(
    *,
    message: Annotated[str, Parameter(name=("--message", "-m"), help="What to say.")],
    target: Target = MAIN,
    place: Place = NOWHERE,
    thinking: Annotated[str | None, Parameter(help="How hard to think, for this turn.")] = None,
    deliver: Annotated[
        bool,
        Parameter(
            help="Send the answer to the place, or the chat the session was last met in, too.", negative=""
        ),
    ] = False,
    limit_s: Annotated[
        int | None, Parameter(name="--timeout", help="How many seconds the turn may take.")
    ] = None,
    where: Where = HERE,
) -> int:
    """Say something and print the answer as it comes; with --json the whole turn when it is over."""
    place.refuse_nowhere()
    given: dict[str, JsonValue] = {"thinking": thinking, "deliver": deliver or None, "timeout": limit_s}
    more: dict[str, JsonValue] = {name: value for name, value in given.items() if value is not None}
    # Only a gateway that runs has channels.
    async with anywhere(where) if place.to is None else gateway(where) as client:
        key = await target.key(client, place)
        asked: JsonObject = {**more, **target.of_agent(), **place.address(), "sessionKey": key}
        name = str(uuid.uuid4())
        whole: JsonObject = {**asked, "message": message, "idempotencyKey": name}
        if where.json:
            found = await client.call(AGENT, whole)
            as_json(found)
            return undelivered(found) if found.get("status") == "ok" else 1
        try:
            await _print(client, client.run(message, name=name, more=asked), key, target.of_agent())
        except TurnFailed as error:
            say_wrong(_without(error))
            return 1
        # Under its name it is not said again, and what became of its answer is told.
        if deliver:
            found = await client.call(AGENT, whole)
            return undelivered(found)
        return 0


def undelivered(found: dict[str, JsonValue]) -> int:
    """Say that an answer was not sent where it was to go, or may not have been; 1 then."""
    state = as_object(as_object(found.get("result")).get("deliveryStatus"))
    status = state.get("status", "sent")
    if status in ("sent", "silent"):
        return 0
    why = f": {state['reason']}" if "reason" in state else ""
    say_wrong(f"the answer was not delivered ({status}){why}")
    return 1


async def print_turn(client: Client, message: str, session: str) -> int:
    """Print an answer as it is made, or that there is none; 1 then."""
    try:
        await _print(client, client.chat(message, session), session, {})
    except TurnFailed as error:
        say(_without(error))
        return 1
    return 0


async def _print(
    client: Client, pieces: AsyncIterator[Piece], session: str | None, of_agent: JsonObject
) -> None:
    speech = Speech()
    try:
        async for piece in pieces:
            if isinstance(piece, ToolStep) and session is not None:
                # Whether they are shown can be said at any time.
                read = await client.call(HISTORY, {"sessionKey": session, "limit": 1, **of_agent})
                speech.verbose = shows_steps(read.get("sessionInfo", {}))
            speech.show(piece)
    except TurnFailed:
        speech.break_off()
        raise


def _without(error: TurnFailed) -> str:
    return f"no answer: {error}"
