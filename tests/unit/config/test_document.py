import pytest

from roost.config.document import fill


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("${A}", "one"),
        ("x-${A}-${B}", "x-one-two"),
        ("$${A}", "${A}"),
        ("$$${A}", "$${A}"),
        ("$A {A} $", "$A {A} $"),
        ("${C}", "${A}"),
    ],
)
def test_variables_are_filled_into_text_once(text: str, filled: str) -> None:
    document = fill({"k": [text]}, {"A": "one", "B": "two", "C": "${A}"})
    assert document.value == {"k": [filled]}
    assert document.problems == []


def test_keys_and_what_is_no_text_are_left_alone() -> None:
    value = {"${A}": 1, "b": True, "c": 1.5}
    assert fill(value, {"A": "x"}).value == value


def test_places_filled_from_the_environment_are_remembered() -> None:
    assert fill({"a": {"b": ["x", "${A}"]}, "c": "$${A}"}, {"A": "x"}).hidden == {("a", "b", 1)}


def test_a_missing_variable_is_a_problem_with_its_path() -> None:
    [problem] = fill({"a": {"b": "${GONE}"}}, {}).problems
    assert problem.path == "a.b"
    assert "has no GONE" in problem.reason


@pytest.mark.parametrize("text", ["${", "${A", "${}", "${A-B}", "${ A }"])
def test_a_malformed_reference_is_a_problem(text: str) -> None:
    [problem] = fill({"a": text}, {"A": "x"}).problems
    assert "$${" in problem.reason


@pytest.mark.requirement("S21")
def test_null_is_a_problem_not_an_absence() -> None:
    document = fill({"a": {"b": None}, "c": [None]}, {})
    assert [problem.path for problem in document.problems] == ["a.b", "c[0]"]


def test_a_document_that_is_wrong_as_a_whole_has_a_place_too() -> None:
    (problem,) = fill(None, {}).problems
    assert str(problem).startswith("the document: found null")


def test_a_null_character_is_a_problem() -> None:
    [problem] = fill({"a": "work\0space"}, {}).problems
    assert (problem.path, "null character" in problem.reason) == ("a", True)


def test_half_a_character_is_a_problem() -> None:
    assert fill({"a": "x\ud83d"}, {}).problems[0].path == "a"


@pytest.mark.parametrize("number", [2**63, -(2**63), 1e300, float("nan"), float("inf")])
def test_a_number_that_json_cannot_carry_is_a_problem(number: float) -> None:
    assert [problem.path for problem in fill({"a": [number]}, {}).problems] == ["a[0]"]
    assert fill({"a": 2**63 - 1, "b": True}, {}).problems == []
