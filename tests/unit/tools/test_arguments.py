import pytest

from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonValue
from roost.core.models import ToolSpec
from roost.tools.arguments import Arguments, object_schema

SPEC = ToolSpec(
    name="thing",
    description="",
    parameters=object_schema(
        {
            "path": {"type": "string"},
            "timeoutSeconds": {"type": "integer"},
            "replaceAll": {"type": "boolean"},
            "kinds": {"type": "array"},
        },
        required=("path",),
    ),
)


def arguments(**given: JsonValue) -> Arguments:
    return Arguments(SPEC, given)


def test_both_spellings_of_a_name_are_taken() -> None:
    assert arguments(timeoutSeconds=3).whole("timeoutSeconds", 1, least=1, most=9) == 3
    assert arguments(timeout_seconds=3).whole("timeoutSeconds", 1, least=1, most=9) == 3


def test_a_name_given_in_both_spellings_is_refused() -> None:
    with pytest.raises(InvalidInput, match="given twice"):
        arguments(timeout_seconds=3, timeoutSeconds=4)


@pytest.mark.requirement("S22")
def test_an_unknown_name_is_refused_and_the_known_ones_are_told() -> None:
    with pytest.raises(InvalidInput, match="takes no `approved`") as refusal:
        arguments(approved=True)
    assert refusal.value.hint == "it takes kinds, path, replaceAll, timeoutSeconds"


def test_a_missing_or_null_text_is_asked_for() -> None:
    for given in (arguments(), arguments(path=None)):
        with pytest.raises(InvalidInput, match="`path` is missing"):
            given.text("path")
        assert given.text_or("path", ".") == "."


def test_a_text_must_be_text() -> None:
    assert arguments(path="").text("path") == ""
    with pytest.raises(InvalidInput, match="must be text"):
        arguments(path=["a"]).text("path")


@pytest.mark.parametrize("value", ["7", " 7 ", 7, 7.0])
def test_a_whole_number_may_be_written_as_text(value: JsonValue) -> None:
    assert arguments(timeoutSeconds=value).whole("timeoutSeconds", 1, least=1, most=9) == 7


@pytest.mark.parametrize("value", ["x", "1e3", "9" * 99, 0, -1, 1.5, float("inf"), True, [1]])
def test_anything_else_is_no_whole_number(value: JsonValue) -> None:
    with pytest.raises(InvalidInput, match="whole number, 1 or more"):
        arguments(timeoutSeconds=value).whole("timeoutSeconds", 1, least=1, most=9)


def test_more_than_the_most_means_the_most() -> None:
    assert arguments(timeoutSeconds=10**12).whole("timeoutSeconds", 1, least=1, most=9) == 9


def test_a_flag_is_true_or_false_and_false_when_left_out() -> None:
    assert arguments(replace_all=True).flag("replaceAll") is True
    assert arguments().flag("replaceAll") is False
    with pytest.raises(InvalidInput, match="true or false"):
        arguments(replaceAll="yes").flag("replaceAll")


def test_a_list_of_texts_may_be_one_text_or_be_left_out() -> None:
    assert arguments(kinds=["a", "b"]).texts("kinds") == ("a", "b")
    assert arguments(kinds="a").texts("kinds") == ("a",)
    assert arguments().texts("kinds") == ()
    with pytest.raises(InvalidInput, match="list of texts"):
        arguments(kinds=5).texts("kinds")
    with pytest.raises(InvalidInput, match="cannot be an object"):
        arguments(kinds={"a": "b"})
    with pytest.raises(InvalidInput, match="texts only"):
        arguments(kinds=["a", 5]).texts("kinds")


def test_what_was_given_is_told_from_what_was_not() -> None:
    assert arguments(path="").has("path")
    assert not arguments(path=None).has("path")


def test_a_schema_takes_no_other_properties() -> None:
    assert SPEC.parameters["additionalProperties"] is False
    assert SPEC.parameters["required"] == ["path"]
