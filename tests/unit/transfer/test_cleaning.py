import json

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


def test_what_is_no_json_is_masked_as_text() -> None:
    assert masked(f"oops {SECRET}".encode(), masking(SCANNER)) == "oops sk-abc…6789".encode()
