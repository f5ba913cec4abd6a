"""What is asked of a model and how it can fail."""

from roost.core.messages import ToolCall
from roost.core.models import (
    UNREADABLE_ARGUMENTS,
    FailureKind,
    ModelFailed,
    ModelRef,
    unreadable_arguments,
)


def test_a_model_is_written_with_its_provider() -> None:
    assert str(ModelRef("local", "small")) == "local/small"


def test_a_failure_says_what_to_do_about_it() -> None:
    failure = ModelFailed("too many requests", kind=FailureKind.RATE_LIMIT, retry_after_ms=1500)
    assert (failure.kind, failure.retry_after_ms, failure.code) == ("rate_limit", 1500, "model_failed")


def test_arguments_that_could_not_be_read_are_told_from_those_that_could() -> None:
    def written(**arguments: str | int) -> str | None:
        return unreadable_arguments(ToolCall(id="1", name="read", arguments=arguments))

    assert written(**{UNREADABLE_ARGUMENTS: "{oops"}) == "{oops"
    assert written(path="a") is None
    assert written(**{UNREADABLE_ARGUMENTS: 7}) is None
    assert written(path="a", **{UNREADABLE_ARGUMENTS: "x"}) is None
