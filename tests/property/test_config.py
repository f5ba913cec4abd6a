"""Laws of the configuration, over documents made from what the settings say they allow."""

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from roost.config import (
    ConfigRefused,
    ConfigSource,
    Settings,
    as_document,
    changes,
    config_hash,
    configured_secrets,
)
from roost.config.catalogue import keys
from roost.config.gateway import AuthMode
from roost.config.policies import agent_to_agent, channel_policy
from roost.config.shapes import Leaf, ListOf, MapOf, ObjectOf, Shape, field_shape
from roost.core.admission import DmPolicy
from roost.core.visibility import Level
from tests.scale import examples

ENVIRON = {"HOME": "/people/someone"}
PLANTED = "planted-7f3a"
NAMES = ("telegram", "discord", "x1")

# Two of these at once may contradict each other; the unit tests cover them.
CONTRADICTORY = frozenset(
    {
        "alsoAllow",
        "dm",
        "bind",
        "gateway.tls",
        "gateway.tls.cert",
        "gateway.tls.key",
        "gateway.auth.mode",
        "hooks.enabled",
        "highWaterBytes",
        "entries",
        "default",
        "database",
        "identityLinks",
        "soft",
        "roles",
    }
)

LEAVES: Mapping[str, st.SearchStrategy[Any]] = {
    "`true` or": st.booleans(),
    "text that": st.just(PLANTED) | st.just("${PLANTED}") | st.just({"env": "PLANTED"}),
    "text": st.text(min_size=1, max_size=8).filter(
        lambda text: bool(text.strip()) and "${" not in text and "\0" not in text
    ),
    "duration": st.integers(1, 10_000).flatmap(
        lambda n: st.sampled_from([f"{n}{unit}" for unit in ("s", "m", "h", "d")])
    ),
    "size": st.integers(1, 5000).flatmap(lambda n: st.sampled_from([n, f"{n}b", f"{n}kb", f"{n}gb"])),
    "number": st.floats(0, 1e6),
    "amount of dollars": st.sampled_from([1, 0.25, "0.000001", "12.5"]),
    "time of day": st.sampled_from(["00:00", "08:30", "24:00"]),
    "time zone": st.sampled_from(["UTC", "Europe/Berlin"]),
    "channel name": st.sampled_from(NAMES),
    "account id": st.sampled_from(["work", "a.b@c", "*"]),
    "agent id": st.just("main"),
    "name that": st.sampled_from(["main", "home"]),
    "name without": st.sampled_from(["alice", "bob"]),
    "path": st.sampled_from(["~/a", "/a/{agentId}/b"]),
    "path below": st.sampled_from(["/a", "/a/b"]),
    "IP address": st.sampled_from(["10.0.0.1", "fd00::/8"]),
    "name of a header": st.just("x-user"),
    "host name": st.sampled_from(["a.example", "roost.lan"]),
    "origin": st.sampled_from(["https://a.example", "http://b.example:8080"]),
    "`http://`": st.sampled_from(["http://127.0.0.1:1/v1", "https://a.example"]),
    "`wss://`": st.just("wss://a.example"),
    "`sha256:`": st.just(f"sha256:{'0' * 64}"),
    "object": st.dictionaries(
        st.sampled_from("ab"), st.integers(-9, 9) | st.booleans() | st.lists(st.booleans(), max_size=2)
    ),
}


def _number(allowed: str) -> st.SearchStrategy[Any]:
    words = allowed.replace(",", "").split()
    low, high = (int(words[2]), int(words[4])) if words[1] == "from" else (int(words[1]), 10_000)
    return st.integers(low, high).flatmap(lambda n: st.sampled_from([n, str(n), float(n)]))


def _leaf(leaf: Leaf) -> st.SearchStrategy[Any]:
    if leaf.options:
        return st.sampled_from(leaf.options)
    if leaf.allowed.startswith("integer"):
        return _number(leaf.allowed)
    return LEAVES[max((start for start in LEAVES if leaf.allowed.startswith(start)), key=len)]


def _values(shape: Shape) -> st.SearchStrategy[Any] | None:
    """What a key may be set to; nothing for one that only holds other keys."""
    match shape:
        case Leaf():
            return _leaf(shape)
        case ListOf():
            item = _values(shape.item)
            return None if item is None else st.lists(item, max_size=2)
        case MapOf():
            value = _values(shape.value)
            return None if value is None else st.dictionaries(_leaf(shape.name), value, max_size=2)
        case ObjectOf():
            return None


def _choices(shape: Shape, path: str) -> Iterator[tuple[str, st.SearchStrategy[Any]]]:
    """Every key that holds a value, at every place where it may stand."""
    match shape:
        case ListOf():
            yield from _choices(shape.item, f"{path}[]")
        case MapOf():
            yield from _choices(shape.value, f"{path}.<>")
        case ObjectOf():
            for name, info in shape.fields.items():
                place = f"{path}.{name}".lstrip(".")
                if name in CONTRADICTORY or place in CONTRADICTORY:
                    continue
                value = _values(field_shape(info))
                if value is not None:
                    yield place, value
                yield from _choices(field_shape(info), place)


CHOICES = dict(_choices(ObjectOf(Settings), ""))
ITEMS: Mapping[str, dict[str, Any]] = {
    "agents.list[]": {"id": "main"},
    "bindings[]": {"agentId": "main", "match": {"channel": "x1"}},
    "bindings[].match.peer": {"kind": "group", "id": "1"},
    "session.sendPolicy.rules[]": {"action": "deny", "match": {}},
    "models.providers.<>.models[]": {"id": "m"},
    "gateway.remotes.<>": {"url": "wss://a.example", "token": PLANTED},
}


def put(value: dict[str, Any], path: str, given: object) -> dict[str, Any]:
    """The document with one key set; what must stand around it is put there, free names are `x`."""
    changed = copy.deepcopy(value)
    parent: Any = changed
    *parts, last = path.split(".")
    place = ""
    for part in parts:
        place = f"{place}.{part}".lstrip(".")
        item = copy.deepcopy(ITEMS.get(place, {}))
        name = "x" if part.startswith("<") else part.removesuffix("[]")
        parent = parent.setdefault(name, [item] if part.endswith("[]") else item)
        if part.endswith("[]") and isinstance(parent, list) and parent:
            parent = parent[0]
        if not isinstance(parent, dict):
            return changed
    parent[last] = given
    return changed


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for path in draw(st.lists(st.sampled_from(sorted(CHOICES)), max_size=8, unique=True)):
        value = put(value, path, draw(CHOICES[path]))
    return value


def load(value: object) -> Settings:
    text = orjson.dumps(value).decode()
    return ConfigSource({**ENVIRON, "PLANTED": PLANTED}).interpret(text, exists=True).settings


@settings(deadline=None, max_examples=examples(50, 1500))
@given(documents())
@pytest.mark.requirement("S24")
def test_every_allowed_document_loads_and_reads_back_from_what_it_dumps(value: dict[str, Any]) -> None:
    first = load(value)
    written = as_document(first)
    assert PLANTED not in repr(first)
    assert PLANTED not in orjson.dumps(written).decode()
    assume(not configured_secrets(first))
    again = load(written)
    assert again == first
    assert config_hash(again) == config_hash(first)
    assert changes(first, again) == changes(first, first)


@settings(deadline=None, max_examples=examples(50, 1500))
@given(documents(), documents())
def test_two_configurations_differ_exactly_when_some_change_is_reported(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    old, new = load(one), load(other)
    found = changes(old, new)
    assert bool(found.immediate + found.per_run + found.restart) == (old != new)


EMPTY: tuple[object, ...] = (None, "", [], {})
WHOLE: dict[str, Any] = {
    "gateway": {
        "port": 1,
        "auth": {"mode": "password", "password": "p", "token": "t"},
        "bind": "lan",
        "tls": {"cert": "c", "key": "k"},
    },
    "session": {"sendPolicy": {"default": "deny", "rules": [{"action": "deny", "match": {"channel": "x"}}]}},
    "agents": {
        "defaults": {"sandbox": {"mode": "all"}},
        "list": [{"id": "main", "tools": {"deny": ["exec"]}}],
    },
    "bindings": [{"agentId": "main", "match": {"channel": "x", "peer": {"kind": "direct", "id": "1"}}}],
    "tools": {"allow": ["read"], "sessions": {"visibility": "self"}, "agentToAgent": {"allow": ["a"]}},
    "commands": {"ownerAllowFrom": ["x:1"], "allowFrom": {"x": ["1"]}},
    "channels": {
        "x": {"dmPolicy": "allowlist", "allowFrom": ["1"], "accounts": {"a": {"dmPolicy": "disabled"}}}
    },
    "hooks": {"enabled": True, "token": "h", "allowedAgentIds": ["main"]},
    "models": {"providers": {"p": {"apiKey": "k", "models": [{"id": "m"}]}}},
}
PATHS = sorted({re.sub("<[a-z]+>", "<>", key.path) for key in keys()} | CHOICES.keys())


def is_closed(given: Settings) -> bool:
    gateway, hooks = given.gateway, given.hooks
    policies = [channel_policy(given, "x").at(account) for account in ("default", "a", "y")]
    return all(
        (
            gateway.auth.mode is not AuthMode.NONE,
            gateway.auth.mode is not AuthMode.PASSWORD or gateway.auth.password is not None,
            gateway.auth.mode is not AuthMode.TRUSTED_PROXY,
            not gateway.trusted_proxies,
            not gateway.control_ui.allowed_origins,
            not gateway.http.endpoints.chat_completions.enabled,
            not hooks.enabled or hooks.token is not None,
            not hooks.allow_request_session_key,
            given.tools.sessions.visibility <= Level.TREE,
            not agent_to_agent(given).enabled,
            not any((given.commands.bash, given.commands.config, given.commands.debug)),
            all(policy.dm_policy is not DmPolicy.OPEN for policy in policies),
            all(
                "*" not in policy.owner_ids + policy.allow_from + policy.group_allow_from
                for policy in policies
            ),
            all(policy.require_mention for policy in policies),
        )
    )


def _never_opens(value: dict[str, Any]) -> None:
    try:
        given = load(value)
    except ConfigRefused:
        return
    assert is_closed(given), value


@pytest.mark.requirement("S21")
@pytest.mark.parametrize("empty", EMPTY, ids=["null", "empty text", "empty list", "empty object"])
@pytest.mark.parametrize("base", [{}, WHOLE], ids=["alone", "in a whole configuration"])
def test_no_single_key_set_to_nothing_opens_the_gateway(base: dict[str, Any], empty: object) -> None:
    assert is_closed(load(base))
    for path in PATHS:
        _never_opens(put(base, path, empty))


@settings(deadline=None, max_examples=examples(60, 2000))
@given(
    st.sampled_from([{}, WHOLE]),
    st.lists(st.tuples(st.sampled_from(PATHS), st.sampled_from(EMPTY)), max_size=4),
)
@pytest.mark.requirement("S21")
def test_no_keys_set_to_nothing_together_open_the_gateway(
    base: dict[str, Any], emptied: list[tuple[str, object]]
) -> None:
    value = base
    for path, empty in emptied:
        value = put(value, path, empty)
    _never_opens(value)
