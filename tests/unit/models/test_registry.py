"""Finding a model by name."""

import pytest

from roost.core.errors import Forbidden, InvalidInput, NotFound
from roost.core.models import ModelRef, ModelSpec
from roost.models.registry import Registry
from roost.testing.scripted import ScriptedModel

SMALL, LARGE, TWIN = ModelRef("local", "Small"), ModelRef("local", "large"), ModelRef("cloud", "large")
LOCAL, CLOUD = ScriptedModel(), ScriptedModel()


def spec(ref: ModelRef) -> ModelSpec:
    return ModelSpec(ref=ref, context_window=1000, max_tokens=100)


def registry(allowed: tuple[ModelRef, ...] | None = None) -> Registry:
    return Registry(
        {"local": LOCAL, "cloud": CLOUD},
        map(spec, (SMALL, LARGE, TWIN)),
        aliases={"Best": TWIN, "gone": ModelRef("local", "gone")},
        allowed=allowed,
    )


@pytest.mark.parametrize(
    ("name", "ref"),
    [
        ("local/Small", SMALL),
        (" LOCAL/small ", SMALL),
        ("small", SMALL),
        ("best", TWIN),
        ("cloud/large", TWIN),
        ("local/large", LARGE),
    ],
)
def test_a_model_is_found_by_its_full_name_its_alias_or_a_name_only_it_has(name: str, ref: ModelRef) -> None:
    found = registry().resolve(name)
    assert found.spec.ref == ref
    assert found.model is (CLOUD if ref == TWIN else LOCAL)


def test_a_name_that_two_have_is_no_name() -> None:
    with pytest.raises(NotFound, match="local/large"):
        registry().resolve("large")


def test_an_unknown_model_is_answered_with_the_nearest() -> None:
    with pytest.raises(NotFound, match=r"did you mean local/Small"):
        registry().resolve("local/smal")
    with pytest.raises(NotFound, match=r"there are: cloud/large, local/large, local/Small, best"):
        registry().resolve("zzzzzzzz")
    with pytest.raises(NotFound, match="there is no model gone"):
        registry().resolve("gone")


def test_an_empty_registry_says_that_it_is_empty() -> None:
    with pytest.raises(NotFound, match="none is configured"):
        Registry({}, ()).resolve("x")


def test_many_models_are_not_all_named() -> None:
    many = Registry({"p": LOCAL}, [spec(ModelRef("p", f"m{number:02}")) for number in range(20)])
    with pytest.raises(NotFound, match="and 12 more"):
        many.resolve("zzzzzzzz")


def test_what_is_not_on_the_allow_list_is_refused_and_not_suggested() -> None:
    allowing = registry(allowed=(SMALL,))
    assert allowing.resolve("small").spec.ref == SMALL
    assert [found.ref for found in allowing.specs()] == [SMALL]
    with pytest.raises(Forbidden, match=r"cloud/large is not on the allow list \(there are: local/Small\)"):
        allowing.resolve("best")


def test_a_model_without_a_provider_is_refused_at_once() -> None:
    with pytest.raises(InvalidInput, match="cloud"):
        Registry({"local": LOCAL}, [spec(SMALL), spec(TWIN)])
