import copy
import json
import logging
import pickle
from dataclasses import asdict, dataclass

import orjson
import pytest

from roost.core.errors import InvalidInput
from roost.core.secrets import MASK, Secret

PLANTED = "planted-7f3a"


@pytest.fixture
def secret() -> Secret:
    return Secret(PLANTED)


def test_only_reveal_gives_the_text_back(secret: Secret) -> None:
    assert secret.reveal() == PLANTED


@pytest.mark.requirement("S24", "P24")
def test_every_way_to_write_a_secret_shows_the_mask(secret: Secret, caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("test").warning("token %s %r", secret, secret)
    written = [
        str(secret),
        repr(secret),
        f"{secret}",
        f"{secret!r}",
        f"{secret:>40}",
        f"{[secret]}",
        f"{Exception(secret)!r}",
        caplog.text,
    ]
    for text in written:
        assert PLANTED not in text
        assert MASK in text


@pytest.mark.requirement("S24")
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_secret_cannot_be_pickled(secret: Secret, protocol: int) -> None:
    with pytest.raises(TypeError, match="cannot be serialised"):
        pickle.dumps(secret, protocol)


@pytest.mark.requirement("S24")
def test_a_secret_cannot_become_json(secret: Secret) -> None:
    with pytest.raises(TypeError):
        json.dumps({"token": secret})
    with pytest.raises(TypeError):
        orjson.dumps({"token": secret})
    assert json.dumps({"token": secret}, default=str) == '{"token": "***"}'


def test_a_secret_has_no_attributes_to_dump(secret: Secret) -> None:
    assert not hasattr(secret, "__dict__")
    with pytest.raises(TypeError):
        bytes(secret)  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        list(secret)  # type: ignore[call-overload]


def test_a_secret_cannot_be_changed(secret: Secret) -> None:
    with pytest.raises(AttributeError):
        secret.other = "x"
    with pytest.raises(AttributeError):
        del secret.reveal
    assert secret.reveal() == PLANTED


@pytest.mark.requirement("S21")
@pytest.mark.parametrize("blank", ["", " ", "\n\t"])
def test_an_empty_secret_is_refused(blank: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be empty"):
        Secret(blank)


@pytest.mark.parametrize("candidate", ["", PLANTED[:-1], PLANTED + "x", PLANTED.upper(), "\ud800"])
def test_a_secret_matches_nothing_but_its_own_text(secret: Secret, candidate: str) -> None:
    assert secret.matches(PLANTED)
    assert not secret.matches(candidate)


def test_secrets_of_equal_text_are_equal(secret: Secret) -> None:
    assert secret == Secret(PLANTED)
    assert hash(secret) == hash(Secret(PLANTED))
    assert secret != Secret("other")
    assert secret != PLANTED


def test_copies_of_a_value_that_holds_a_secret_hold_the_same_one(secret: Secret) -> None:
    @dataclass(frozen=True)
    class Holder:
        token: Secret

    assert copy.copy(secret) is secret
    assert asdict(Holder(secret))["token"] is secret
