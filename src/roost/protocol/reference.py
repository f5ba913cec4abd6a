"""The reference page of the protocol, made from the table of methods itself.

`python -m roost.protocol.reference > docs/protocol.md` writes it.
"""

import inspect
import sys
from collections.abc import Iterator, Mapping
from types import MappingProxyType, NoneType
from typing import Any, Literal, get_args, get_origin, is_typeddict

from pydantic import BaseModel

from roost.core.jsonvalue import JsonObject, JsonValue
from roost.protocol.events import TABLE, Audience
from roost.protocol.frames import ErrorCode
from roost.protocol.method import Method
from roost.protocol.methods import EVERY
from roost.protocol.scopes import Role, Scope

_HEAD = """\
# The protocol

<!-- Made by `python -m roost.protocol.reference`; change the table of methods, not this page. -->

Gateway protocol 4: one JSON object a text frame, over a WebSocket on any path. How clients come in and what goes through
is told on the page of the [gateway](gateway.md). Parameters are closed: a property that is not named here is refused. `?`
marks what may be left out; times are UTC milliseconds. Every session that is named passes the guard, and one that is not
the caller's is as if it were not there.

Of what other gateways of this protocol take, two are refused on purpose: `replyToId`, since no channel here can quote a
message, and `expectedLeafEntryId`, since a conversation is one line to which others may add at any time: what is said is said
to it as it is then.

| frame | from | fields |
|---|---|---|
| request | client | `type: "req"`, `id`, `method`, `params`?, `traceparent`? |
| response | gateway | `type: "res"`, `id`, `ok`, `payload`?, `error`? |
| event | gateway | `type: "event"`, `event`, `payload`?, `seq`? |
"""
_WHEN: Mapping[ErrorCode, str] = MappingProxyType(
    {
        ErrorCode.INVALID_REQUEST: "the request is wrong, names nothing there is, or what it saw is so no more; "
        "`details.code` is `invalid_input`, `not_found` or `conflict`",
        ErrorCode.UNAVAILABLE: "it cannot be done now, or a run failed; with `retryable`, try again",
        ErrorCode.FORBIDDEN: "the caller may not: `details.code` is `MISSING_SCOPE`, with `missingScope`, "
        "`WRONG_ROLE`, with `requiredRole`, or `forbidden`",
        ErrorCode.NOT_PAIRED: "at `connect`: no credential was shown, or the device is to be approved first",
    }
)
_HEARS: Mapping[Audience, str] = MappingProxyType(
    {
        Audience.EVERYONE: "everyone",
        Audience.READERS: "readers",
        Audience.STARTER: "who began the run",
        Audience.LISTENERS: "who asked for the messages of that session",
        Audience.WATCHERS: "who asked for changes",
        Audience.PAIRERS: "who may pair devices",
        Audience.NODE: "the node it is for",
    }
)


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield _HEAD
    yield "## Methods\n"
    yield "| method | needs | does |"
    yield "|---|---|---|"
    for method in EVERY:
        yield f"| [`{method.name}`](#{_anchor(method.name)}) | {_needs(method)} | {_cell(method.about)} |"
    for method in EVERY:
        yield from _method(method)
    yield "\n## Events\n"
    yield "| event | told to | says |"
    yield "|---|---|---|"
    for told in sorted(TABLE, key=lambda one: one.name):
        yield f"| `{told.name}` | {_HEARS[told.audience]} | {_cell(told.about)} |"
    yield "\n## Errors\n"
    yield "`error` has `code`, `message`, and where they help `details`, `retryable` and `retryAfterMs`. `details.hint` says what to do, as the message does.\n"
    yield "| code | when |"
    yield "|---|---|"
    for code in ErrorCode:
        yield f"| `{code}` | {_WHEN[code]} |"


def _method(method: Method[Any, Any]) -> Iterator[str]:
    yield f"\n### {method.name}\n"
    yield f"{method.about} Needs {_needs(method)}."
    schema = method.params.model_json_schema()
    properties = schema.get("properties", {})
    if properties:
        note = _note(method.params)
        yield f"\nParameters{f': {note}' if note else ''}\n"
        yield from _rows(properties, schema.get("required", []), schema.get("$defs", {}))
    else:
        yield "\nNo parameters."
    yield f"\nResult: {_result(method.result)}"


def _rows(properties: JsonObject, required: list[str], known: JsonObject) -> Iterator[str]:
    yield "| name | type | default |"
    yield "|---|---|---|"
    for name, found in properties.items():
        assert isinstance(found, dict)
        sign = "" if name in required else "?"
        default = found.get("default")
        told = "" if name in required or default is None else f"`{_json(default)}`"
        yield f"| `{name}`{sign} | {_cell(_type(found, known))} | {told} |"


def _type(found: JsonValue, known: JsonObject) -> str:
    """A type as people read it. `null` is told where it may be given, and not just left out."""
    assert isinstance(found, dict)
    match {"enum": [found["const"]]} if "const" in found else found:
        case {"$ref": str(ref)}:
            return _type(known[ref.rpartition("/")[2]], known)
        case {"enum": list(values)}:
            return " | ".join(f"`{_json(value)}`" for value in values)
        case {"anyOf": list(options)}:
            return " | ".join(_type(one, known) for one in options)
        case {"type": "array"}:
            return f"list of {_type(found.get('items'), known)}"
        case {"type": "object", "properties": dict(properties)}:
            inner = ", ".join(f"{name}: {_type(one, known)}" for name, one in properties.items())
            return f"{{{inner}}}"
        case _:
            return f"{found.get('type', 'anything')}{_bounds(found)}"


def _bounds(found: JsonObject) -> str:
    low, high = found.get("minimum"), found.get("maximum", found.get("maxLength"))
    if low is not None and high is not None:
        return f" {low}–{high}"
    if low is not None:
        return f" ≥ {low}"
    return "" if high is None else f" ≤ {high}"


def _result(kind: Any) -> str:
    if not is_typeddict(kind):
        return f"{_hint(kind)}."
    hints, needed = kind.__annotations__, kind.__required_keys__
    told = ", ".join(
        f"`{name}`{'' if name in needed else '?'}: {_hint(hint)}" for name, hint in hints.items()
    )
    note = _note(kind)
    return f"{told}.{f' {note}' if note else ''}"


_NAMED: Mapping[Any, str] = MappingProxyType(
    {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
)


def _hint(hint: Any) -> str:
    """What stands in a result, briefly."""
    if hint == JsonValue:
        return "anything"
    if isinstance(hint, type) and hint in _NAMED:
        return _NAMED[hint]
    origin, parts = get_origin(hint), get_args(hint)
    if origin is list:
        return f"list of {_hint(parts[0])}"
    if origin in {dict, Mapping} or is_typeddict(hint):
        return "object"
    if origin is Literal:
        return " or ".join(f"`{_json(one)}`" for one in parts)
    return " or ".join(dict.fromkeys(_hint(one) for one in parts)) if parts else "object"


def _needs(method: Method[Any, Any]) -> str:
    if method.role is Role.NODE:
        return "the role `node`"
    if method.needs is None:
        return "nothing"
    if isinstance(method.needs, Scope):
        return f"`{method.needs}`"
    return inspect.getdoc(method.needs) or ""


def _note(kind: type) -> str:
    """The docstring of its own, on one line; that of what it builds on says nothing about it."""
    own = kind.__dict__.get("__doc__") or ""
    plain = "dict() -> new empty dictionary" in own or kind is BaseModel
    return "" if plain else " ".join(own.split())


def _json(value: JsonValue) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return value
        case list() if not value:
            return "[]"
        case _:
            return str(value)


def _anchor(name: str) -> str:
    return name.lower().replace(".", "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(page())
