"""What is asked for and answered as a chat completion."""

import pytest

from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonValue
from roost.core.messages import Image, Usage
from roost.protocol.completions import ONLY_DATA, SAID, Shape, agent_of, model_rows, read_wanted

PICTURE = "data:image/png;base64,iVBORw0KGgo="


def talk(*messages: tuple[str, JsonValue], **more: JsonValue) -> JsonValue:
    return {"messages": [{"role": role, "content": content} for role, content in messages], **more}


def test_the_last_words_of_the_user_are_said_and_the_rest_is_data() -> None:
    wanted = read_wanted(
        talk(("system", "rule"), ("user", "old"), ("assistant", None), ("user", "new"), ("developer", "late"))
    )
    assert (wanted.text, wanted.model, wanted.stream, wanted.counts) == ("new", "openclaw", False, False)
    assert wanted.system == ("system: rule", "developer: late")
    assert wanted.earlier == ("user: old", "assistant: ")
    assert wanted.words(remembered=False) == "\n\n".join(
        (ONLY_DATA, "system: rule", "developer: late", "user: old", "assistant: ", SAID, "new")
    )
    assert wanted.words(remembered=True) == "\n\n".join(
        (ONLY_DATA, "system: rule", "developer: late", SAID, "new")
    )
    assert read_wanted(talk(("user", "alone"))).words(remembered=False) == "alone"


def test_settings_that_mean_nothing_here_are_passed_over() -> None:
    wanted = read_wanted(
        talk(
            ("user", "hi"),
            temperature=2,
            user="ada",
            stream=True,
            stream_options={"include_usage": True},
            tools=[],
            tool_choice="none",
        )
    )
    assert (wanted.user, wanted.stream, wanted.counts) == ("ada", True, True)


def test_pictures_are_taken_from_the_message_itself() -> None:
    parts: JsonValue = [
        {"type": "text", "text": "what"},
        {"type": "image_url", "image_url": {"url": PICTURE}},
        {"type": "text", "text": "is it?"},
    ]
    wanted = read_wanted(talk(("user", parts)))
    assert (wanted.text, wanted.images) == ("what\nis it?", (Image(mime="image/png", data="iVBORw0KGgo="),))


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/secret",
        "file:///etc/passwd",
        "data:text/html;base64,QUJD",
        "data:image/png;base64,",
        "data:image/png,QUJD",
        "",
    ],
)
def test_a_picture_is_never_fetched(url: str) -> None:
    with pytest.raises(InvalidInput, match="in the message itself"):
        read_wanted(talk(("user", [{"type": "image_url", "image_url": {"url": url}}])))


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "text",
        {},
        {"messages": []},
        {"messages": "hi"},
        talk(("assistant", "hi")),
        talk(("user", "")),
        talk(("user", "  ")),
        talk(("user", None)),
        talk(("user", [{"type": "audio"}])),
        talk(("user", "hi"), n=2),
        talk(("user", "hi"), user=""),
        talk(("user", "hi"), user="x" * 257),
        talk(("user", "hi"), stream="yes"),
        talk(("user", "hi"), tools=[{}]),
        talk(("user", "hi"), functions=[{}]),
        talk(("user", "hi"), tools={}),
        talk(("tool", "result"), ("user", "hi")),
        talk(("x" * 500, "result"), ("user", "hi")),
        {"messages": [{"role": "assistant", "tool_calls": [{}]}, {"role": "user", "content": "hi"}]},
    ],
)
def test_what_cannot_be_answered_is_refused(body: JsonValue) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_wanted(body)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize(
    ("model", "agent"),
    [
        ("openclaw", "main"),
        ("roost", "main"),
        ("openclaw/default", "main"),
        ("openclaw/helper", "helper"),
        ("openclaw:helper", "helper"),
        ("roost/helper", "helper"),
        ("agent:helper", "helper"),
        ("agent/helper", None),
        ("gpt-4", None),
        ("", None),
    ],
)
def test_a_model_is_an_agent(model: str, agent: str | None) -> None:
    assert agent_of(model, "main") == agent


def test_agents_are_shown_as_models() -> None:
    assert [row["id"] for row in model_rows(["a"])] == ["openclaw", "openclaw/default", "openclaw/a"]


def test_an_answer_has_the_shape_its_caller_knows() -> None:
    shape = Shape(id="c", model="openclaw", created=1)
    whole = shape.whole("text", Usage(input=1, cache_read=2, cache_write=3, output=4))
    assert whole["usage"] == {"prompt_tokens": 6, "completion_tokens": 4, "total_tokens": 10}
    assert (whole["object"], whole["created"]) == ("chat.completion", 1)
    assert shape.chunk({"content": "x"})["choices"] == [
        {"index": 0, "delta": {"content": "x"}, "finish_reason": None}
    ]
    assert whole["choices"][0]["finish_reason"] == "stop"
    assert shape.whole("te", Usage(), cut=True)["choices"][0]["finish_reason"] == "length"
    assert shape.end(cut=True)["choices"] == [{"index": 0, "delta": {}, "finish_reason": "length"}]
    assert shape.spent(Usage(total=9))["choices"] == []


def test_a_question_is_known_by_all_that_was_asked_with_it_and_not_by_how_it_is_answered() -> None:
    def digest(*messages: tuple[str, str], **more: JsonValue) -> str:
        said: list[JsonValue] = [{"role": role, "content": content} for role, content in messages]
        return read_wanted({"messages": said, **more}).digest

    before, last = ("user", "one"), ("user", "two")
    assert digest(before, last) == digest(before, last, stream=True, user="ada")
    others = ((last,), (before, before), (("system", "one"), last), (before, ("assistant", "x"), last))
    assert len({digest(before, last), *(digest(*other) for other in others)}) == len(others) + 1
