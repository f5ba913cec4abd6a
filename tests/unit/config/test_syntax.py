import pytest

from roost.config.syntax import parse


def _problems(text: str) -> list[str]:
    value, problems = parse(text)
    assert not problems or value == {} or problems[0].reason.startswith("given again")
    return [str(problem) for problem in problems]


def test_json5_is_read() -> None:
    text = "// a\n{a: 1, 'b': [0x10, .5, +1,], /* c */ \"d\": 'x\\\ny',}"
    assert parse(text) == ({"a": 1, "b": [16, 0.5, 1], "d": "xy"}, [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{a: 1,\n b: }", "line 2, column 5: expected a value, found `}`"),
        ('{a: 1,\n\n  "b" 2}', "line 3, column 7: expected `:` after the key, found `2`"),
        ("{a: 1 b: 2}", "line 1, column 7: expected `,` or `}`, found `b`"),
        ("{1: 2}", "line 1, column 2: expected a key, found `1`"),
        ("{\n a: [1, 2", "line 2, column 5: this begins an unfinished list: `]` is missing"),
        ("\n{a: 1", "line 2, column 1: this begins an unfinished object: `}` is missing"),
        ("{a: 'x}", "line 1, column 5: this begins an unfinished text: its closing quote is missing"),
        ("{a: 1} /* x", "line 1, column 9: this begins an unfinished comment: `*/` is missing"),
        ("{a: 1}}", "line 1, column 7: expected the end of the document, found `}`"),
        ("{a: 1,,}", "line 1, column 7: expected something before `,`"),
        ("{a: 1e}", "line 1, column 5: this begins an unfinished number"),
        ("", "line 1, column 1: expected an object"),
        ("[" * 100, "line 1, column 65: there are more than 64 levels"),
        ("{ä: 'ö',\n ü}", "line 2, column 3: expected `:` after the key, found `}`"),
    ],
)
def test_a_syntax_error_has_a_line_a_column_and_what_was_expected(text: str, problem: str) -> None:
    assert _problems(text) == [problem]


@pytest.mark.requirement("S24")
def test_a_syntax_error_does_not_repeat_what_was_read() -> None:
    assert "planted" not in str(_problems('{gateway: {auth: {token: "planted"}}, a: @'))


def test_a_key_given_twice_is_named_with_its_second_place() -> None:
    text = "{a: 1, b: [{x: 1}, {'x': 1,\n \\u0078: 2, y: {x: 3}}], a: 2}"
    assert _problems(text) == [
        "b[1].x: given again at line 2, column 2",
        "a: given again at line 2, column 26",
    ]


def test_what_only_looks_like_a_key_given_twice_is_fine() -> None:
    text = "{a: {a: 'a'}, b: ['a', 'a'], c: '{a: 1, a: 2}' /* a: 1 */, // a: 1\n d: [[1], [1]]}"
    assert _problems(text) == []
