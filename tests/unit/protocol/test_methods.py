"""The table of methods."""

from collections.abc import Iterator

import pytest

from roost.core.grants import Role
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.protocol.families import agents, changes
from roost.protocol.methods import EVERY, METHODS, advertised
from roost.protocol.params import read_params
from roost.protocol.scopes import Scope
from roost.server.http.tools import InvokeParams


def test_every_method_is_there_once_and_advertised_unless_hidden() -> None:
    assert len(METHODS) == len(EVERY)
    shown = {role: set(advertised(role)) for role in Role}
    assert set(METHODS) - shown[Role.OPERATOR] - shown[Role.NODE] == {"sessions.resolve"}
    assert shown[Role.NODE] == {"node.event", "node.invoke.result"}
    assert not shown[Role.OPERATOR] & shown[Role.NODE]


def endless(schema: JsonValue, path: str) -> Iterator[str]:
    """Where in a schema a text may be of any length."""
    match schema:
        case {"type": "string", **rest}:
            if not rest.keys() & {"maxLength", "enum", "const"}:
                yield path
        case dict():
            for name, value in schema.items():
                yield from endless(value, f"{path} {name}")
        case list():
            for value in schema:
                yield from endless(value, path)


@pytest.mark.requirement("S23")
def test_no_text_that_a_client_gives_is_without_an_end() -> None:
    free: JsonObject = {"items": {"type": "string"}, "free": {"anyOf": [{"type": "string"}, {"enum": ["a"]}]}}
    assert [*endless(free, "m")] == ["m items", "m free anyOf"]
    methods = [(method.name, method.params) for method in EVERY]
    for name, params in (*methods, ("tools.invoke", InvokeParams)):
        assert [*endless(params.model_json_schema(), name)] == []


@pytest.mark.parametrize(
    ("params", "scope"),
    [
        ({"key": "main", "label": "x", "pinned": True, "model": None}, Scope.WRITE),
        ({"key": "main", "expectedSessionId": "s", "thinkingLevel": "off"}, Scope.WRITE),
        ({"key": "main", "sendPolicy": None}, Scope.ADMIN),
        ({"key": "main", "label": "x", "verboseLevel": "on"}, Scope.ADMIN),
    ],
)
def test_who_writes_may_set_some_things_and_the_administrator_the_rest(
    params: JsonObject, scope: Scope
) -> None:
    assert changes.patch_scope(read_params("m", changes.PatchParams, params)) is scope


def test_removing_needs_more_unless_it_is_archived() -> None:
    def needed(params: JsonObject) -> Scope:
        return changes.delete_scope(read_params("m", changes.DeleteParams, params))

    assert needed({"key": "k"}) is Scope.ADMIN
    assert needed({"key": "k", "archivedOnly": True}) is Scope.WRITE


def test_naming_a_model_for_a_run_needs_more() -> None:
    def needed(params: JsonObject) -> Scope:
        asked = {"message": "hi", "idempotencyKey": "k", **params}
        return agents.agent_scope(read_params("m", agents.AgentParams, asked))

    assert needed({}) is Scope.WRITE
    assert needed({"model": "m"}) is Scope.ADMIN
