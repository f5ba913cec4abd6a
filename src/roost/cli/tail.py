"""`roost sessions tail`: what was said last in a session, and what is said from now on.

What is shown is read from the gateway, in the order in which it was stored; an event only tells that there is more. So
nothing is shown twice or passed over, however often the connection is lost.
"""

from collections import deque
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Annotated, TypeAlias

from cyclopts import Parameter

from roost.cli.following import while_read
from roost.cli.rows import meaning, message_line
from roost.cli.sessions import Key
from roost.cli.show import as_json_line, part, say
from roost.cli.where import HERE, Where, anywhere, gateway
from roost.client import Client, Event, Gap, Unreachable
from roost.client.errors import Starting
from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.protocol.events import MESSAGE, META
from roost.protocol.families.reasons import TIMELINE
from roost.protocol.families.sessions import LISTEN

LINES, PAGE = 10, 100
# One that was removed meanwhile is not found again, and then the one before it is.
MOST_KNOWN = 1_000

Show: TypeAlias = Callable[[JsonObject], None]


async def tail(
    key: Key,
    *,
    lines: Annotated[
        int, Parameter(name=("--lines", "-n"), help="So many of the last messages first.")
    ] = LINES,
    where: Where = HERE,
) -> int:
    """What was said last, through every reset, and what is said from now on, until Ctrl-C; --json prints one object a
    line."""
    if lines < 0:
        raise InvalidInput(f"{lines} messages cannot be shown", hint="0 shows only those to come")
    show = as_json_line if where.json else _as_line
    async with AsyncExitStack() as stack:
        try:
            client = await stack.enter_async_context(gateway(where))
        except Starting:
            raise
        except Unreachable as error:
            if where.url is None:
                await _last(key, lines, show, where)
                error.hint = f"so nothing more is heard here; {error.hint}"
            raise
        await stack.enter_async_context(while_read())
        await Tail(client, key, show).follow(lines)
    return 0


async def _last(key: str, lines: int, show: Show, where: Where) -> None:
    """Where no gateway runs, nobody says anything; who follows does not keep the store from one that is to start."""
    async with anywhere(where) as client:
        await Tail(client, key, show).last(lines)


def _as_line(row: JsonObject) -> None:
    say(message_line(row))


class Tail:
    """How far a session was shown."""

    def __init__(self, client: Client, key: str, show: Show) -> None:
        self._client = client
        self._key = key
        self._show = show
        self._known: deque[str] = deque(maxlen=MOST_KNOWN)

    async def follow(self, lines: int) -> None:
        """Until cancelled, or until nothing more can be heard, which is raised."""
        with self._client.events(_tells_of_a_message) as heard:
            await self._client.call(LISTEN, {"key": self._key})
            await self.last(lines)
            async for item in heard:
                if isinstance(item, Gap) or item.payload.get("messageId") not in self._known:
                    await self._go_on()
        # Who asks is told why.
        await self._go_on()

    async def last(self, lines: int) -> None:
        rows = await self._unknown(max(lines, 1))
        self._tell(rows[:lines])
        self._known.extend(_id(row) for row in rows[lines:])

    async def _go_on(self) -> None:
        self._tell(await self._unknown())

    def _tell(self, newest_first: list[JsonObject]) -> None:
        for row in reversed(newest_first):
            self._show(row)
            self._known.append(_id(row))

    async def _unknown(self, most: int | None = None) -> list[JsonObject]:
        """What was not shown yet, the newest first."""
        found: list[JsonObject] = []
        params: dict[str, JsonValue] = {"key": self._key, "limit": min(most or PAGE, PAGE)}
        while True:
            with meaning(self._key):
                page = await self._client.call(TIMELINE, params)
            for row in reversed(page["messages"]):
                if _id(row) in self._known:
                    return found
                found.append(row)
                if len(found) == most:
                    return found
            if page["before"] is None:
                return found
            params["before"] = page["before"]


def _tells_of_a_message(event: Event) -> bool:
    return event.name == MESSAGE


def _id(row: JsonObject) -> str:
    return str(part(row, META, "id"))
