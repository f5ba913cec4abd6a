import pytest

from roost.core.catalogue import Catalogue
from roost.core.models import ModelRef, ModelSpec
from roost.core.triggers import NamedModel, Trigger, find_trigger, greeting, take_model


def spec(provider: str, model: str) -> ModelSpec:
    return ModelSpec(ref=ModelRef(provider, model), context_window=1000, max_tokens=100)


OPUS = ModelRef("anthropic", "claude-opus-4")


def catalogue(allowed: tuple[ModelRef, ...] | None = None) -> Catalogue:
    return Catalogue(
        (
            spec("openai", "gpt-5-mini"),
            spec("openai", "gpt-5"),
            spec("anthropic", "claude-sonnet-4"),
            spec("anthropic", "claude-opus-4"),
            spec("openrouter", "meta/llama-4-scout"),
        ),
        aliases={"Opus": OPUS, "old": ModelRef("acme", "retired")},
        allowed=allowed,
        unlisted=(spec("local", "*"),),
    )


@pytest.mark.requirement("D44")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/new", Trigger(word="/new", rest="")),
        ("  /NEW  ", Trigger(word="/new", rest="")),
        ("/reset hello", Trigger(word="/reset", rest="hello")),
        ("/new\nfirst\n\nsecond", Trigger(word="/new", rest="first\n\nsecond")),
        ("/new: hello", Trigger(word="/new", rest="hello")),
        ("/new:hello", Trigger(word="/new", rest="hello")),
        ("/new@roost_bot hi", Trigger(word="/new", rest="hi")),
        ("/new@roost_bot", Trigger(word="/new", rest="")),
        ("/newer", None),
        ("/new-thing", None),
        ("/new@ hi", None),
        ("say /new", None),
        ("new", None),
        ("", None),
    ],
)
def test_a_trigger_is_the_whole_message_or_stands_before_white_space(
    text: str, expected: Trigger | None
) -> None:
    assert find_trigger(text) == expected


@pytest.mark.requirement("D44")
def test_extra_triggers_are_added_to_the_defaults() -> None:
    extras = ("Start over", "/newest")
    assert find_trigger("start OVER please", extras=extras) == Trigger(word="start over", rest="please")
    assert find_trigger("/newest x", extras=extras) == Trigger(word="/newest", rest="x")
    assert find_trigger("/new x", extras=extras) == Trigger(word="/new", rest="x")


def test_a_blank_extra_triggers_nothing() -> None:
    assert find_trigger("hello", extras=("", "  ")) is None
    assert find_trigger(" hello", extras=("",)) is None


def test_an_extra_is_text_and_not_a_pattern() -> None:
    assert find_trigger("anything", extras=(".*",)) is None


@pytest.mark.requirement("D44")
@pytest.mark.parametrize(
    ("text", "model", "rest"),
    [
        ("openai gpt-5 tell me", "openai/gpt-5", "tell me"),
        ("anthropic sonnet hi", "anthropic/claude-sonnet-4", "hi"),
        ("opus\nline one\nline two", "anthropic/claude-opus-4", "line one\nline two"),
        ("OpenAI/GPT-5 hi", "openai/gpt-5", "hi"),
        ("openrouter/meta/llama-4-scout", "openrouter/meta/llama-4-scout", ""),
        ("anthropic/sonnet hi", "anthropic/claude-sonnet-4", "hi"),
        ("openai hello there", "openai/gpt-5-mini", "hello there"),
        ("sonnet hi", "anthropic/claude-sonnet-4", "hi"),
        ("local/anything hi", "local/anything", "hi"),
        # Too short to guess, ambiguous, unknown, or no longer there: all of it is text.
        ("llama hi", None, "llama hi"),
        ("claude-", None, "claude-"),
        ("local hello", None, "local hello"),
        ("old hi", None, "old hi"),
        ("anthropic/gpt-5 hi", None, "anthropic/gpt-5 hi"),
        ("please help", None, "please help"),
        ("", None, ""),
    ],
)
def test_new_takes_the_model_it_names_and_leaves_the_rest(text: str, model: str | None, rest: str) -> None:
    assert take_model(text, catalogue()) == NamedModel(model=model, rest=rest)


def test_a_model_that_is_not_allowed_is_text() -> None:
    some = catalogue((ModelRef("openai", "gpt-5"), ModelRef("anthropic", "claude-sonnet-4")))
    assert take_model("opus hi", some) == NamedModel(model=None, rest="opus hi")
    assert take_model("openai", some).model == "openai/gpt-5"
    assert take_model("claude-", some).model == "anthropic/claude-sonnet-4"


@pytest.mark.requirement("D44")
def test_a_greeting_asks_for_few_words_and_names_a_model_only_if_it_is_another() -> None:
    assert "one to three sentences" in greeting()
    assert "model" not in greeting()
    assert "p/m answers here" in greeting("p/m")
