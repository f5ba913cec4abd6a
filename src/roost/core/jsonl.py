"""Transcript lines: one JSON object each, to values and back.

A line that is read and written again is the same text. Where writing the value would not give it (unknown
fields, another spelling of a number), the line itself is kept as the entry's `source`. What is read is
untrusted: it brings content, never an owner or a right. Files, folders and size limits are the caller's.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import isfinite
from typing import assert_never

from roost.core.entries import Entry, EntryDraft
from roost.core.jsonl_messages import message_from_json, message_to_json
from roost.core.jsonvalue import JsonObject, JsonValue, as_count, as_object, as_optional, as_text, compact
from roost.core.localtime import local, millis
from roost.core.messages import AssistantMessage, Body, Compaction, Notice, ToolResult, UserMessage
from roost.core.principals import Principal

SESSION_TYPE = "session"
SESSION_VERSION = 4
MAX_DEPTH = 100
MAX_ID_CHARS = 256

LATEST = 253_402_300_799_999
_FRAME = ("type", "id", "parentId", "timestamp")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LARGE_NUMBER = re.compile(r"\d{19}|\d[eE]\+?\d{3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first line of a transcript file."""

    id: str
    at: int
    version: int = SESSION_VERSION
    cwd: str = ""
    parent_session: str | None = None


@dataclass(frozen=True, slots=True)
class Malformed:
    """A line that is not a transcript line; it is skipped and reported, never rewritten."""

    reason: str


# -- reading -----------------------------------------------------------------------------------------


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _integer(digits: str) -> int | float | None:
    if len(digits) <= 20 and -(2**63) <= int(digits) < 2**63:
        return int(digits)
    return _float(digits)


def _float(digits: str) -> float | None:
    """A number too large for one is none that could be kept."""
    number = float(digits)
    return number if isfinite(number) else None


def _too_deep(value: JsonValue) -> bool:
    level: list[JsonValue] = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _inner(outer)]
        if not level:
            return False
    return True


def _inner(value: JsonValue) -> Sequence[JsonValue]:
    if isinstance(value, Mapping):
        return list(value.values())
    return value if isinstance(value, list) else ()


def read_line(text: str) -> JsonObject | Malformed:
    """The object of one line, which must say of what type it is."""
    line = read_object(text)
    if not isinstance(line, Malformed) and not isinstance(line.get("type"), str):
        return Malformed("no type")
    return line


def read_object(text: str) -> JsonObject | Malformed:
    """A JSON object, safe to keep: no lone surrogates, no number that is too large, no great depth."""
    if _SURROGATE.search(text):
        return Malformed("not valid Unicode")
    parse_int, parse_float = (_integer, _float) if _LARGE_NUMBER.search(text) else (None, None)
    try:
        value = json.loads(
            text, parse_constant=_refuse_constant, parse_int=parse_int, parse_float=parse_float
        )
        if "\\ud" in text.lower() and _SURROGATE.search(rendered := compact(value)):
            value = json.loads(_SURROGATE.sub("\ufffd", rendered))
    except ValueError:
        return Malformed("not valid JSON")
    except RecursionError:
        return Malformed("nested too deeply")
    if not isinstance(value, dict):
        return Malformed("not a JSON object")
    return Malformed("nested too deeply") if _too_deep(value) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """What a line does not bring along: who imports it, and its place if it names none."""

    principal: Principal
    fallback_id: str
    previous_id: str | None = None


def read_entry(text: str, importer: Importer) -> EntryDraft | Malformed:
    """The entry of one line."""
    line = read_line(text)
    if isinstance(line, Malformed):
        return line
    draft = entry_from_json(line, importer)
    return draft if compact(entry_to_json(draft)) == text else replace(draft, source=text)


def header_from_json(line: JsonObject) -> Header | None:
    """The header, if that is what the line is."""
    if line.get("type") != SESSION_TYPE or not as_text(line.get("id")):
        return None
    return Header(
        id=as_text(line.get("id")),
        at=_moment(line.get("timestamp")),
        version=as_count(line.get("version")),
        cwd=as_text(line.get("cwd")),
        parent_session=as_optional(line.get("parentSession")),
    )


def entry_from_json(line: JsonObject, importer: Importer) -> EntryDraft:
    """The value of a line; a type or a message that is not known becomes a notice."""
    entry_id = as_text(line.get("id"))
    return EntryDraft(
        id=entry_id if 0 < len(entry_id) <= MAX_ID_CHARS else importer.fallback_id,
        body=_body(line, importer.principal),
        parent_id=as_optional(line.get("parentId", importer.previous_id)),
    )


def _body(line: JsonObject, principal: Principal) -> Body:
    at = _moment(line.get("timestamp"))
    match line.get("type"):
        case "message":
            message = message_from_json(as_object(line.get("message")), at, principal)
            return _notice(line, at) if message is None else message
        case "compaction":
            return Compaction(
                summary=as_text(line.get("summary")),
                first_kept_id=as_optional(line.get("firstKeptEntryId")),
                tokens_before=as_count(line.get("tokensBefore")),
                tokens_after=as_count(line["tokensAfter"]) if "tokensAfter" in line else None,
                at=at,
            )
        case _:
            return _notice(line, at)


def _notice(line: JsonObject, at: int) -> Notice:
    data = {name: value for name, value in line.items() if name not in _FRAME}
    return Notice(kind=as_text(line.get("type")), at=at, data=data)


def _moment(value: JsonValue) -> int:
    """UTC milliseconds of an ISO time; 0 for anything else."""
    try:
        moment = datetime.fromisoformat(as_text(value))
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0, millis(aware))
    except (ValueError, OverflowError):
        return 0


# -- writing -----------------------------------------------------------------------------------------


def _iso(at: int) -> str:
    moment = local(min(max(at, 0), LATEST), UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def header_to_json(header: Header) -> JsonObject:
    parent: JsonObject = {} if header.parent_session is None else {"parentSession": header.parent_session}
    return {
        "type": SESSION_TYPE,
        "version": header.version,
        "id": header.id,
        "timestamp": _iso(header.at),
        "cwd": header.cwd,
        **parent,
    }


def entry_to_json(entry: Entry | EntryDraft) -> JsonObject:
    """The line of an entry, from its value alone."""
    body = entry.body
    frame: JsonObject = {"id": entry.id, "parentId": entry.parent_id, "timestamp": _iso(body.at)}
    match body:
        case UserMessage() | AssistantMessage() | ToolResult():
            return {"type": "message", **frame, "message": message_to_json(body)}
        case Compaction():
            after: JsonObject = {} if body.tokens_after is None else {"tokensAfter": body.tokens_after}
            return {
                "type": "compaction",
                **frame,
                "summary": body.summary,
                "firstKeptEntryId": body.first_kept_id,
                "tokensBefore": body.tokens_before,
                **after,
            }
        case Notice():
            extra = {name: value for name, value in body.data.items() if name not in _FRAME}
            return {"type": body.kind, **frame, **extra}
        case _:
            assert_never(body)


def line_of(entry: Entry | EntryDraft) -> str:
    """The text of an entry's line, without a line break: the imported one where there is one."""
    return entry.source if entry.source is not None else compact(entry_to_json(entry))
