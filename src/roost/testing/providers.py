"""What three providers accept: strict validators of their wire shapes.

`*_violations` list every rule a request breaks, whoever rendered it. They are stricter than any single server:
what passes here is refused nowhere.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from roost.core.jsonvalue import JsonObject, JsonValue, as_object, as_text
from roost.core.transcript import Prompt
from roost.models.turns import IMAGE_TYPES
from roost.testing.rendering import to_anthropic, to_google, to_openai

_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FUNCTION_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")


def _objects(value: JsonValue) -> list[JsonObject]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return []
    return [item for item in value if isinstance(item, dict)]


def _filled(value: JsonValue) -> bool:
    return bool(as_text(value).strip())


@dataclass(slots=True)
class _Rules:
    """What was found so far, and the calls, with their names, that the next message must answer."""

    broken: list[str] = field(default_factory=list)
    open_calls: dict[str, str] = field(default_factory=dict)
    seen_calls: set[str] = field(default_factory=set)

    def expect(self, holds: bool, rule: str) -> None:
        if not holds:
            self.broken.append(rule)

    def call(self, where: str, call_id: str, name: str, names: re.Pattern[str]) -> None:
        self.expect(bool(_CALL_ID.fullmatch(call_id)), f"{where}: bad call id {call_id!r}")
        self.expect(bool(names.fullmatch(name)), f"{where}: bad tool name {name!r}")
        self.expect(call_id not in self.seen_calls, f"{where}: call id {call_id!r} is used twice")
        self.seen_calls.add(call_id)
        self.open_calls[call_id] = name

    def answer(self, where: str, call_id: str) -> str:
        """The name of the call that is answered."""
        self.expect(call_id in self.open_calls, f"{where}: result {call_id!r} answers no call just made")
        return self.open_calls.pop(call_id, "")

    def all_answered(self, where: str) -> None:
        self.expect(not self.open_calls, f"{where}: calls {list(self.open_calls)} have no result")
        self.open_calls.clear()


def _order(rules: _Rules, roles: Sequence[JsonValue], user: str, model: str) -> None:
    """User first, then alternating, and a user's words or a result last."""
    rules.expect(bool(roles), "there is no message")
    rules.expect(not roles or roles[0] == user, "the first message is not a user's")
    rules.expect(not roles or roles[-1] != model, "the last message is the model's own")
    for index, role in enumerate(roles):
        rules.expect(role in (user, model), f"message {index}: unknown role {role!r}")
        rules.expect(
            index == 0 or role != roles[index - 1], f"message {index}: two messages of {role!r} in a row"
        )


def openai_violations(request: JsonObject) -> tuple[str, ...]:
    """The rules of chat completions that a request breaks."""
    rules = _Rules()
    messages = _objects(request.get("messages"))
    for index, message in enumerate(messages):
        where = f"message {index}"
        if message.get("role") == "tool":
            rules.answer(where, as_text(message.get("tool_call_id")))
            rules.expect(_filled(message.get("content")), f"{where}: empty tool result")
            continue
        rules.all_answered(where)
        if message.get("role") == "assistant":
            _check_openai_assistant(rules, where, message)
        else:
            parts = _objects(message.get("content"))
            rules.expect(bool(parts) or _filled(message.get("content")), f"{where}: empty content")
            for part in parts:
                rules.expect(_openai_part_holds(part), f"{where}: empty or unknown part")
    rules.all_answered("end")
    _order(rules, _openai_roles(messages), "user", "assistant")
    return tuple(rules.broken)


def _openai_roles(messages: Sequence[JsonObject]) -> list[JsonValue]:
    """The roles, with results and what a user says after them as one user's turn."""
    roles: list[JsonValue] = []
    before: JsonValue = None
    for message in messages:
        role = message.get("role")
        if not (before == "tool" and role in ("tool", "user")):
            roles.append("user" if role == "tool" else role)
        before = role
    return roles


def _openai_part_holds(part: JsonObject) -> bool:
    if part.get("type") == "text":
        return _filled(part.get("text"))
    return part.get("type") == "image_url" and _filled(as_object(part.get("image_url")).get("url"))


def _check_openai_assistant(rules: _Rules, where: str, message: JsonObject) -> None:
    calls = _objects(message.get("tool_calls"))
    rules.expect("tool_calls" not in message or bool(calls), f"{where}: empty list of calls")
    rules.expect(bool(calls) or _filled(message.get("content")), f"{where}: says nothing and calls nothing")
    for call in calls:
        function = as_object(call.get("function"))
        rules.call(where, as_text(call.get("id")), as_text(function.get("name")), _TOOL_NAME)
        arguments = function.get("arguments")
        rules.expect(
            isinstance(arguments, str) and _is_object(arguments), f"{where}: arguments are no JSON object"
        )


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def anthropic_violations(request: JsonObject) -> tuple[str, ...]:
    """The rules of the messages API that a request breaks."""
    rules = _Rules()
    messages = _objects(request.get("messages"))
    for index, message in enumerate(messages):
        where = f"message {index}"
        blocks = _objects(message.get("content"))
        rules.expect(bool(blocks), f"{where}: empty content")
        if message.get("role") == "assistant":
            rules.all_answered(where)
            _check_anthropic_assistant(rules, where, blocks)
        else:
            _check_answers_first(rules, where, [block.get("type") == "tool_result" for block in blocks])
            for block in blocks:
                _check_anthropic_user(rules, where, block)
            rules.all_answered(where)
    rules.all_answered("end")
    _order(rules, [message.get("role") for message in messages], "user", "assistant")
    return tuple(rules.broken)


def _check_answers_first(rules: _Rules, where: str, answers: list[bool]) -> None:
    rules.expect(answers == sorted(answers, reverse=True), f"{where}: a result stands after other content")


def _check_anthropic_assistant(rules: _Rules, where: str, blocks: Sequence[JsonObject]) -> None:
    for index, block in enumerate(blocks):
        kind = block.get("type")
        if kind == "tool_use":
            rules.call(where, as_text(block.get("id")), as_text(block.get("name")), _TOOL_NAME)
            rules.expect(isinstance(block.get("input"), dict), f"{where}: input is no object")
        elif kind == "thinking":
            rules.expect(_filled(block.get("signature")), f"{where}: reasoning without a signature")
            opens = index == 0 or blocks[index - 1].get("type") == "thinking"
            rules.expect(opens, f"{where}: reasoning after other content")
        else:
            rules.expect(kind == "text" and _filled(block.get("text")), f"{where}: empty or unknown block")
    silent = all(block.get("type") == "thinking" for block in blocks)
    rules.expect(not silent, f"{where}: says nothing and calls nothing")


def _check_anthropic_user(rules: _Rules, where: str, block: JsonObject) -> None:
    if block.get("type") == "tool_result":
        rules.answer(where, as_text(block.get("tool_use_id")))
        inner = _objects(block.get("content"))
        rules.expect(bool(inner), f"{where}: empty tool result")
        for part in inner:
            rules.expect(_anthropic_part_holds(part), f"{where}: empty or unknown block in a result")
    else:
        rules.expect(_anthropic_part_holds(block), f"{where}: empty or unknown block")


def _anthropic_part_holds(part: JsonObject) -> bool:
    if part.get("type") == "text":
        return _filled(part.get("text"))
    source = as_object(part.get("source"))
    return (
        part.get("type") == "image"
        and source.get("media_type") in IMAGE_TYPES
        and _filled(source.get("data"))
    )


def google_violations(request: JsonObject) -> tuple[str, ...]:
    """The rules of generateContent that a request breaks."""
    rules = _Rules()
    contents = _objects(request.get("contents"))
    for index, content in enumerate(contents):
        where = f"content {index}"
        parts = _objects(content.get("parts"))
        rules.expect(bool(parts), f"{where}: no parts")
        if content.get("role") == "model":
            rules.all_answered(where)
            for part in parts:
                _check_google_said(rules, where, part)
        else:
            _check_answers_first(rules, where, ["functionResponse" in part for part in parts])
            for part in parts:
                _check_google_heard(rules, where, part)
            rules.all_answered(where)
    rules.all_answered("end")
    _order(rules, [content.get("role") for content in contents], "user", "model")
    return tuple(rules.broken)


def _check_google_said(rules: _Rules, where: str, part: JsonObject) -> None:
    if "functionCall" in part:
        call = as_object(part["functionCall"])
        rules.call(where, as_text(call.get("id")), as_text(call.get("name")), _FUNCTION_NAME)
        rules.expect(isinstance(call.get("args"), dict), f"{where}: args are no object")
    else:
        rules.expect(_filled(part.get("text")), f"{where}: empty or unknown part")


def _check_google_heard(rules: _Rules, where: str, part: JsonObject) -> None:
    if "functionResponse" in part:
        response = as_object(part["functionResponse"])
        called = rules.answer(where, as_text(response.get("id")))
        rules.expect(as_text(response.get("name")) == called, f"{where}: the response names another function")
        rules.expect(bool(as_object(response.get("response"))), f"{where}: empty response")
    else:
        held = _filled(part.get("text")) or _filled(as_object(part.get("inlineData")).get("data"))
        rules.expect(held, f"{where}: empty or unknown part")


@dataclass(frozen=True, slots=True)
class Provider:
    """One wire shape: how a prompt is written in it, and what it refuses."""

    name: str
    render: Callable[[Prompt], JsonObject]
    violations: Callable[[JsonObject], tuple[str, ...]]


PROVIDERS = (
    Provider("openai", to_openai, openai_violations),
    Provider("anthropic", to_anthropic, anthropic_violations),
    Provider("google", to_google, google_violations),
)


def violations(prompt: Prompt) -> tuple[str, ...]:
    """Every rule of any provider that this prompt would break, with the provider's name."""
    return tuple(
        f"{provider.name}: {rule}"
        for provider in PROVIDERS
        for rule in provider.violations(provider.render(prompt))
    )
