"""The plain requests the demo model understands, and the session tool each calls for."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from roost.core import toolnames
from roost.core.jsonvalue import JsonObject, JsonValue

LISTED = 20
SHOWN = 10

_AROUND = " \t.?!\"'`“”"
_END = r"[\s.?!]*\Z"
_NAME = r"[\"'`“]?(?P<target>[^\s\"'`“”]{1,256})[\"'`”]?"
_SPAWN = re.compile(
    r"\b(?:spawn|start|launch|create)\s+(?:a|an|another|one)\s+(?:new\s+)?(?:helper|sub-?agent|child)"
    r"(?:\s+session)?\b[\s,:]*(?:(?:to|that|which|who|for|and)\s+)?(?P<task>\S.*)\Z",
    re.IGNORECASE | re.DOTALL,
)
_SEND = re.compile(
    rf"\b(?:tell|ask|message)\s+(?:the\s+)?{_NAME}\s+session\b[\s,:]*(?:that\s+)?(?P<message>\S.*)\Z",
    re.IGNORECASE | re.DOTALL,
)
_HISTORY = re.compile(
    rf"\b(?:history\s+of|(?:did|have)\s+(?:we|i|you)\s+(?:say|said|talk(?:ed)?\s+about)\s+in)\s+(?:the\s+)?"
    rf"{_NAME}(?:\s+session)?{_END}",
    re.IGNORECASE,
)
_STATUS = re.compile(rf"\bstatus\s+of\s+(?:the\s+)?{_NAME}(?:\s+session)?{_END}", re.IGNORECASE)
_SEARCH = re.compile(r"\bsearch\b[^\n]{0,40}?\bfor\s+(?P<query>[^\s][^\n]*)", re.IGNORECASE)
_LIST = re.compile(
    rf"\b(?:list|show|see|what|which)\b[^\n]{{0,30}}\bsessions\b(?:\s+(?:are\s+there|do\s+i\s+have|exist))?{_END}",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Wish:
    """A tool to call and with what."""

    tool: str
    arguments: JsonObject


def wish_in(text: str) -> Wish | None:
    """The first request a text makes; a task or message may hold what would be a request by itself."""
    if found := _SPAWN.search(text):
        return Wish(toolnames.SESSIONS_SPAWN, {"task": found["task"].strip()})
    if found := _SEND.search(text):
        return Wish(
            toolnames.SESSIONS_SEND, {**_target(found["target"]), "message": found["message"].strip()}
        )
    if found := _HISTORY.search(text):
        return Wish(toolnames.SESSIONS_HISTORY, {"sessionKey": found["target"].rstrip(".?!"), "limit": SHOWN})
    if found := _STATUS.search(text):
        return Wish(toolnames.SESSION_STATUS, {"sessionKey": found["target"].rstrip(".?!")})
    if found := _SEARCH.search(text):
        return Wish(toolnames.SESSIONS_SEARCH, {"query": found["query"].strip(_AROUND)})
    if _LIST.search(text):
        return Wish(toolnames.SESSIONS_LIST, {"limit": LISTED, "includeDerivedTitles": True})
    return None


def _target(name: str) -> Mapping[str, JsonValue]:
    """A key is known by its colons; any other name is a label, `main` aside."""
    return {"sessionKey": name} if ":" in name or name.lower() == "main" else {"label": name}
