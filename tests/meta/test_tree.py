"""The readers of the tree see what the checks rely on."""

from tests.meta import tree

KNOWN = frozenset({"roost", "roost.core", "roost.core.keys"})


def targets(text: str, path: str = "src/roost/engine/inbox.py") -> list[tuple[str, bool]]:
    return [(found.target(KNOWN), found.lazy) for found in tree.module(path, text).imports()]


def test_a_module_is_named_as_it_is_imported() -> None:
    assert tree.module("src/roost/core/keys.py", "").name == "roost.core.keys"
    assert tree.module("src/roost/core/__init__.py", "").name == "roost.core"
    assert tree.module("tests/scale.py", "").name == "tests.scale"


def test_every_form_of_import_is_seen() -> None:
    assert targets("import roost.core.keys as k, os") == [("roost.core.keys", False), ("os", False)]
    assert targets("from roost.core import keys") == [("roost.core.keys", False)]
    assert targets("from roost.core.keys import parse") == [("roost.core.keys", False)]
    assert targets("from roost import core") == [("roost.core", False)]
    assert targets("if x:\n    import roost") == [("roost", False)]


def test_relative_imports_are_made_absolute() -> None:
    assert targets("from . import scheduler") == [("roost.engine", False)]
    assert targets("from ..core.keys import parse") == [("roost.core.keys", False)]
    assert targets("from ..core import keys", "src/roost/engine/__init__.py") == [("roost.core.keys", False)]
    assert targets("from .core import keys", "src/roost/__init__.py") == [("roost.core.keys", False)]


def test_imports_inside_functions_and_by_call_are_lazy() -> None:
    assert targets("def f():\n    if x:\n        import roost.core") == [("roost.core", True)]
    assert targets("class C:\n    async def f(self):\n        from roost import core") == [
        ("roost.core", True)
    ]
    assert targets("import_module('roost.core')") == [("roost.core", True)]
    assert targets("importlib.import_module(name)") == [("?", True)]
    assert targets("__import__('roost')") == [("roost", True)]


def test_the_readers_find_this_repository() -> None:
    assert "roost.core" in {found.name for found in tree.modules("src")}
    assert "pyproject.toml" in tree.text_files()
    assert not any(path.startswith(".venv/") for path in tree.text_files())
