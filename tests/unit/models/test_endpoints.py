import pytest

from roost.core.errors import InvalidInput
from roost.core.models import FailureKind, ModelFailed
from roost.core.secrets import Secret
from roost.models.endpoints import Endpoint, KeyAs

KEY = Secret(" sk-1 ")


def endpoint(**changes: object) -> Endpoint:
    return Endpoint(**{"provider": "local", "base_url": "https://host/v1/", "key": KEY, **changes})  # type: ignore[arg-type]


def test_a_key_is_shown_where_the_wire_format_has_it_or_as_a_bearer_token() -> None:
    assert endpoint().sent_headers("x-api-key") == {"x-api-key": "sk-1"}
    assert endpoint(key_as=KeyAs.BEARER).sent_headers("x-api-key") == {"authorization": "Bearer sk-1"}
    assert endpoint().sent_headers("authorization") == {"authorization": "Bearer sk-1"}
    assert endpoint(key=None).sent_headers("x-api-key") == {}


def test_a_configured_header_stands_before_the_key() -> None:
    found = endpoint(headers={"X-Api-Key": Secret("mine"), "X-Team": Secret("blue")})
    assert found.sent_headers("x-api-key") == {"x-api-key": "mine", "x-team": "blue"}
    assert found.secrets == (KEY, Secret("mine"), Secret("blue"))


def test_what_cannot_be_a_header_is_refused_without_showing_it() -> None:
    for text in ("sk-ä", "sk-\u200b1", "a\nb"):
        with pytest.raises(ModelFailed) as failed:
            endpoint(key=Secret(text)).sent_headers("x-api-key")
        assert failed.value.kind is FailureKind.AUTH
        assert text not in str(failed.value)


def test_an_address_lies_below_the_base_and_must_be_on_the_web() -> None:
    assert str(endpoint().address("/chat")) == "https://host/v1/chat"
    for text in ("", "ftp://host", "http://", "http://[::1"):
        with pytest.raises(InvalidInput, match="local"):
            endpoint(base_url=text).address()
