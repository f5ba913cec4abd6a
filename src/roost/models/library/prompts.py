"""A request in the words of the model library."""

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import assert_never

from pydantic_ai import messages as library
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings, ThinkingLevel
from pydantic_ai.tools import ToolDefinition

from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.messages import (
    AssistantBlock,
    AssistantMessage,
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    UserBlock,
)
from roost.core.models import ModelRequest, ToolSpec
from roost.models.turns import NO_IMAGES, NOT_SHOWN, Turn, result_images, result_text, turns_of

_LEVELS: dict[str, ThinkingLevel] = {
    "off": False,
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "xhigh",
    "max": "max",
    "ultra": "max",
    "adaptive": True,
}


def library_messages(request: ModelRequest, system: str) -> list[library.ModelMessage]:
    """The conversation; `system` is the library's name of the provider, to which signatures belong."""
    turns = turns_of(_own_reasoning(request))
    return [_turn(turn, system, images=request.spec.images) for turn in turns]


def parameters(request: ModelRequest) -> ModelRequestParameters:
    instructions = [library.InstructionPart(content=request.system)] if request.system else []
    return ModelRequestParameters(
        function_tools=[_tool(tool) for tool in request.tools], instruction_parts=instructions
    )


def settings(request: ModelRequest) -> ModelSettings:
    """What is asked of any provider. Trying again is decided elsewhere."""
    found = ModelSettings(max_tokens=request.max_tokens or request.spec.max_tokens, max_retries=0)
    level = _LEVELS.get(request.thinking or "")
    if level is not None and request.spec.reasoning:
        found["thinking"] = level
    return found


def _own_reasoning(request: ModelRequest) -> Iterable[Message]:
    """The messages; what another model thought is not this one's, and its signature would be refused."""
    for message in request.messages:
        if isinstance(message, AssistantMessage) and not _is_own(message, request):
            said = tuple(block for block in message.content if not isinstance(block, Thinking))
            yield replace(message, content=said)
        else:
            yield message


def _is_own(message: AssistantMessage, request: ModelRequest) -> bool:
    ref = request.spec.ref
    return (message.provider, message.model) == (ref.provider, ref.model)


def _turn(turn: Turn, system: str, *, images: bool) -> library.ModelMessage:
    if turn.said:
        parts = [part for block in turn.said if (part := _said(block, system))]
        return library.ModelResponse(parts=parts, provider_name=system)
    # Not every provider takes an image in a result.
    heard = [block for result in turn.results for block in result_images(result)] + turn.heard
    results = [
        library.ToolReturnPart(
            tool_name=result.tool,
            content=result_text(result),
            tool_call_id=result.call_id,
            outcome="failed" if result.is_error else "success",
        )
        for result in turn.results
    ]
    words = [library.UserPromptPart(content=_heard(heard, images=images))] if heard else []
    return library.ModelRequest(parts=[*results, *words])


def _heard(blocks: Sequence[UserBlock], *, images: bool) -> list[library.UserContent]:
    return [block.text if isinstance(block, Text) else _image(block, images=images) for block in blocks]


def _image(image: Image, *, images: bool) -> library.UserContent:
    if not images:
        return NO_IMAGES.text
    try:
        return library.BinaryContent(data=b64decode(image.data, validate=True), media_type=image.mime)
    except NotBase64:
        return NOT_SHOWN.text


def _said(block: AssistantBlock, system: str) -> library.ModelResponsePart | None:
    match block:
        case Text(text):
            return library.TextPart(content=text)
        case ToolCall():
            return library.ToolCallPart(
                tool_name=block.name, args=_plain_object(block.arguments), tool_call_id=block.id
            )
        case Thinking(signature=None):
            return None
        case Thinking():
            return library.ThinkingPart(
                content=block.thinking, signature=block.signature, provider_name=system
            )
        case _:
            assert_never(block)


def _tool(tool: ToolSpec) -> ToolDefinition:
    return ToolDefinition(
        name=tool.name,
        description=tool.description,
        parameters_json_schema=_plain_object(tool.parameters),
        strict=False,
    )


def _plain_object(value: JsonObject) -> dict[str, object]:
    return {name: _plain(item) for name, item in value.items()}


def _plain(value: JsonValue) -> object:
    """Dicts and lists, which the libraries write; ours may be any mapping or sequence."""
    match value:
        case str() | None | bool() | int() | float():
            return value
        case Sequence():
            return [_plain(item) for item in value]
        case _:
            return _plain_object(value)
