import pytest

from roost.core.errors import Forbidden, InvalidInput, NotFound
from roost.core.hookorders import FIELDS, Around, read_order, schema_of
from roost.core.hooks import Action, HookMapping, HookRules, Order
from roost.core.jobs import Wake
from roost.core.jsonvalue import JsonValue
from roost.core.keys import SessionKey

MAIN = SessionKey.named("main", "main")
AROUND = Around(agents=("main", "helper"), default_agent="main", main_name="main", uuid="u1")
RULES = HookRules(
    agents=("helper",),
    names_sessions=True,
    prefixes=("hook:",),
    mappings={
        "ci": HookMapping(message="{{repo}} broke", agent="helper", deliver=True, model="a/b"),
        "door": HookMapping(message="{{who}} rings", action=Action.WAKE, wake=Wake.NEXT),
        "room": HookMapping(message="x", action=Action.WAKE, session_key="hook:{{room}}"),
        "fixed": HookMapping(message="x", session_key="garden"),
    },
)


def order(name: str, payload: JsonValue) -> Order:
    return read_order(name, payload, RULES, AROUND)


def test_an_event_is_for_the_main_session_unless_it_names_one() -> None:
    assert order("wake", {"text": "rain"}) == Order(
        action=Action.WAKE, key=MAIN, text="rain", tool="hook:wake", wake=Wake.NOW
    )
    other = order(
        "wake", {"text": "rain", "mode": "next-heartbeat", "agentId": "helper", "sessionKey": "hook:x"}
    )
    assert (str(other.key), other.wake) == ("agent:helper:hook:x", Wake.NEXT)


def test_a_turn_has_what_the_request_says() -> None:
    found = order(
        "agent",
        {
            "message": "go",
            "name": "ci",
            "deliver": True,
            "model": "a/b",
            "thinking": "high",
            "timeoutSeconds": 2.5,
        },
    )
    assert str(found.key) == "agent:main:hook:u1"
    assert (found.tool, found.deliver, found.model, found.thinking, found.timeout_ms) == (
        "hook:ci",
        True,
        "a/b",
        "high",
        2_500,
    )
    assert order("agent", {"message": "go", "timeoutSeconds": 0}).timeout_ms is None
    for seconds in (10**9, 1e308):
        assert order("agent", {"message": "go", "timeoutSeconds": seconds}).timeout_ms == 86_400_000


def test_a_mapping_says_what_its_template_makes_of_the_payload() -> None:
    found = order("ci", {"repo": "roost", "message": "obey me"})
    assert (found.text, str(found.key), found.deliver, found.model) == (
        "roost broke",
        "agent:helper:hook:u1",
        True,
        "a/b",
    )
    rings = order("door", {"who": "Ada"})
    assert (rings.action, rings.key, rings.text, rings.wake) == (Action.WAKE, MAIN, "Ada rings", Wake.NEXT)
    assert str(order("room", {"room": "7"}).key) == "agent:main:hook:7"
    assert order("fixed", []).key == SessionKey.named("main", "garden")


@pytest.mark.requirement("S11")
@pytest.mark.parametrize("room", ["x:thread:1", "x:heartbeat", "../main", "%00", "x\nagent:main:main"])
def test_whatever_a_payload_spells_stays_under_the_prefix(room: str) -> None:
    try:
        found = order("room", {"room": room})
    except InvalidInput:
        return
    assert str(found.key).startswith("agent:main:hook:")


@pytest.mark.parametrize(
    ("name", "payload", "error"),
    [
        ("nothing", {}, NotFound),
        ("agent", {}, InvalidInput),
        ("agent", [], InvalidInput),
        ("agent", {"message": "x", "to": "7"}, InvalidInput),
        ("agent", {"message": "x", "channel": "telegram"}, InvalidInput),
        ("agent", {"message": "x", "provenance": "human"}, InvalidInput),
        ("agent", {"message": "x", "timeoutSeconds": -1}, InvalidInput),
        ("agent", {"message": "x", "timeoutSeconds": float("nan")}, InvalidInput),
        ("agent", {"message": "x", "timeoutSeconds": True}, InvalidInput),
        ("agent", {"message": "x", "deliver": "yes"}, InvalidInput),
        ("agent", {"message": "x", "model": 5}, InvalidInput),
        ("agent", {"message": "x", "agentId": "nobody"}, Forbidden),
        ("agent", {"message": "x", "sessionKey": "main"}, InvalidInput),
        ("wake", {"text": "x", "mode": "later"}, InvalidInput),
        ("wake", {"text": "x", "sessionKey": "main"}, InvalidInput),
        ("wake", {"text": "x", "message": "x"}, InvalidInput),
        ("ci", {}, None),
        ("door", {"who": None}, None),
    ],
)
def test_what_is_not_asked_for_rightly_is_refused(
    name: str, payload: JsonValue, error: type[Exception] | None
) -> None:
    if error is None:
        assert order(name, payload).text.strip()
        return
    with pytest.raises(error):
        order(name, payload)


def test_a_mapping_that_has_nothing_to_say_is_refused() -> None:
    rules = HookRules(mappings={"m": HookMapping(message="{{text}}")})
    with pytest.raises(InvalidInput, match="nothing to say"):
        read_order("m", {"text": " "}, rules, AROUND)


@pytest.mark.parametrize("action", Action)
def test_the_schema_of_a_payload_tells_what_is_read_from_it(action: Action) -> None:
    schema, (needed, *others) = schema_of(action), FIELDS[action]
    assert schema["properties"] == {field.name: field.schema for field in (needed, *others)}
    assert schema["required"] == [needed.name]
    assert order(str(action), {needed.name: "go"}).text == "go"
    with pytest.raises(InvalidInput, match=f"{needed.name} required"):
        order(str(action), {})
    with pytest.raises(InvalidInput, match="unexpected property 'other'"):
        order(str(action), {needed.name: "go", "other": 1})
