"""Nothing is kept that only its own test uses."""

from collections.abc import Mapping
from functools import cache

import pytest

from tests.meta import tree
from tests.meta.uses import unused

# Shipped for people who write plugins and tests; called from outside.
SHIPPED = ("roost.testing", "roost.channels.loopback")

# Used from outside: name → by whom.
OUTSIDE: Mapping[str, str] = {
    "roost.server.listening.Listener.capture_signals": "uvicorn, which calls it",
}


@cache
def found() -> frozenset[str]:
    return unused(module for module in tree.modules("src") if not module.name.startswith(SHIPPED))


def test_every_public_definition_has_a_user() -> None:
    tree.assert_none(f"{name}: nothing but tests uses it" for name in sorted(found() - OUTSIDE.keys()))


def test_every_definition_that_is_used_from_outside_is_used_nowhere_else() -> None:
    tree.assert_none(
        f"{name}: used, or gone; take it off the list" for name in sorted(OUTSIDE.keys() - found())
    )


def dead(**texts: str) -> set[str]:
    """What is dead in these modules; `pack` is a package that passes `f` of `a` on."""
    pack = tree.module("src/pack/__init__.py", "from a import f as passed")
    return set(unused([pack, *(tree.module(f"src/{name}.py", text) for name, text in texts.items())]))


@pytest.mark.parametrize(
    "user",
    [
        "from a import f\nf()",
        "from a import f as g\n_x: g",
        "from pack import passed\npassed()",
        "from a import f\n@f\ndef _g(): ...",
        "from a import f\n__all__ = ['f']",
        "from a import f\n@app.command\ndef g(): f()",
    ],
)
def test_a_use_is_seen_in_whatever_form(user: str) -> None:
    assert dead(a="def f(): ...", user=user) == set()


def test_a_use_through_its_module_is_seen() -> None:
    inner = tree.module("src/pack/a.py", "def f(): ...")
    assert unused([inner, tree.module("src/user.py", "from pack import a\na.f()")]) == set()


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("def f(): ...", {"a.f"}),
        ("def f(): f()", {"a.f"}),
        ("def f(): g()\ndef g(): ...", {"a.f", "a.g"}),
        ("class C:\n    def m(self): ...\nC()", {"a.C.m"}),
        ("class C:\n    def m(self): ...\n", {"a.C"}),
        ("def f(): ...\nx.f()", {"a.f"}),
        ("def f(): ...\n'f is a function'", {"a.f"}),
        ("A = 1", {"a.A"}),
        ("A: int = 1", {"a.A"}),
        ("A = 1\nB = A", {"a.A", "a.B"}),
        ("_A = 1", set()),
        ("A = 1\nprint(A)", set()),
        ("def _f(): ...", set()),
        ("class C:\n    def m(self): ...\nC().m()", set()),
        ("def f(): ...\nf()", set()),
        ("class C:\n    def copy(self) -> 'C': ...\n_x: 'C'\n_x.copy()", set()),
    ],
)
def test_what_nothing_uses_is_found_with_all_that_only_it_uses(text: str, gone: set[str]) -> None:
    assert dead(a=text) == gone


def test_an_import_alone_is_no_use() -> None:
    assert dead(a="def f(): ...", b="from a import f") == {"a.f"}
    assert dead(a="def f(): ...", b="from a import f\ndef g(): f()") == {"a.f", "b.g"}


def test_what_is_registered_by_its_decorator_is_used() -> None:
    assert dead(a="class C:\n    @field_validator('x')\n    def check(self): ...\nC()") == set()
