import pytest

from roost.config.fingerprint import config_hash
from tests.unit.config.given import settings


def test_equal_settings_have_one_hash_however_they_are_written() -> None:
    one = settings("{gateway: {port: 18789}, session: {identityLinks: {a: ['x:1'], b: ['x:2']}}}")
    other = settings("{session: {identityLinks: {b: ['x:2'], a: ['x:1']}}}")
    assert config_hash(one) == config_hash(other)
    assert config_hash(one) != config_hash(settings({}))


def test_the_hash_does_not_depend_on_the_process() -> None:
    assert config_hash(settings({})) == config_hash(settings("// nothing\n{}"))
    assert len(config_hash(settings({}))) == 64


@pytest.mark.requirement("S24")
def test_the_hash_says_that_a_credential_is_given_but_not_which() -> None:
    def hashed(token: str) -> str:
        return config_hash(settings({"gateway": {"auth": {"token": token}}}))

    assert hashed("one") == hashed("two")
    assert hashed("one") != config_hash(settings({}))
