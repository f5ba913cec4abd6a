"""The repository as values: its Python modules, what they import, and its text files."""

import ast
import gc
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

# `package.module:name`, by which a command names what it loads when it is asked for.
PLACE = re.compile(r"roost(\.\w+)+:\w+")
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One imported name. `lazy` says that it happens inside a function, or by a call."""

    module: str
    name: str
    line: int
    lazy: bool

    def target(self, known: frozenset[str]) -> str:
        """The module this reaches: `from a import b` is `a.b` where that is a module."""
        whole = f"{self.module}.{self.name}"
        return whole if whole in known else self.module


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A Python file by its path from the root, parsed."""

    path: str
    text: str
    syntax: ast.Module

    @property
    def name(self) -> str:
        """The dotted name it is imported by."""
        parts = PurePosixPath(self.path).with_suffix("").parts
        return ".".join(part for part in parts if part not in {"src", "__init__"})

    @property
    def is_package(self) -> bool:
        return self.path.endswith("__init__.py")

    def imports(self) -> tuple[Import, ...]:
        """Every import, those inside functions and those made by a call included."""
        return _imports_of(self)

    @property
    def package(self) -> str:
        return self.name if self.is_package else self.name.rpartition(".")[0]


def assert_none(findings: Iterable[str]) -> None:
    """Fail with one line a finding."""
    found = list(findings)
    assert not found, "\n".join(["", *found])


def module(path: str, text: str) -> Module:
    return Module(path=path, text=text, syntax=ast.parse(text, path))


@cache
def modules(folder: str) -> tuple[Module, ...]:
    """Every Python module under a folder of the repository."""
    # They are millions of nodes and all stay: looking for garbage among them takes longer than making them.
    gc.disable()
    found = tuple(
        module(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / folder).rglob("*.py"))
    )
    gc.freeze()
    gc.enable()
    return found


@cache
def text_files() -> dict[str, str]:
    """Every text file that is, or would be, in the repository, by its path from the root."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = sorted(name for name in listed.split("\0") if name and (ROOT / name).is_file())
    contents = ((path, (ROOT / path).read_bytes()) for path in paths)
    return {path: content.decode("utf-8") for path, content in contents if b"\0" not in content}


@cache
def _imports_of(module: Module) -> tuple[Import, ...]:
    return tuple(_imports(module.syntax, package=module.package, lazy=False))


def _imports(node: ast.AST, *, package: str, lazy: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import(names=names):
                for alias in names:
                    yield Import(module=alias.name, name="", line=child.lineno, lazy=lazy)
            case ast.ImportFrom(names=names):
                for alias in names:
                    origin = _absolute(child, package)
                    yield Import(module=origin, name=alias.name, line=child.lineno, lazy=lazy)
            case ast.Call(
                func=ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__")
            ):
                yield Import(module=_literal(child), name="", line=child.lineno, lazy=True)
            case ast.Constant(value=str(text)) if PLACE.fullmatch(text):
                yield Import(module=text.partition(":")[0], name="", line=child.lineno, lazy=False)
        inside = lazy or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from _imports(child, package=package, lazy=inside)


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parents = package.split(".")
    base = parents[: len(parents) - node.level + 1]
    return ".".join([*base, *([node.module] if node.module else [])])


def _literal(call: ast.Call) -> str:
    match call.args:
        case [ast.Constant(value=str(name)), *_]:
            return name
        case _:
            return "?"
