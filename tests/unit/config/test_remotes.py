import pytest

from roost.core.secrets import Secret
from tests.unit.config.given import ENVIRON, refused, settings

PIN = f"sha256:{'ab' * 32}"
pytestmark = pytest.mark.requirement("F6")


def remotes(name: str = "office", **given: object) -> dict[str, object]:
    return {"gateway": {"remotes": {name: {"url": "wss://office.example", "token": "t", **given}}}}


def test_another_gateway_has_an_address_a_credential_and_a_certificate() -> None:
    given = remotes(url="wss://office.example:18789", token={"env": "OFFICE"}, fingerprint=PIN.upper())
    (found,) = settings(given, {**ENVIRON, "OFFICE": "hush"}).gateway.remotes.values()
    assert (found.url, found.token, found.fingerprint) == ("wss://office.example:18789", Secret("hush"), PIN)
    assert settings(remotes()).gateway.remotes["office"].fingerprint is None


@pytest.mark.requirement("S14")
@pytest.mark.parametrize("url", ["ws://127.0.0.1:1", "ws://localhost", "ws://[::1]:18789", "wss://10.0.0.7"])
def test_in_the_clear_it_is_on_this_machine(url: str) -> None:
    assert settings(remotes(url=url)).gateway.remotes["office"].url == url


@pytest.mark.requirement("S14")
@pytest.mark.parametrize("url", ["ws://10.0.0.7", "ws://office.example", "ws://0.0.0.0:1"])
def test_beyond_it_the_token_is_not_sent_in_the_clear(url: str) -> None:
    assert "wss://" in refused(remotes(url=url))["gateway.remotes.office.url"].reason


@pytest.mark.parametrize(
    "url", ["", "https://x", "wss://", "wss://u:p@x", "wss://x?t=1", "wss://x#t", "wss://x:y", "wss://[x", 7]
)
def test_an_address_is_one_of_a_web_socket_and_holds_no_credential(url: object) -> None:
    assert list(refused(remotes(url=url))) == ["gateway.remotes.office.url"]


@pytest.mark.parametrize("name", ["Office", "of/fice", "of:fice", "of_fice", "a" * 65])
def test_a_name_is_one_that_a_session_can_be_named_behind(name: str) -> None:
    assert refused(remotes(name))


def test_a_fingerprint_needs_a_certificate_and_is_a_whole_one() -> None:
    clear = remotes(url="ws://127.0.0.1:1", fingerprint=PIN)
    assert list(refused(clear)) == ["gateway.remotes.office.fingerprint"]
    assert list(refused(remotes(fingerprint="sha256:ab"))) == ["gateway.remotes.office.fingerprint"]
