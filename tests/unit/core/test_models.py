"""What is asked of a model and how it can fail."""

from roost.core.models import FailureKind, ModelFailed, ModelRef


def test_a_model_is_written_with_its_provider() -> None:
    assert str(ModelRef("local", "small")) == "local/small"


def test_a_failure_says_what_to_do_about_it() -> None:
    failure = ModelFailed("too many requests", kind=FailureKind.RATE_LIMIT, retry_after_ms=1500)
    assert (failure.kind, failure.retry_after_ms, failure.code) == ("rate_limit", 1500, "model_failed")
