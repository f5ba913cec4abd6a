"""Values are values: what core and protocol hand out cannot be changed after it was made."""

import ast
from collections.abc import Iterable, Iterator

import pytest

from tests.meta import tree

PURE = ("roost.core.", "roost.protocol.")
WANTED = ("frozen", "slots")


def changeable(modules: Iterable[tree.Module]) -> Iterator[str]:
    for module in modules:
        for node in ast.walk(module.syntax):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                for decorator in node.decorator_list:
                    missing = _missing(decorator)
                    if missing:
                        yield f"{module.path}:{node.lineno}: dataclass {node.name} lacks {', '.join(missing)}"


def _missing(decorator: ast.expr) -> list[str]:
    match decorator:
        case ast.Name(id="dataclass") | ast.Attribute(attr="dataclass"):
            return list(WANTED)
        case ast.Call(func=ast.Name(id="dataclass") | ast.Attribute(attr="dataclass"), keywords=keywords):
            given = {word.arg for word in keywords if ast.unparse(word.value) == "True"}
            return [word for word in WANTED if word not in given]
        case _:
            return []


def test_every_dataclass_of_the_pure_parts_is_frozen_and_slotted() -> None:
    tree.assert_none(changeable(module for module in tree.modules("src") if module.name.startswith(PURE)))


@pytest.mark.parametrize(
    "decorator",
    [
        "@dataclass",
        "@dataclasses.dataclass",
        "@dataclass()",
        "@dataclass(slots=True)",
        "@dataclass(frozen=False, slots=True)",
    ],
)
def test_a_dataclass_that_can_be_changed_is_found(decorator: str) -> None:
    assert len(list(changeable([tree.module("a.py", f"{decorator}\nclass Key:\n    name: str\n")]))) == 1


def test_a_scratch_pad_inside_a_module_may_change() -> None:
    assert (
        list(changeable([tree.module("a.py", "@dataclass(slots=True)\nclass _Draft:\n    name: str\n")]))
        == []
    )


@pytest.mark.parametrize(
    "decorator", ["@dataclass(frozen=True, slots=True, kw_only=True)", "@final", "@total_ordering()"]
)
def test_a_frozen_dataclass_and_any_other_class_pass(decorator: str) -> None:
    assert list(changeable([tree.module("a.py", f"{decorator}\nclass Key:\n    name: str\n")])) == []
