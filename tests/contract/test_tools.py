"""What every tool that ships promises to a model: it says what it takes, what to do next, and never too much."""

import ast
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import UTC
from pathlib import Path

import pytest

from roost.app.casting import Director
from roost.app.desk import Desk
from roost.app.providers import open_models
from roost.config import load
from roost.core import toolnames
from roost.core.jsonvalue import JsonValue
from roost.core.runs import Request, RunKind
from roost.core.tools import ToolOutcome
from roost.ports import Tool
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.clock import FakeClock
from tests.contract.scenes import opened
from tests.unit.tools.calls import call, text_of

SOURCES = Path(__file__).parents[2] / "src" / "roost" / "tools"
ERRORS = frozenset({"InvalidInput", "Forbidden", "NotFound", "Conflict"})
MOST_TOLD = 200_000
HUGE = "x" * 1_000_000
NEXT = "To go on: "


@pytest.fixture
async def tools(tmp_path: Path) -> AsyncIterator[dict[str, Tool]]:
    """Every tool a run may have, of an agent to which nothing is denied."""
    clock = FakeClock()
    store = MemoryStore(clock)
    await opened(store)
    loaded = load({"ROOST_HOME": str(tmp_path)})
    async with open_models(loaded.settings, clock) as models:
        desk = Desk(loaded, models, store, clock, threads=(), stop=lambda run_id, reason: None)
        director = Director(loaded, models, UTC, desk.tools)
        turn = director.cast(builders.session(), builders.run("r"))
        notes = director.cast(builders.session(), builders.run("r", request=Request(kind=RunKind.FLUSH)))
        yield {tool.spec.name: tool for tool in turn.tools} | {"notes": notes.tools[-1]}


def parameters(tool: Tool) -> Mapping[str, Mapping[str, JsonValue]]:
    found = tool.spec.parameters["properties"]
    assert isinstance(found, Mapping)
    return found  # type: ignore[return-value]


def required(tool: Tool) -> dict[str, JsonValue]:
    """The least a call needs, in values that mean nothing."""
    names = tool.spec.parameters["required"]
    assert isinstance(names, list)
    return {name: "nothing" for name in names if isinstance(name, str)}


def every(tools: Mapping[str, Tool]) -> Iterator[tuple[Tool, str, Mapping[str, JsonValue]]]:
    for tool in tools.values():
        for name, schema in parameters(tool).items():
            yield tool, name, schema


def refusal(outcome: ToolOutcome, about: str) -> str:
    said = text_of(outcome)
    assert outcome.is_error, about
    assert NEXT in said, (about, said)
    return said


def test_every_tool_there_is_is_looked_at(tools: Mapping[str, Tool]) -> None:
    assert set(tools) == {*toolnames.EVERY, "notes"}


def test_every_tool_and_every_parameter_says_what_it_is_for(tools: Mapping[str, Tool]) -> None:
    for tool in tools.values():
        assert len(tool.spec.description.split()) >= 10, tool.spec.name
        assert tool.spec.parameters["additionalProperties"] is False
        assert set(required(tool)) <= set(parameters(tool))
    for tool, name, schema in every(tools):
        assert len(str(schema["description"]).split()) >= 3, (tool.spec.name, name)
        assert schema["type"] in ("string", "integer", "boolean", "array"), (tool.spec.name, name)


async def test_what_a_tool_does_not_take_is_refused_with_what_it_does(
    tools: Mapping[str, Tool], tmp_path: Path
) -> None:
    for name, tool in tools.items():
        said = refusal(await call(tool, tmp_path, **required(tool), nonsense="1"), name)
        assert all(one in said for one in parameters(tool)), name
        if required(tool):
            assert "is missing" in refusal(await call(tool, tmp_path), name)


async def test_a_value_of_the_wrong_kind_is_refused_with_a_way_on(
    tools: Mapping[str, Tool], tmp_path: Path
) -> None:
    for tool, name, _ in every(tools):
        given = {**required(tool), name: {"an": "object"}}
        refusal(await call(tool, tmp_path, **given), f"{tool.spec.name}.{name}")


async def test_however_much_a_tool_is_given_it_tells_a_bounded_result(
    tools: Mapping[str, Tool], tmp_path: Path
) -> None:
    for tool, name, schema in every(tools):
        others: dict[str, JsonValue] = {"integer": 10**14, "boolean": True, "array": [HUGE]}
        huge = others.get(str(schema["type"]), HUGE)
        outcome = await call(tool, tmp_path, **{**required(tool), name: huge})
        assert len(text_of(outcome)) <= MOST_TOLD, (tool.spec.name, name)
        assert len(str(outcome.details)) <= MOST_TOLD, (tool.spec.name, name)


@pytest.mark.parametrize("source", sorted(SOURCES.glob("*.py")), ids=lambda path: path.stem)
def test_every_refusal_of_a_tool_says_what_to_do_next(source: Path) -> None:
    made = (node for node in ast.walk(ast.parse(source.read_text())) if isinstance(node, ast.Call))
    errors = [one for one in made if isinstance(one.func, ast.Name) and one.func.id in ERRORS]
    bare = [one.lineno for one in errors if not any(given.arg == "hint" for given in one.keywords)]
    assert bare == []
