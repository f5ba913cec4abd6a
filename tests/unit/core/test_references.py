"""References: what a caller typed, and what a caller is shown."""

from dataclasses import replace

import pytest

from roost.core.errors import InvalidInput, NotFound
from roost.core.keys import SessionKey
from roost.core.references import (
    CLIENT_LABELS,
    ByKey,
    ByKeyOrId,
    BySessionId,
    Viewpoint,
    by_session_id,
    display,
    is_listed,
    refuse_mismatch,
    refuse_thread,
    refuse_unknown,
    resolve,
)
from roost.core.scopes import SessionScope

OWN = SessionKey.parse("agent:ops:telegram:direct:5")
OPS = Viewpoint(agent="ops", own=OWN)
GLOBALLY = replace(OPS, scope=SessionScope.GLOBAL)
UUID = "0198c0de-0000-7000-8000-000000000001"


def key_of(text: str, seen_from: Viewpoint = OPS) -> str:
    reference = resolve(text, seen_from)
    assert isinstance(reference, ByKey)
    return str(reference.key)


@pytest.mark.requirement("D02")
def test_main_is_the_main_session_of_the_agent_that_asks() -> None:
    assert key_of("main") == key_of(" Main ") == "agent:ops:main"
    renamed = replace(OPS, main_name="work")
    assert key_of("main", renamed) == key_of("work", renamed) == "agent:ops:work"


@pytest.mark.requirement("D05")
@pytest.mark.parametrize("text", ["main", "global", "agent:ops:main", "agent:other:main"])
def test_under_the_global_scope_main_is_the_one_session(text: str) -> None:
    assert key_of(text, GLOBALLY) == "global"
    assert key_of("global:heartbeat", GLOBALLY) == "global:heartbeat"


@pytest.mark.requirement("D05")
@pytest.mark.parametrize(
    ("text", "seen_from"),
    [("unknown", OPS), ("unknown", GLOBALLY), ("global", OPS), ("Global:Heartbeat", OPS)],
)
def test_reserved_names_are_no_sessions(text: str, seen_from: Viewpoint) -> None:
    with pytest.raises(NotFound):
        resolve(text, seen_from)


@pytest.mark.requirement("D62")
def test_current_is_the_callers_own_session() -> None:
    assert resolve("current", OPS) == ByKey(OWN)
    with pytest.raises(InvalidInput):
        resolve("current", replace(OPS, own=None))


@pytest.mark.requirement("D62")
@pytest.mark.parametrize("label", sorted(CLIENT_LABELS))
def test_the_name_of_a_client_is_no_session(label: str) -> None:
    with pytest.raises(NotFound):
        resolve(label, OPS)


def test_openclaw_tui_is_among_the_names_of_clients() -> None:
    assert "openclaw-tui" in CLIENT_LABELS


@pytest.mark.requirement("D03", "D04", "P25")
@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("agent:main:telegram:group:-100", "agent:main:telegram:group:-100"),
        ("telegram:group:-100", "agent:ops:telegram:group:-100"),
        ("discord:channel:ABC", "agent:ops:discord:channel:abc"),
        ("agent:main:telegram:dm:123", "agent:main:telegram:direct:123"),
        ("agent:main:telegram:direct:123", "agent:main:telegram:direct:123"),
        ("cron:daily", "agent:ops:cron:daily"),
        ("hook:u1", "agent:ops:hook:u1"),
        ("node-n1", "agent:ops:node-n1"),
        ("node:n1", "agent:ops:node-n1"),
        ("acp:u1", "agent:ops:acp:u1"),
        ("group:-100", "agent:ops:group:-100"),
        ("agent:main:main", "agent:main:main"),
        ("AGENT:Main:MAIN", "agent:main:main"),
        ("agent:main:Main:thread:T1", "agent:main:main:thread:T1"),
        ("Agent:MAIN:Notes", "agent:main:Notes"),
        ("openai-user:Ann", "agent:ops:openai-user:Ann"),
    ],
)
def test_a_key_is_taken_whole_and_one_without_an_agent_is_the_callers(text: str, key: str) -> None:
    assert key_of(text) == key


@pytest.mark.parametrize("text", [UUID, "notes", "node:", "agent"])
def test_anything_else_is_a_name_and_may_be_a_session_id(text: str) -> None:
    reference = resolve(f" {text} ", OPS)
    if text == "node:":
        assert reference == ByKey(SessionKey.named("ops", text))
    else:
        assert reference == ByKeyOrId(SessionKey.named("ops", text), text)


@pytest.mark.requirement("P25", "S21")
@pytest.mark.parametrize("text", ["", "  ", "agent:", "agent:x", "agent::main", "agent:x:", "a\nb", "\udc00"])
def test_a_malformed_name_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        resolve(text, OPS)


def test_a_session_id_is_an_id_and_nothing_that_walks() -> None:
    assert by_session_id(f" {UUID} ") == BySessionId(UUID)
    for text in ("", "../x", "a/b", "a:b", "*", ".hidden", "x" * 129, "a\x00"):
        with pytest.raises(InvalidInput):
            by_session_id(text)


@pytest.mark.requirement("D05")
@pytest.mark.parametrize(
    ("text", "seen_from", "shown"),
    [
        ("agent:ops:main", OPS, "main"),
        ("agent:main:main", OPS, "agent:main:main"),
        ("agent:ops:main:heartbeat", OPS, "agent:ops:main:heartbeat"),
        ("agent:ops:work", replace(OPS, main_name="work"), "main"),
        ("agent:ops:telegram:group:1", OPS, "agent:ops:telegram:group:1"),
        ("global", GLOBALLY, "main"),
    ],
)
def test_a_caller_sees_its_own_main_session_as_main_and_others_in_full(
    text: str, seen_from: Viewpoint, shown: str
) -> None:
    key = SessionKey.parse(text)
    assert display(key, seen_from) == shown
    assert resolve(shown, seen_from) == ByKey(key)


@pytest.mark.requirement("D05")
def test_reserved_keys_are_never_listed_but_global_under_its_scope() -> None:
    unknown, shared = SessionKey.parse("unknown"), SessionKey.parse("global")
    assert [is_listed(unknown, scope) for scope in SessionScope] == [False, False]
    assert is_listed(shared, SessionScope.GLOBAL)
    assert not is_listed(shared, SessionScope.PER_SENDER)
    assert is_listed(OWN, SessionScope.PER_SENDER)


@pytest.mark.requirement("D59")
@pytest.mark.parametrize("suffix", [":thread:7", ":topic:7"])
def test_a_thread_is_no_target_and_the_advice_names_its_chat(suffix: str) -> None:
    chat = "agent:ops:telegram:group:-100"
    refuse_thread(SessionKey.parse(chat))
    with pytest.raises(InvalidInput) as refusal:
        refuse_thread(SessionKey.parse(chat + suffix))
    assert refusal.value.hint == f"send to {chat} instead"


def test_a_session_is_of_the_agent_that_is_named_beside_it_or_of_all() -> None:
    for agent in (None, "ops"):
        refuse_mismatch(SessionKey.parse("agent:ops:main"), agent)
    refuse_mismatch(SessionKey.parse("global"), "ops")
    with pytest.raises(InvalidInput, match="agent:ops:main is a session of agent 'ops', not of 'main'"):
        refuse_mismatch(SessionKey.parse("agent:ops:main"), "main")


def test_an_agent_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    for agent in ("", "ops"):
        refuse_unknown(agent, ("main", "ops"))
    with pytest.raises(InvalidInput, match="unknown agent id 'gone'") as refusal:
        refuse_unknown("gone", ("main", "ops"))
    assert refusal.value.hint.startswith("there are: main, ops.")
