from math import inf, nan
from types import MappingProxyType

import pytest

from roost.core.errors import InvalidInput
from roost.core.jsonvalue import (
    JsonValue,
    as_count,
    as_object,
    as_objects,
    as_optional,
    as_text,
    compact,
    from_utf8,
    in_utf8,
    lines_of,
    refuse_unwritable,
)


def test_text_is_one_line_without_spaces_and_keeps_letters_and_order() -> None:
    assert compact({"b": ["é", 1.5, None], "a": {}}) == '{"b":["é",1.5,null],"a":{}}'


def test_read_only_mappings_and_other_sequences_are_written_like_plain_ones() -> None:
    value: JsonValue = MappingProxyType({"a": range(2)})
    assert compact(value) == '{"a":[0,1]}'


def test_what_is_not_json_is_refused() -> None:
    with pytest.raises(TypeError, match="set is not a JSON value"):
        compact({"a": {1}})  # type: ignore[dict-item]


@pytest.mark.parametrize(("text", "size"), [("", 2), ("abc", 5), ("é数", 7), ("\ud800", 5)])
def test_bytes_are_of_the_same_text_even_where_it_is_no_unicode(text: str, size: int) -> None:
    assert len(in_utf8(text)) == size
    assert from_utf8(in_utf8(text)) == compact(text)


FOUND: tuple[JsonValue, ...] = (nan, [1.5, [inf]], {"a": {"b": [-inf]}}, MappingProxyType({"a": nan}))


@pytest.mark.parametrize("value", FOUND)
def test_a_number_that_json_has_not_is_found_however_deep(value: JsonValue) -> None:
    refuse_unwritable({"a": ["text", 1.5, 2, None, True, {"b": range(2)}]})
    with pytest.raises(InvalidInput, match="finite"):
        refuse_unwritable(value)


def test_a_part_of_another_type_reads_as_nothing() -> None:
    assert (as_text("a"), as_text(1), as_optional("a"), as_optional(1)) == ("a", "", "a", None)
    assert [as_count(value) for value in (3, 2**63, -1, True, 1.0, "3")] == [3, 0, 0, 0, 0, 0]
    assert (as_object({"a": 1}), as_object([1])) == ({"a": 1}, {})
    assert (as_objects([{"a": 1}, 2]), as_objects({"a": 1})) == ([{"a": 1}], [])


def test_a_line_ends_where_it_was_ended_and_not_within_a_value() -> None:
    values = ("a\u2028b", "c\x85d", "")
    assert lines_of("".join(f"{compact(one)}\n" for one in values)) == [compact(one) for one in values]
    assert lines_of(compact("cut")) == ['"cut"']
    assert lines_of("") == []
