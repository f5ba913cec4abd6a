"""`roost send`: a message, and no waiting for its answer."""

import uuid
from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from roost.cli.show import answer
from roost.cli.where import HERE, Where, anywhere, gateway
from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonObject
from roost.protocol.families import chat, letters


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where people are, instead of a session."""

    to: Annotated[
        str | None, Parameter(help="Instead of a session, a place on a channel: a person, a room, a URL.")
    ] = None
    channel: Annotated[
        str | None,
        Parameter(
            help="The channel of the place, or channel/account. Default: the only one on which people write; "
            "a URL needs webhook."
        ),
    ] = None
    thread: Annotated[str | None, Parameter(help="The thread at that place.")] = None

    def address(self) -> JsonObject:
        """What of it was named."""
        channel, _, account = (self.channel or "").partition("/")
        given = {"to": self.to, "channel": channel, "accountId": account, "threadId": self.thread}
        return {one: value for one, value in given.items() if value}

    def refuse_nowhere(self) -> None:
        """A channel or thread says nothing by itself."""
        if self.to is None and self.address():
            raise InvalidInput("a channel without a place", hint="give --to")


NOWHERE = Place()


async def send(
    *,
    message: Annotated[str, Parameter(name=("--message", "-m"), help="What to say.")],
    session: Annotated[str | None, Parameter(help="In which session. Default: main.")] = None,
    place: Place = NOWHERE,
    key: Annotated[
        str | None, Parameter(help="Said again under the same key it is the same message.")
    ] = None,
    deliver: Annotated[
        bool, Parameter(help="Send the answer to the chat the session was last met in.", negative="")
    ] = False,
    where: Where = HERE,
) -> int:
    """Say something in a session, whose history will hold the answer; or, with --to, to people on a channel."""
    name = key or str(uuid.uuid4())
    if place.to is not None:
        if session is not None or deliver:
            raise InvalidInput("a message goes to a session or to a place", hint="leave one of them out")
        return await _post(where, {**place.address(), "message": message, "idempotencyKey": name})
    place.refuse_nowhere()
    params: JsonObject = {
        "sessionKey": session or "main",
        "message": message,
        "idempotencyKey": name,
        "deliver": deliver,
    }
    async with anywhere(where) as client:
        found = await client.call(chat.SEND, params)
    answer(where, found, f"taken as {found['runId']}: {found['status']}")
    return 0


async def _post(where: Where, params: JsonObject) -> int:
    """Through a gateway that runs: only that has channels."""
    async with gateway(where) as client:
        sent = await client.call(letters.SEND, params)
    arrived = sent["state"] == "confirmed"
    answer(
        where,
        sent,
        f"sent on {sent['channel']} as {sent['messageId']}" if arrived else "on its way; it is tried again",
    )
    return 0
