"""What a proven call asks for: read from its payload, or from the payload through a mapping."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, TypeVar

from roost.core import templates
from roost.core.errors import InvalidInput, NotFound
from roost.core.figures import DAY_MS, in_millis
from roost.core.hooks import (
    Action,
    HookMapping,
    HookRules,
    Order,
    agent_of,
    mapped_key,
    refuse_deep,
    session_of,
    words,
)
from roost.core.jobs import LONGEST_TEXT, Wake
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.keys import SessionKey

LONGEST = 512
"""Of whatever is no message."""

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Field(Generic[T_co]):
    """What may stand in a payload under a name: as it is read, and as a JSON schema tells it."""

    name: str
    _read: Callable[[JsonObject, str], T_co]
    schema: JsonObject

    def of(self, payload: JsonObject) -> T_co:
        return self._read(payload, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What names are resolved by; `uuid` is fresh."""

    agents: tuple[str, ...]
    default_agent: str
    main_name: str
    uuid: str


def read_order(name: str, payload: JsonValue, rules: HookRules, around: Around) -> Order:
    """Raises for what is not asked for rightly; nothing is written until it is."""
    refuse_deep(payload)
    mapping = rules.mappings.get(name)
    if mapping is not None:
        return _mapped(name, mapping, payload, rules, around)
    if name not in tuple(Action):
        raise NotFound(f"there is no hook {name}")
    if not isinstance(payload, dict):
        raise InvalidInput("the body is no JSON object")
    return _woken(payload, rules, around) if name == Action.WAKE else _turn(payload, rules, around)


def _woken(payload: JsonObject, rules: HookRules, around: Around) -> Order:
    _refuse_unknown(payload, Action.WAKE)
    mode = _MODE.of(payload)
    agent = agent_of(rules, _AGENT_ID.of(payload), around.agents, around.default_agent)
    asked = _SESSION_KEY.of(payload)
    main = SessionKey.named(agent, around.main_name)
    return Order(
        action=Action.WAKE,
        key=main if asked is None else session_of(rules, agent, around.uuid, asked=asked, mapped=None),
        text=_SAID.of(payload),
        tool="hook:wake",
        wake=mode,
    )


def _turn(payload: JsonObject, rules: HookRules, around: Around) -> Order:
    _refuse_unknown(payload, Action.AGENT)
    agent = agent_of(rules, _AGENT_ID.of(payload), around.agents, around.default_agent)
    seconds = _TIMEOUT.of(payload)
    text = _MESSAGE.of(payload)
    return Order(
        action=Action.AGENT,
        key=session_of(rules, agent, around.uuid, asked=_SESSION_KEY.of(payload), mapped=None),
        text=text,
        tool=f"hook:{_NAME.of(payload) or Action.AGENT}",
        deliver=_DELIVER.of(payload),
        model=_MODEL.of(payload),
        thinking=_THINKING.of(payload),
        timeout_ms=in_millis(seconds, DAY_MS) if seconds else None,
        waits=_WAITS.of(payload),
    )


def _mapped(name: str, mapping: HookMapping, payload: JsonValue, rules: HookRules, around: Around) -> Order:
    agent = mapping.agent or around.default_agent
    spelt, outright = mapped_key(mapping, agent, payload)
    text = templates.filled(mapping.message, payload, LONGEST_TEXT)
    if not text.strip():
        raise InvalidInput(f"the hook {name} has nothing to say about this payload")
    usual = SessionKey.named(agent, around.main_name) if mapping.action is Action.WAKE else None
    key = outright or (usual if spelt is None else None)
    return Order(
        action=mapping.action,
        key=key or session_of(rules, agent, around.uuid, asked=None, mapped=spelt),
        text=text,
        tool=f"hook:{name}",
        wake=mapping.wake,
        deliver=mapping.deliver,
        model=mapping.model,
    )


def _refuse_unknown(payload: JsonObject, action: Action) -> None:
    """Where an answer goes is not for a caller to say, nor anything else that is not listed."""
    known = {field.name for field in FIELDS[action]}
    unknown = next((name for name in payload if name not in known), None)
    if unknown is not None:
        raise InvalidInput(f"unexpected property '{unknown}'", hint=f"there are: {', '.join(sorted(known))}")


def _flag(payload: JsonObject, name: str) -> bool:
    value = payload.get(name, False)
    if not isinstance(value, bool):
        raise InvalidInput(f"{name} is true or false")
    return value


def _text(payload: JsonObject, name: str) -> str | None:
    value = payload.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{name} is no text")
    if len(value) > LONGEST:
        raise InvalidInput(f"{name} has at most {LONGEST} characters")
    return value.strip()


def _mode(payload: JsonObject, name: str) -> Wake:
    mode = payload.get(name, str(Wake.NOW))
    if mode not in tuple(Wake):
        raise InvalidInput("mode is no way to wake", hint=f"there are: {', '.join(Wake)}")
    return Wake(str(mode))


def _seconds(payload: JsonObject, name: str) -> float | None:
    seconds = payload.get(name)
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0:
        raise InvalidInput(f"{name} is no time")
    return seconds


_WORDS: JsonObject = {"type": "string", "minLength": 1, "maxLength": LONGEST_TEXT}
_TEXT: JsonObject = {"type": ["string", "null"], "minLength": 1, "maxLength": LONGEST}
_FLAG: JsonObject = {"type": "boolean", "default": False}
_SAID = Field("text", words, _WORDS)
_MESSAGE = Field("message", words, _WORDS)
_MODE = Field("mode", _mode, {"type": "string", "enum": [str(one) for one in Wake], "default": str(Wake.NOW)})
_NAME = Field("name", _text, _TEXT)
_AGENT_ID = Field("agentId", _text, _TEXT)
_SESSION_KEY = Field("sessionKey", _text, _TEXT)
_MODEL = Field("model", _text, _TEXT)
_THINKING = Field("thinking", _text, _TEXT)
_DELIVER = Field("deliver", _flag, _FLAG)
_WAITS = Field("waitForCompletion", _flag, _FLAG)
_TIMEOUT = Field("timeoutSeconds", _seconds, {"type": ["number", "null"], "minimum": 0})
FIELDS: Mapping[Action, tuple[Field[object], ...]] = MappingProxyType(
    {
        Action.WAKE: (_SAID, _MODE, _AGENT_ID, _SESSION_KEY),
        Action.AGENT: (
            *(_MESSAGE, _NAME, _AGENT_ID, _SESSION_KEY, _DELIVER, _MODEL, _THINKING, _TIMEOUT),
            _WAITS,
        ),
    }
)


def schema_of(action: Action) -> JsonObject:
    """What is read from the payload of a call, as a JSON schema. The first field must be there."""
    first, *_ = fields = FIELDS[action]
    return {
        "type": "object",
        "properties": {field.name: field.schema for field in fields},
        "required": [first.name],
        "additionalProperties": False,
    }
