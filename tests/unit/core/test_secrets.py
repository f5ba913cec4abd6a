import copy
import inspect
import json
import logging
import pickle
import pprint
from collections.abc import Callable
from dataclasses import asdict, astuple, dataclass
from functools import partial
from operator import methodcaller

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
        "{}".format(secret),  # noqa: UP032 — another way to write it
        "%s" % secret,  # noqa: UP031 — another way to write it
        pprint.pformat({"token": [secret]}),
        ascii(secret),
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


def _reduced_as_others(protocol: int, secret: Secret) -> object:
    return object.__reduce_ex__(secret, protocol)


STATES: tuple[Callable[[Secret], object], ...] = (
    Secret.__getstate__,
    Secret.__reduce__,
    *(methodcaller("__reduce_ex__", protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)),
    # What copy and pickle of the standard library would call, if they did not heed the class.
    *(partial(_reduced_as_others, protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)),
)


@pytest.mark.requirement("S24")
@pytest.mark.parametrize("state", STATES)
def test_the_state_of_a_secret_cannot_be_had(secret: Secret, state: Callable[[Secret], object]) -> None:
    with pytest.raises(TypeError, match="cannot be serialised"):
        state(secret)


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
        vars(secret)
    with pytest.raises(TypeError):
        bytes(secret)  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        list(secret)  # type: ignore[call-overload]


@pytest.mark.requirement("S24")
def test_no_attribute_of_a_secret_is_its_text(secret: Secret) -> None:
    assert PLANTED not in repr(inspect.getmembers(secret))
    for name in dir(secret):
        assert PLANTED not in f"{{0.{name}}}".format(secret)
    assert PLANTED not in repr(object.__getstate__(secret))


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
    assert copy.deepcopy([secret])[0] is secret
    assert asdict(Holder(secret))["token"] is secret
    assert astuple(Holder(secret)) == (secret,)
    assert PLANTED not in f"{Holder(secret)} {asdict(Holder(secret))}"
