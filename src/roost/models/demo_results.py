"""What the demo model says about the result of a session tool."""

from collections.abc import Iterable

from roost.core import toolnames
from roost.core.jsonl import Malformed, read_object
from roost.core.jsonvalue import JsonObject, JsonValue, as_object, as_objects, as_text
from roost.core.messages import ToolResult, text_of

QUOTED_CHARS = 400


def summary_of(result: ToolResult) -> str:
    text = text_of(result)
    found = read_object(text)
    if isinstance(found, Malformed):
        return _plain(result, text)
    if result.is_error or found.get("status") in ("error", "forbidden", "timeout"):
        return f"That did not work ({result.tool}): {_short(as_text(found.get('error')) or text)}"
    match result.tool:
        case toolnames.SESSIONS_LIST:
            said = _listed("session", map(_session, as_objects(found.get("sessions"))))
            return f"{said}\n{warning}" if (warning := _warning(found)) else said
        case toolnames.SESSIONS_SEARCH:
            return _listed("passage", map(_passage, as_objects(found.get("results"))))
        case toolnames.SESSIONS_HISTORY:
            return _listed("message", map(_message, as_objects(found.get("messages"))))
        case toolnames.SESSIONS_SPAWN:
            child = as_text(found.get("childSessionKey")) or "a session of its own"
            return f"A helper has started in {child}. Its report comes here when it is done."
        case toolnames.SESSIONS_SEND:
            return _send_text(found)
        case _:
            return f"{result.tool} says: {_short(text)}"


def _plain(result: ToolResult, text: str) -> str:
    if result.tool == toolnames.SESSION_STATUS and not result.is_error:
        return text
    said = "failed" if result.is_error else "says"
    return f"{result.tool} {said}: {_short(text) or '(nothing)'}"


def _warning(found: JsonObject) -> str:
    return as_text(as_object(found.get("visibility")).get("warning"))


def _send_text(found: JsonObject) -> str:
    to = as_text(found.get("sessionKey")) or "the session"
    reply = as_text(found.get("reply"))
    if reply:
        return f"{to} replies: {_short(reply)}"
    return f"The message is with {to}; there is no reply yet."


def _listed(noun: str, lines: Iterable[str]) -> str:
    shown = [f"- {line}" for line in lines]
    if not shown:
        return f"I found no {noun}."
    return "\n".join([f"I found {len(shown)} {noun}{'' if len(shown) == 1 else 's'}:", *shown])


def _session(row: JsonObject) -> str:
    title = as_text(row.get("label")) or as_text(row.get("derivedTitle")) or as_text(row.get("displayName"))
    key = as_text(row.get("key"))
    return f"{key} ({_short(title, 80)})" if title else key


def _passage(row: JsonObject) -> str:
    return f"{as_text(row.get('sessionKey'))}: {_short(as_text(row.get('snippet')), 160)}"


def _message(row: JsonObject) -> str:
    content = row.get("content")
    text = content if isinstance(content, str) else " ".join(_texts(content))
    return f"{as_text(row.get('role'))}: {_short(text, 160)}"


def _texts(content: JsonValue) -> list[str]:
    return [as_text(block.get("text")) for block in as_objects(content) if block.get("type") == "text"]


def _short(text: str, chars: int = QUOTED_CHARS) -> str:
    line = " ".join(text.split())
    return line if len(line) <= chars else f"{line[:chars]}…"
