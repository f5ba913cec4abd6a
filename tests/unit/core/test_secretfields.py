"""Fields that hold a secret by their names, and what is shown of them."""

import pytest

from roost.core.jsonvalue import JsonValue
from roost.core.redaction import mask
from roost.core.secretfields import DEPTH, concealed, is_secret_field
from tests.credentials import mixed


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "dbPassword",
        "client_secret",
        "X-Api-Key",
        "apiKey",
        "Authorization",
        "token",
        "auth-token",
    ],
)
def test_a_field_can_be_a_secret_by_its_name(name: str) -> None:
    assert is_secret_field(name)


@pytest.mark.parametrize(
    "name", ["key", "maxTokens", "nextPageToken", "path", "secretary", "authorization_url"]
)
def test_a_field_of_another_name_is_not_a_secret(name: str) -> None:
    assert not is_secret_field(name)


@pytest.mark.requirement("P24")
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("hunter", "***"),
        (mixed(30), mask(mixed(30))),
        (4711, "***"),
        (0.5, "***"),
        ({"value": "hunter", "more": [1, {"a": "b"}]}, {"value": "***", "more": ["***", {"a": "***"}]}),
        (["Bearer hunter", None, True], ["***", None, True]),
    ],
)
def test_every_text_and_number_in_a_secret_field_is_masked(value: JsonValue, shown: JsonValue) -> None:
    assert concealed(value) == shown
    assert concealed(shown) == shown


@pytest.mark.parametrize(
    "value", ["$TOKEN", "${TOKEN}", "{{secret:a.b}}", "{token}", "$(pass show x)", "<your token>", ""]
)
def test_what_only_refers_to_a_secret_stays(value: str) -> None:
    assert concealed(value) == value


@pytest.mark.parametrize("value", ["$ hunter", "{hunter", "<hunter", "$1 and $2", '{"a": "hunter"}'])
def test_what_only_begins_like_a_reference_is_masked(value: str) -> None:
    assert concealed(value) == "***"


def test_a_secret_nested_without_end_is_masked_as_a_whole() -> None:
    deep: JsonValue = "hunter"
    for _ in range(DEPTH + 500):
        deep = [deep]
    assert "hunter" not in str(concealed(deep))
