"""What a proven call asks for: read from its payload, or from the payload through a mapping."""

from dataclasses import dataclass

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

_WAKE = frozenset({"text", "mode", "agentId", "sessionKey"})
_AGENT = frozenset(
    {
        *("message", "name", "agentId", "sessionKey", "deliver", "model", "thinking", "timeoutSeconds"),
        "waitForCompletion",
    }
)


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
    _refuse_unknown(payload, _WAKE)
    mode = payload.get("mode", str(Wake.NOW))
    if mode not in tuple(Wake):
        raise InvalidInput("mode is no way to wake", hint=f"there are: {', '.join(Wake)}")
    agent = agent_of(rules, _text(payload, "agentId"), around.agents, around.default_agent)
    asked = _text(payload, "sessionKey")
    main = SessionKey.named(agent, around.main_name)
    return Order(
        action=Action.WAKE,
        key=main if asked is None else session_of(rules, agent, around.uuid, asked=asked, mapped=None),
        text=words(payload, "text"),
        tool="hook:wake",
        wake=Wake(str(mode)),
    )


def _turn(payload: JsonObject, rules: HookRules, around: Around) -> Order:
    _refuse_unknown(payload, _AGENT)
    agent = agent_of(rules, _text(payload, "agentId"), around.agents, around.default_agent)
    seconds = payload.get("timeoutSeconds")
    if seconds is not None and (
        isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0
    ):
        raise InvalidInput("timeoutSeconds is no time")
    text = words(payload, "message")
    return Order(
        action=Action.AGENT,
        key=session_of(rules, agent, around.uuid, asked=_text(payload, "sessionKey"), mapped=None),
        text=text,
        tool=f"hook:{_text(payload, 'name') or Action.AGENT}",
        deliver=_flag(payload, "deliver"),
        model=_text(payload, "model"),
        thinking=_text(payload, "thinking"),
        timeout_ms=in_millis(seconds, DAY_MS) if seconds else None,
        waits=_flag(payload, "waitForCompletion"),
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


def _refuse_unknown(payload: JsonObject, known: frozenset[str]) -> None:
    """Where an answer goes is not for a caller to say, nor anything else that is not listed."""
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
    return value.strip()
