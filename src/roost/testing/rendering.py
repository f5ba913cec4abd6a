"""A prompt in the wire shapes of three providers, as an adapter must write it.

Neighbours of one role are joined, results come before what a user says after them. Messages only: system
texts, tools and settings are not part of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import assert_never

from roost.core.jsonvalue import JsonObject, JsonValue, compact
from roost.core.messages import (
    AssistantBlock,
    AssistantMessage,
    Image,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserBlock,
    UserMessage,
    text_of,
)
from roost.core.transcript import Prompt

IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")


@dataclass(slots=True)
class _Turn:
    """Neighbours of one role: what a model said, or results and then what a user said."""

    said: list[AssistantBlock] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)
    heard: list[UserBlock] = field(default_factory=list)


def _turns(prompt: Prompt) -> list[_Turn]:
    turns: list[_Turn] = []
    for message in prompt.messages:
        by_model = isinstance(message, AssistantMessage)
        joins = bool(turns) and bool(turns[-1].said) == by_model
        if not joins:
            turns.append(_Turn())
        match message:
            case AssistantMessage(content=content):
                turns[-1].said += _accepted_again(content, opens=not joins)
            case ToolResult() as result:
                turns[-1].results.append(result)
            case UserMessage(content=blocks):
                turns[-1].heard += [_shown(block) for block in blocks]
            case _:
                assert_never(message)
    return turns


def _accepted_again(content: Sequence[AssistantBlock], *, opens: bool) -> list[AssistantBlock]:
    """The blocks; reasoning only where it opens a turn."""
    reasoning = list(takewhile(lambda block: isinstance(block, Thinking), content)) if opens else []
    return reasoning + [block for block in content if not isinstance(block, Thinking)]


def _shown(block: UserBlock) -> UserBlock:
    unknown = isinstance(block, Image) and (block.mime not in IMAGE_TYPES or not block.data)
    return Text("[an image that cannot be shown]") if unknown else block


def _images(result: ToolResult) -> list[UserBlock]:
    return [_shown(block) for block in result.content if isinstance(block, Image)]


def _result_text(result: ToolResult) -> str:
    return text_of(result) or f"[the result of {result.tool} is an image]"


def to_openai(prompt: Prompt) -> JsonObject:
    """The body of a chat completion."""
    messages: list[JsonObject] = []
    for turn in _turns(prompt):
        messages += [
            {"role": "tool", "tool_call_id": result.call_id, "content": _result_text(result)}
            for result in turn.results
        ]
        # A tool message holds text only.
        heard = [block for result in turn.results for block in _images(result)] + turn.heard
        if heard:
            messages.append({"role": "user", "content": [_openai_part(block) for block in heard]})
        if turn.said:
            messages.append(_openai_assistant(turn.said))
    return {"messages": messages}


def _openai_part(block: UserBlock) -> JsonObject:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    return {"type": "image_url", "image_url": {"url": f"data:{block.mime};base64,{block.data}"}}


def _openai_assistant(said: Sequence[AssistantBlock]) -> JsonObject:
    text = "\n\n".join(block.text for block in said if isinstance(block, Text))
    calls: list[JsonObject] = [
        {
            "id": block.id,
            "type": "function",
            "function": {"name": block.name, "arguments": compact(block.arguments)},
        }
        for block in said
        if isinstance(block, ToolCall)
    ]
    message: dict[str, JsonValue] = {"role": "assistant", "content": text or None}
    return {**message, "tool_calls": calls} if calls else message


def to_anthropic(prompt: Prompt) -> JsonObject:
    """The body of a messages request."""
    messages: list[JsonObject] = []
    for turn in _turns(prompt):
        if turn.said:
            content = [part for block in turn.said if (part := _anthropic_said(block))]
            messages.append({"role": "assistant", "content": content})
        else:
            results = [_anthropic_result(result) for result in turn.results]
            heard = [_anthropic_heard(block) for block in turn.heard]
            messages.append({"role": "user", "content": results + heard})
    return {"messages": messages}


def _anthropic_said(block: AssistantBlock) -> JsonObject | None:
    match block:
        case Text(text=text):
            return {"type": "text", "text": text}
        case ToolCall(id=call_id, name=name, arguments=arguments):
            return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        case Thinking(thinking=thinking, signature=signature):
            if not signature:
                return None
            return {"type": "thinking", "thinking": thinking, "signature": signature}
        case _:
            assert_never(block)


def _anthropic_heard(block: UserBlock) -> JsonObject:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    source: JsonObject = {"type": "base64", "media_type": block.mime, "data": block.data}
    return {"type": "image", "source": source}


def _anthropic_result(result: ToolResult) -> JsonObject:
    return {
        "type": "tool_result",
        "tool_use_id": result.call_id,
        "content": [_anthropic_heard(_shown(block)) for block in result.content],
        "is_error": result.is_error,
    }


def to_google(prompt: Prompt) -> JsonObject:
    """The body of a generateContent request."""
    contents: list[JsonObject] = []
    for turn in _turns(prompt):
        if turn.said:
            spoken = [_google_said(block) for block in turn.said if not isinstance(block, Thinking)]
            contents.append({"role": "model", "parts": spoken})
        else:
            results = [_google_result(result) for result in turn.results]
            images = [block for result in turn.results for block in _images(result)]
            heard = [_google_heard(block) for block in images + turn.heard]
            contents.append({"role": "user", "parts": results + heard})
    return {"contents": contents}


def _google_said(block: Text | ToolCall) -> JsonObject:
    if isinstance(block, Text):
        return {"text": block.text}
    return {"functionCall": {"id": block.id, "name": block.name, "args": block.arguments}}


def _google_heard(block: UserBlock) -> JsonObject:
    if isinstance(block, Text):
        return {"text": block.text}
    return {"inlineData": {"mimeType": block.mime, "data": block.data}}


def _google_result(result: ToolResult) -> JsonObject:
    outcome = "error" if result.is_error else "output"
    response: JsonObject = {outcome: _result_text(result)}
    return {"functionResponse": {"id": result.call_id, "name": result.tool, "response": response}}
