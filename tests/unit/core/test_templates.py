import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonValue
from roost.core.templates import check, filled, has_places

PAYLOAD: JsonValue = {"a": {"b": ["x", {"c": 5}], "t": "{{a.b.0}}"}, "no": None, "yes": True}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{a.b.0}} and {{ a.b.1.c }}", "x and 5"),
        ("{{a.b}}", '["x",{"c":5}]'),
        ("{{yes}}{{no}}{{nothing.here}}{{a.b.9}}{{a.b.x}}{{a.b.0.d}}", "true"),
        ("{{a.t}}", "{{a.b.0}}"),
        ("{{ }} {a.b.0} {{", " {a.b.0} {{"),
        ("plain", "plain"),
    ],
)
def test_a_place_is_filled_with_what_the_payload_says_there(template: str, text: str) -> None:
    assert filled(template, PAYLOAD) == text


def test_a_text_is_cut_where_it_becomes_too_long() -> None:
    assert filled("{{a}}", {"a": "x" * 100}, 10) == "x" * 10


@pytest.mark.parametrize("template", ["{{a b}}", "{{}}", "{{a..b}}", "{{a[0]}}", "{{env('HOME')}}"])
def test_a_place_that_is_no_path_is_refused(template: str) -> None:
    with pytest.raises(InvalidInput, match="no path"):
        check(template)
    assert has_places(template)


def test_texts_without_places_are_known() -> None:
    check("{{a.b}} {a} }}")
    assert not has_places("a { b }")


@given(st.from_regex(r"\{\{[a-z_.]{1,20}\}\}", fullmatch=True))
def test_a_template_reaches_nothing_but_the_payload(template: str) -> None:
    assert filled(template, {}) == ""
