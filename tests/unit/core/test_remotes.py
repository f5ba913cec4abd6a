import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.errors import InvalidInput
from roost.core.keys import SessionKey
from roost.core.remotes import BEYOND, RemoteSession, allowed_as, seen_from_here, unknown
from tests.scale import examples


@pytest.mark.requirement("F6")
@pytest.mark.parametrize(
    ("text", "gateway", "session"),
    [
        ("office/main", "office", "main"),
        ("office-2/agent:ops:telegram:group:-100/5", "office-2", "agent:ops:telegram:group:-100/5"),
        ("7/ side ", "7", "side"),
        (f"office/{'a' * 512}", "office", "a" * 512),
    ],
)
def test_a_session_of_another_gateway_is_named_behind_its_gateway(
    text: str, gateway: str, session: str
) -> None:
    found = RemoteSession.parse(text)
    assert found == RemoteSession(gateway=gateway, session=session)
    assert str(found) == f"{gateway}/{session}"


@pytest.mark.parametrize(
    "text", ["", "main", "agent:main:a/b", "/main", "Office/main", "of fice/main", "x:y/z", f"{'a' * 65}/b"]
)
def test_whatever_else_is_a_session_here(text: str) -> None:
    assert RemoteSession.parse(text) is None


@pytest.mark.requirement("F6", "S13")
@pytest.mark.parametrize("text", ["ws://evil/main", "evil.example/main", "127.0.0.1/main", "evil:18789/main"])
def test_no_address_names_another_gateway(text: str) -> None:
    assert RemoteSession.parse(text) is None


@pytest.mark.parametrize("text", ["office/", "office/  ", "office/a\x00b", f"office/{'a' * 513}"])
def test_a_gateway_without_a_session_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="names no session"):
        RemoteSession.parse(text)


@pytest.mark.requirement("F6")
@given(name=st.text(min_size=1, max_size=30))
@settings(deadline=None, max_examples=examples(100, 5_000))
def test_no_session_key_names_a_session_of_another_gateway(name: str) -> None:
    try:
        key = SessionKey.named("main", name)
    except InvalidInput:
        return
    assert RemoteSession.parse(str(key)) is None


def test_a_session_that_is_not_here_stands_among_hops_as_one_that_no_list_shows() -> None:
    assert str(BEYOND) == "unknown"
    assert RemoteSession.parse(str(BEYOND)) is None


@pytest.mark.parametrize(
    ("gateway", "hint"),
    [("offce", "did you mean office/main? A session"), ("zzz", "in `gateway.remotes`. A session")],
)
def test_a_gateway_that_is_not_known_is_told_with_the_one_that_was_meant(gateway: str, hint: str) -> None:
    error = unknown(RemoteSession(gateway=gateway, session="main"), {"office", "lab"})
    assert error.message == f"there is no gateway {gateway}"
    assert hint in error.hint


def test_a_session_of_the_gateway_that_sends_is_none_of_ours() -> None:
    assert RemoteSession.parse(seen_from_here("agent:main:main")) is not None
    with pytest.raises(InvalidInput):
        SessionKey.parse(seen_from_here("agent:main:main"))


def test_an_allow_list_names_a_gateway_as_no_agent_can_be_called() -> None:
    with pytest.raises(InvalidInput):
        SessionKey.named(allowed_as("office"), "main")
