"""Sessions and messages as people read them."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from roost.cli.show import ago, objects, plain, table
from roost.cli.sources import source_of
from roost.client import Refused
from roost.client.turns import message_text
from roost.core.errors import NotFound
from roost.core.figures import MICROS, counted, dollars, thousands
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.protocol.events import NO_MODEL

SHORT = 60


def sessions_table(rows: Iterable[JsonObject], now: int, *, numbered: bool = False) -> None:
    table(
        (*(("",) if numbered else ()), "session", "status", "last", "context", "model", "about"),
        [
            (
                *((number,) if numbered else ()),
                row.get("key"),
                row.get("status") or "idle",
                ago(row.get("updatedAt"), now),
                _context(row),
                _model(row),
                short(row.get("label") or row.get("displayName") or row.get("derivedTitle")),
            )
            for number, row in enumerate(rows, 1)
        ],
    )


def message_line(row: JsonObject) -> str:
    """Who said what, or which tool was asked for what; of what no person or model said, where it came from."""
    tools = [str(one.get("name")) for one in objects(row.get("content")) if one.get("type") == "toolCall"]
    words = message_text(row).strip() or (f"[{', '.join(tools)}]" if tools else "")
    return plain(f"{_who(row)}: {words}")


def _who(row: JsonObject) -> JsonValue:
    match row.get("role"):
        case "toolResult":
            return row.get("toolName")
        case "assistant" if row.get("model") == NO_MODEL:
            return "assistant (by no model)"
        case "user":
            return source_of(row)
        case role:
            return role


def cost(value: JsonValue) -> str:
    return dollars(round(value * MICROS)) if isinstance(value, int | float) else "-"


def calls(value: JsonValue) -> str:
    return counted(value if isinstance(value, int) else 0, "call")


def _context(row: JsonObject) -> str | None:
    """How many tokens it holds, and how much of its window that is."""
    used, window = row.get("totalTokens"), row.get("contextTokens")
    if not isinstance(used, int):
        return None
    share = f" ({100 * used // window}%)" if isinstance(window, int) and window else ""
    return f"{thousands(used)}{share}"


def _model(row: JsonObject) -> str | None:
    named = [str(row[name]) for name in ("modelProvider", "model") if row.get(name)]
    return "/".join(dict.fromkeys(named)) or None


def short(value: JsonValue) -> str | None:
    if not isinstance(value, str):
        return None
    line = " ".join(value.split())
    return line if len(line) <= SHORT else f"{line[: SHORT - 1]}…"


@contextmanager
def meaning(key: str | None) -> Iterator[None]:
    """What is asked is about this session: where the gateway finds nothing, it does not know that."""
    if key is None:
        yield
        return
    with otherwise(unknown(key)):
        yield


@contextmanager
def otherwise(said: NotFound) -> Iterator[None]:
    """Where the gateway finds nothing, this is said, in the words of who typed: its own are those of programs."""
    try:
        yield
    except Refused as error:
        if error.reason != NotFound.code:
            raise
        raise said from None


def unknown(key: str) -> NotFound:
    return NotFound(f"no session {key}", hint="`roost sessions list` shows those there are")
