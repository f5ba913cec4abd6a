"""The manifest and the tests agree: what is met is cited, what is cited exists."""

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache

import pytest

from tests.meta import tree
from tests.requirements import REQUIREMENTS, Requirement, State

SOURCES = {"D": "sessions §16", "P": "promises §2", "F": "promises §3", "S": "promises §4"}
EXPECTED = (
    *(f"D{number:02}" for number in range(1, 69)),
    *(f"P{number}" for number in range(1, 31)),
    *(f"F{number}" for number in range(1, 13)),
    *(f"S{number}" for number in range(1, 27)),
)


def citations(modules: Iterable[tree.Module]) -> Mapping[str, str]:
    """Each cited id with one place that cites it; anything but a literal is cited as `?`."""
    return {
        name: f"{module.path}:{call.lineno}"
        for module in modules
        if "requirement" in module.text
        for call in ast.walk(module.syntax)
        if isinstance(call, ast.Call) and _is_mark(call.func)
        for name in _names(call)
    }


@cache
def cited() -> Mapping[str, str]:
    return citations(tree.modules("tests"))


def _is_mark(func: ast.expr) -> bool:
    match func:
        case ast.Attribute(attr="requirement", value=ast.Attribute(attr="mark") | ast.Name(id="mark")):
            return True
        case _:
            return False


def _names(call: ast.Call) -> Iterator[str]:
    for argument in call.args:
        match argument:
            case ast.Constant(value=str(name)):
                yield name
            case _:
                yield "?"
    if call.keywords or not call.args:
        yield "?"


def unproven(entries: Iterable[Requirement], cited: Collection[str]) -> Iterator[str]:
    for entry in entries:
        if entry.state is State.MET and entry.id not in cited:
            yield f"{entry.id} is met, but no test cites it"


def unknown(entries: Iterable[Requirement], cited: Mapping[str, str]) -> Iterator[str]:
    known = {entry.id for entry in entries}
    for name, place in cited.items():
        if name not in known:
            yield f"{place}: there is no requirement {name}"


def test_every_demand_promise_feature_and_defence_is_listed_once() -> None:
    assert tuple(entry.id for entry in REQUIREMENTS) == EXPECTED


def test_every_entry_says_what_where_from_and_who_owns_it() -> None:
    for entry in REQUIREMENTS:
        assert entry.source == SOURCES[entry.id[0]]
        assert 2 <= entry.issue <= 8
        assert entry.sentence.endswith(".")
        assert 20 < len(entry.sentence) <= 200
    assert len({entry.sentence for entry in REQUIREMENTS}) == len(REQUIREMENTS)


def test_every_met_requirement_is_cited_by_a_test() -> None:
    tree.assert_none(unproven(REQUIREMENTS, cited()))


def test_every_defence_is_tried_over_a_port() -> None:
    defences = (entry for entry in REQUIREMENTS if entry.id.startswith("S"))
    tree.assert_none(unproven(defences, citations(tree.modules("tests/e2e"))))


def test_every_citation_names_a_requirement() -> None:
    tree.assert_none(unknown(REQUIREMENTS, cited()))


def entry(name: str, state: State) -> Requirement:
    return Requirement(id=name, sentence="It holds.", source="sessions §16", state=state, issue=2)


def test_a_met_entry_without_a_citation_is_found() -> None:
    assert len(list(unproven([entry("D01", State.MET)], {}))) == 1
    assert list(unproven([entry("D01", State.MET)], {"D01": "a.py:1"})) == []
    assert list(unproven([entry("D01", State.PLANNED)], {})) == []


def test_a_citation_of_nothing_is_found() -> None:
    assert list(unknown([entry("D01", State.MET)], {"D1": "a.py:3"})) == [
        "a.py:3: there is no requirement D1"
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('@pytest.mark.requirement("D01", "P2")\ndef test_x(): ...', {"D01", "P2"}),
        ('pytestmark = [pytest.mark.requirement("S3")]', {"S3"}),
        ('class TestX:\n    @mark.requirement("F4")\n    async def test_x(self): ...', {"F4"}),
        ('x = pytest.param(1, marks=pytest.mark.requirement("D05"))', {"D05"}),
        ("@pytest.mark.requirement(NAME)\ndef test_x(): ...", {"?"}),
        ("@pytest.mark.requirement()\ndef test_x(): ...", {"?"}),
        ('"""pytest.mark.requirement("D09") in prose."""', set()),
        ('other.requirement("D09")', set()),
    ],
)
def test_citations_are_read_from_marks_and_from_nothing_else(text: str, expected: set[str]) -> None:
    assert set(citations([tree.module("tests/unit/test_x.py", text)])) == expected
