"""What a tool hands back: text, or an error a model can act on."""

from collections.abc import Awaitable, Callable, Sequence

import orjson
from anyio import to_thread

from roost.core.errors import Forbidden, InvalidInput, NotFound, RoostError
from roost.core.jsonvalue import JsonObject, JsonValue, compact, from_utf8, in_utf8
from roost.core.messages import Text
from roost.core.tools import ToolOutcome

LONGEST_SENTENCE = 2_000


def told(text: str, *, is_error: bool = False, details: JsonObject | None = None) -> ToolOutcome:
    return ToolOutcome(content=(Text(text),), is_error=is_error, details=details)


def refused(error: RoostError) -> ToolOutcome:
    """An error as the model reads it: what happened, and what to do."""
    return told(sentence(error), is_error=True, details={"status": "error", "code": error.code})


def found(fields: JsonObject, details: JsonObject) -> ToolOutcome:
    """What was looked for, as one line of JSON; `details` are what of it is worth keeping beside the text."""
    return told(compact(fields), details=details)


def found_rows(details: JsonObject, name: str, rows: Sequence[bytes]) -> ToolOutcome:
    """Many things that were looked for, each or several as their JSON, under `name` behind the `details`."""
    head = in_utf8(details)[:-1] + b"," + in_utf8(name) + b":["
    # One join, and text only at the end: it is large, and every copy of it would cost more than all the rest of this.
    pieces = [piece for row in rows for piece in (b",", row)][1:]
    return told(from_utf8(b"".join([head, *pieces, b"]}"])), details=details)


def written(row: JsonValue) -> bytes:
    """One of many rows, or many, as `compact` writes it, in a fraction of its time."""
    try:
        return orjson.dumps(row)
    except TypeError:  # text that is no Unicode, such as the name of a file, and what is no plain dict
        return in_utf8(row)


async def looked_up(work: Awaitable[ToolOutcome]) -> ToolOutcome:
    """Look something up. What cannot be had is told as JSON like everything else that was looked for."""
    try:
        return await work
    except InvalidInput as error:
        return refused(error)
    except (Forbidden, NotFound) as error:
        status = "forbidden" if isinstance(error, Forbidden) else "error"
        words = {"status": status, "error": sentence(error)}
        return told(compact(words), is_error=True, details={"status": status, "code": error.code})


def sentence(error: RoostError) -> str:
    """An error in words a model can act on; what it quotes of a call is cut."""
    said, hint = _cut(error.message.rstrip(".")), _cut(error.hint)
    return f"{said}. To go on: {hint}." if hint else f"{said}."


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_SENTENCE else f"{text[: LONGEST_SENTENCE - 1]}…"


async def attempted(work: Callable[[], ToolOutcome]) -> ToolOutcome:
    """Do blocking work beside the event loop. It is never left behind half done: cancelling waits for it."""
    try:
        return await to_thread.run_sync(work)
    except RoostError as error:
        return refused(error)
