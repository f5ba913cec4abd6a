from types import MappingProxyType

import pytest

from roost.core.jsonvalue import JsonValue, compact, utf8_size


def test_text_is_one_line_without_spaces_and_keeps_letters_and_order() -> None:
    assert compact({"b": ["é", 1.5, None], "a": {}}) == '{"b":["é",1.5,null],"a":{}}'


def test_read_only_mappings_and_other_sequences_are_written_like_plain_ones() -> None:
    value: JsonValue = MappingProxyType({"a": range(2)})
    assert compact(value) == '{"a":[0,1]}'


def test_what_is_not_json_is_refused() -> None:
    with pytest.raises(TypeError, match="set is not a JSON value"):
        compact({"a": {1}})  # type: ignore[dict-item]


@pytest.mark.parametrize(("text", "size"), [("", 0), ("abc", 3), ("é数", 5), ("\ud800", 3)])
def test_a_text_is_as_long_as_its_bytes(text: str, size: int) -> None:
    assert utf8_size(text) == size
