from dataclasses import replace

import pytest
from pydantic_ai import messages as library

from roost.core.jsonvalue import JsonObject
from roost.core.messages import (
    AssistantMessage,
    Image,
    Provenance,
    ProvenanceKind,
    Text,
    Thinking,
    UserMessage,
)
from roost.core.models import ModelRequest
from roost.models.library.prompts import library_messages, parameters, settings
from roost.models.turns import NO_IMAGES, NOT_SHOWN
from tests.asking import READ, SPEC, request


def heard(*content: Text | Image) -> ModelRequest:
    said = UserMessage(content=content, at=0, provenance=Provenance(kind=ProvenanceKind.HUMAN))
    return replace(request(), messages=(said,))


def shown(asked: ModelRequest) -> object:
    [message] = library_messages(asked, "system")
    assert isinstance(message, library.ModelRequest)
    [part] = message.parts
    assert isinstance(part, library.UserPromptPart)
    return part.content


def test_an_image_is_shown_to_those_who_see_and_noted_for_others() -> None:
    asked = heard(Image(mime="image/png", data="iVBORw0KGgo="), Image(mime="image/png", data="!"))
    assert shown(asked) == [NO_IMAGES.text, NO_IMAGES.text]
    sees = replace(asked, spec=replace(SPEC, images=True))
    assert shown(sees) == [
        library.BinaryContent(data=b"\x89PNG\r\n\x1a\n", media_type="image/png"),
        NOT_SHOWN.text,
    ]


def test_reasoning_goes_back_only_signed_and_only_to_who_wrote_it() -> None:
    blocks = (Thinking(thinking="signed", signature="s"), Thinking(thinking="plain"), Text("so"))
    for provider, kept in (("local", ["signed"]), ("other", [])):
        said = AssistantMessage(content=blocks, at=0, provider=provider, model="small")
        [message] = library_messages(replace(request(), messages=(said,)), "system")
        assert [part.content for part in message.parts if isinstance(part, library.ThinkingPart)] == kept


def test_tools_are_described_with_plain_objects_and_never_rewritten() -> None:
    schema: JsonObject = {"type": "object", "properties": {"n": {"enum": (1, 2.5, None, True, "x")}}}
    [tool] = parameters(replace(request(), tools=(replace(READ, parameters=schema),))).function_tools
    assert tool.parameters_json_schema == {
        "type": "object",
        "properties": {"n": {"enum": [1, 2.5, None, True, "x"]}},
    }
    assert tool.strict is False


def test_without_a_system_text_none_is_sent() -> None:
    assert parameters(replace(request(), system="")).instruction_parts == []


@pytest.mark.parametrize(
    ("level", "asked"),
    [("off", False), ("adaptive", True), ("ultra", "max"), ("low", "low"), (None, None), ("?", None)],
)
def test_a_level_of_thinking_is_asked_in_the_words_of_the_library(level: str | None, asked: object) -> None:
    reasoning = replace(request(), spec=replace(SPEC, reasoning=True), thinking=level)
    assert settings(reasoning).get("thinking") == asked
    assert "thinking" not in settings(replace(request(), thinking=level))


def test_the_longest_answer_is_the_requests_or_the_models_and_nothing_is_tried_again() -> None:
    assert settings(request()) == {"max_tokens": 500, "max_retries": 0}
    assert settings(replace(request(), max_tokens=7))["max_tokens"] == 7
