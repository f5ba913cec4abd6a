import json

import pytest

from roost.scanners.stdlib import StdlibScanner
from roost.transfer.cleaning import masked, masking

SECRET = "sk-abcdefghijklmnopqrstuvwxyz0123456789"
SCANNER = StdlibScanner()


def test_a_field_whose_name_says_secret_is_masked_and_other_values_stay() -> None:
    line = (
        json.dumps({"password": "hunter2", "n": 1, "list": [SECRET, None], "in": {"a": "b"}}).encode() + b"\n"
    )
    assert json.loads(masked(line, masking(SCANNER))) == {
        "password": "***",
        "n": 1,
        "list": ["sk-abc…6789", None],
        "in": {"a": "b"},
    }


def test_a_secret_that_is_the_name_of_a_field_is_masked() -> None:
    line = json.dumps({"quota": {SECRET: {"left": 4}}}).encode()
    assert json.loads(masked(line, masking(SCANNER))) == {"quota": {"sk-abc…6789": {"left": 4}}}


def test_a_secret_field_is_masked_whatever_is_in_it() -> None:
    line = json.dumps({"token": {"value": "hunter"}, "password": 4711, "apiKey": "$KEY"}).encode()
    assert json.loads(masked(line, masking(SCANNER))) == {
        "token": {"value": "***"},
        "password": "***",
        "apiKey": "$KEY",
    }


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"a","n":1e400,"m":-0.0,"k":1E5,"l":123456789012345678901234567890}\n',
        b'{ "type": "a", "text": "\\u00e9 \\ud83d" }\r\n',
        b"\xff is no text\n",
        b"",
    ],
)
def test_a_line_without_a_secret_is_as_it_was(line: bytes) -> None:
    assert masked(line, masking(SCANNER)) == line


@pytest.mark.parametrize(
    "line",
    [
        f'{{"a":"{SECRET}","a":"x"}}',
        '{"a":[{"password":"hunter2","password":null}]}',
        '{"password":1e400}',
        '{"password":' + "7" * 5_000 + "}",
    ],
)
def test_a_secret_in_what_is_not_kept_of_a_line_is_not_shown(line: str) -> None:
    shown = masked(line.encode(), masking(SCANNER)).decode()
    assert not any(one in shown for one in (SECRET, "hunter2", "1e400", "7777"))


def test_what_is_no_json_is_masked_as_text() -> None:
    assert masked(f"oops {SECRET}".encode(), masking(SCANNER)) == "oops sk-abc…6789".encode()
