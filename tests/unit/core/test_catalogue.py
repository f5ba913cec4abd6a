"""Finding a model by name."""

import pytest

from roost.core.catalogue import Catalogue
from roost.core.errors import Forbidden, NotFound
from roost.core.models import ModelRef, ModelSpec

SMALL, LARGE, TWIN = ModelRef("local", "Small"), ModelRef("local", "large"), ModelRef("cloud", "large")


def spec(ref: ModelRef) -> ModelSpec:
    return ModelSpec(ref=ref, context_window=1000, max_tokens=100)


def catalogue(allowed: tuple[ModelRef, ...] | None = None) -> Catalogue:
    return Catalogue(
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
    assert catalogue().find(name).ref == ref
    assert catalogue().ask_for(name).ref == ref


def test_a_name_that_two_have_is_no_name() -> None:
    with pytest.raises(NotFound, match="local/large"):
        catalogue().ask_for("large")


def test_an_unknown_model_is_answered_with_the_nearest() -> None:
    with pytest.raises(NotFound, match=r"did you mean local/Small"):
        catalogue().ask_for("local/smal")
    with pytest.raises(NotFound, match=r"there are: cloud/large, local/large, local/Small, best"):
        catalogue().ask_for("zzzzzzzz")
    with pytest.raises(NotFound, match="there is no model gone"):
        catalogue().ask_for("gone")


def test_an_empty_catalogue_says_that_it_is_empty() -> None:
    with pytest.raises(NotFound, match="none is configured"):
        Catalogue(()).ask_for("x")


def test_many_models_are_not_all_named() -> None:
    many = Catalogue([spec(ModelRef("p", f"m{number:02}")) for number in range(20)])
    with pytest.raises(NotFound, match="and 12 more"):
        many.ask_for("zzzzzzzz")


def test_what_is_not_on_the_allow_list_is_refused_and_not_suggested() -> None:
    allowing = catalogue(allowed=(SMALL,))
    assert allowing.ask_for("small").ref == SMALL
    assert [found.ref for found in allowing.specs()] == [SMALL]
    with pytest.raises(Forbidden, match=r"cloud/large is not on the allow list \(there are: local/Small\)"):
        allowing.ask_for("best")


def test_what_is_configured_may_be_used_though_it_may_not_be_asked_for() -> None:
    assert catalogue(allowed=(SMALL,)).find("best").ref == TWIN


def test_of_a_provider_that_lists_none_any_name_is_a_model() -> None:
    found = Catalogue([spec(SMALL)], unlisted=[spec(ModelRef("Open", "*"))])
    assert found.find("open/Any/Thing").ref == ModelRef("Open", "Any/Thing")
    for name in ("open", "open/", "closed/any"):
        with pytest.raises(NotFound):
            found.find(name)


def test_an_alias_of_an_unlisted_model_is_offered() -> None:
    alias = {"quick": ModelRef("open", "tiny")}
    found = Catalogue([], aliases=alias, unlisted=[spec(ModelRef("open", "*"))])
    assert found.ask_for("QUICK").ref == ModelRef("open", "tiny")
    with pytest.raises(NotFound, match="did you mean quick"):
        found.ask_for("quik")
