"""What a tool hands back: text, or an error a model can act on."""

from collections.abc import Callable

from anyio import to_thread

from roost.core.errors import RoostError
from roost.core.jsonvalue import JsonObject
from roost.core.messages import Text
from roost.core.tools import ToolOutcome


def told(text: str, *, is_error: bool = False, details: JsonObject | None = None) -> ToolOutcome:
    return ToolOutcome(content=(Text(text),), is_error=is_error, details=details)


def refused(error: RoostError) -> ToolOutcome:
    """An error as the model reads it: what happened, and what to do."""
    words = f"{error.message}. To go on: {error.hint}." if error.hint else f"{error.message}."
    return told(words, is_error=True, details={"status": "error", "code": error.code})


async def attempted(work: Callable[[], ToolOutcome]) -> ToolOutcome:
    """Do blocking work beside the event loop. It is never left behind half done: cancelling waits for it."""
    try:
        return await to_thread.run_sync(work)
    except RoostError as error:
        return refused(error)
