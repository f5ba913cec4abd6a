"""Names that say nothing, modules, functions and classes that grew too large, rules lifted without a reason."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

import pytest

from tests.meta import tree

MODULE_LINES = 400
FUNCTION_LINES = 60
CLASS_FIELDS = 15
EMPTY_WORDS = re.compile(r"(^|_)(enhanced|unified|improved|advanced)(_|$)|_(old|v\d+)$")
# A function may well act on what is new; a module or a class that is called new has a twin.
EMPTY_NOUNS = re.compile(f"{EMPTY_WORDS.pattern}|_new$|^new_")
EMPTY_MODULES = re.compile(rf"{EMPTY_NOUNS.pattern}|(^|_)(utils?|helpers?|misc|common|shared|stuff)(_|$)")
EXCEPTION = re.compile(r"#\s*(noqa|pragma)\b")
REASONED = re.compile(r"#\s*(noqa: [A-Z]+\d+(, [A-Z]+\d+)*|pragma: no (cover|branch))\s+— \w")


def everything() -> tuple[tree.Module, ...]:
    return (*tree.modules("src"), *tree.modules("tests"), *tree.modules("bench"))


def definitions(module: tree.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    for node in statements(module.syntax):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Everything below that can hold a definition; expressions, which are the most by far, are not entered."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child
            yield from statements(child)


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def empty_names(modules: Iterable[tree.Module]) -> Iterator[str]:
    for module in modules:
        for part in PurePosixPath(module.path).with_suffix("").parts:
            if EMPTY_MODULES.search(part):
                yield f"{module.path}: {part} says nothing"
        for node in definitions(module):
            pattern = EMPTY_NOUNS if isinstance(node, ast.ClassDef) else EMPTY_WORDS
            if not node.name.startswith("test_") and pattern.search(snake(node.name)):
                yield f"{module.path}:{node.lineno}: {node.name} says nothing"


def too_long(modules: Iterable[tree.Module]) -> Iterator[str]:
    for module in modules:
        lines = module.text.count("\n")
        if lines > MODULE_LINES:
            yield f"{module.path}: {lines} lines, {MODULE_LINES} are allowed"
        for node in definitions(module):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if not isinstance(node, ast.ClassDef) and length > FUNCTION_LINES:
                yield f"{module.path}:{node.lineno}: {node.name} has {length} lines, {FUNCTION_LINES} are allowed"


def too_wide(modules: Iterable[tree.Module]) -> Iterator[str]:
    for module in modules:
        for node in definitions(module):
            fields = [
                line for line in node.body if isinstance(line, ast.AnnAssign) and not _is_class_variable(line)
            ]
            if isinstance(node, ast.ClassDef) and len(fields) > CLASS_FIELDS:
                yield f"{module.path}:{node.lineno}: {node.name} has {len(fields)} fields, {CLASS_FIELDS} are allowed"


def _is_class_variable(line: ast.AnnAssign) -> bool:
    return "ClassVar" in ast.unparse(line.annotation)


def unreasoned(modules: Iterable[tree.Module]) -> Iterator[str]:
    for module in modules:
        for number, line in enumerate(module.text.splitlines(), start=1):
            if EXCEPTION.search(line) and not REASONED.search(line):
                yield f"{module.path}:{number}: say which rule is lifted and why (`# noqa: X1 — why`)"


def test_no_name_is_an_adjective_or_a_drawer() -> None:
    tree.assert_none(empty_names(everything()))


def test_modules_and_functions_stay_within_their_budgets() -> None:
    tree.assert_none(too_long(everything()))


def test_no_class_holds_more_fields_than_one_thing_has() -> None:
    tree.assert_none(too_wide(everything()))


def test_every_lifted_rule_says_why() -> None:
    here = PurePosixPath(__file__).name
    tree.assert_none(unreasoned(module for module in everything() if not module.path.endswith(here)))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/roost/core/utils.py", ""),
        ("src/roost/core/key_helpers.py", ""),
        ("src/roost/common/keys.py", ""),
        ("src/roost/core/keys_v2.py", ""),
        ("src/roost/core/keys_old.py", ""),
        ("src/roost/core/keys.py", "class EnhancedKey: ..."),
        ("src/roost/core/keys_new.py", ""),
        ("src/roost/core/keys.py", "class KeyNew: ..."),
        ("src/roost/core/keys.py", "def parse_v2(): ..."),
        ("src/roost/core/keys.py", "class C:\n    def unified_parse(self): ..."),
    ],
)
def test_a_name_that_says_nothing_is_found(path: str, text: str) -> None:
    assert len(list(empty_names([tree.module(path, text)]))) == 1


@pytest.mark.parametrize(
    "text", ["def open_new(): ...", "def test_the_session_is_old(): ...", "class Renewed: ..."]
)
def test_a_name_that_says_something_passes(text: str) -> None:
    assert list(empty_names([tree.module("src/roost/core/renewal.py", text)])) == []


def test_a_module_or_function_over_budget_is_found() -> None:
    body = "    x = 1\n" * FUNCTION_LINES
    nested = "        x = 1\n" * FUNCTION_LINES
    assert list(too_long([tree.module("a.py", "x = 1\n" * MODULE_LINES)])) == []
    assert len(list(too_long([tree.module("a.py", "x = 1\n" * (MODULE_LINES + 1))]))) == 1
    assert len(list(too_long([tree.module("a.py", f"def f():\n{body}")]))) == 1
    assert len(list(too_long([tree.module("a.py", f"class C:\n    async def f(self):\n{nested}")]))) == 1
    assert list(too_long([tree.module("a.py", f"class C:\n{body}")])) == []


def test_a_class_with_too_many_fields_is_found() -> None:
    fields = "".join(f"    f{number}: int\n" for number in range(CLASS_FIELDS))
    assert list(too_wide([tree.module("a.py", f"class C:\n{fields}    k: ClassVar[int] = 1\n")])) == []
    assert len(list(too_wide([tree.module("a.py", f"class C:\n{fields}    one_more: int\n")]))) == 1
    assert list(too_wide([tree.module("a.py", f"def f():\n{fields}    local: int\n")])) == []


@pytest.mark.parametrize("comment", ["# noqa", "# noqa: S101", "#noqa:S101 — why", "# pragma: no cover"])
def test_a_lifted_rule_without_a_reason_is_found(comment: str) -> None:
    assert len(list(unreasoned([tree.module("a.py", f"x = 1  {comment}\n")]))) == 1


@pytest.mark.parametrize("comment", ["# noqa: S101 — an invariant", "# noqa: S101, B008 — why", "# a remark"])
def test_a_lifted_rule_with_a_reason_passes(comment: str) -> None:
    assert list(unreasoned([tree.module("a.py", f"x = 1  {comment}\n")])) == []
