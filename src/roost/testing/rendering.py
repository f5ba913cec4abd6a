"""A prompt in the wire shapes of three providers, as an adapter must write it.

Neighbours of one role are joined, results come before what a user says after them. Messages only: system
texts, tools and settings are not part of it.
"""

from typing import assert_never

from roost.core.jsonvalue import JsonObject
from roost.core.messages import (
    AssistantBlock,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserBlock,
)
from roost.core.transcript import Prompt
from roost.models.openai_wire import wire_messages
from roost.models.turns import result_images, result_text, shown, turns_of


def to_openai(prompt: Prompt) -> JsonObject:
    """The body of a chat completion."""
    return {"messages": wire_messages(prompt.messages, images=True)}


def to_anthropic(prompt: Prompt) -> JsonObject:
    """The body of a messages request."""
    messages: list[JsonObject] = []
    for turn in turns_of(prompt.messages):
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
        "content": [_anthropic_heard(shown(block)) for block in result.content],
        "is_error": result.is_error,
    }


def to_google(prompt: Prompt) -> JsonObject:
    """The body of a generateContent request."""
    contents: list[JsonObject] = []
    for turn in turns_of(prompt.messages):
        if turn.said:
            spoken = [_google_said(block) for block in turn.said if not isinstance(block, Thinking)]
            contents.append({"role": "model", "parts": spoken})
        else:
            results = [_google_result(result) for result in turn.results]
            images = [block for result in turn.results for block in result_images(result)]
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
    response: JsonObject = {outcome: result_text(result)}
    return {"functionResponse": {"id": result.call_id, "name": result.tool, "response": response}}
