"""Which definitions of a tree no code in it uses.

A function, class or constant of a module is followed through imports; a method counts as used wherever an attribute of
its name is read, since nothing here knows the types. What only unused code uses is unused too.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tests.meta.tree import PLACE, Module

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# Whoever decorates calls what is decorated.
REGISTERING = frozenset({"field_validator", "model_validator", "app.command", "app.default"})


def unused(modules: Iterable[Module]) -> frozenset[str]:
    """The dotted names of the public definitions that nothing uses; of a class nobody uses, not its methods."""
    texts = {module.name: _Text.of(module) for module in modules}
    known = {name: text.name for text in texts.values() for name in text.definitions}
    dead: set[str] = set()
    while True:
        names, attributes = _used(texts, dead)
        alive = {
            name
            for name, module in known.items()
            if (name.rpartition(".")[2] in attributes if _is_method(name, module) else name in names)
        }
        more = {name for name in known.keys() - alive - dead if name.rpartition(".")[0] not in dead}
        if not more:
            return frozenset(name for name in dead if name.rpartition(".")[0] not in dead)
        dead |= more


def _is_method(name: str, module: str) -> bool:
    return "." in name.removeprefix(f"{module}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """One module: what it defines, and what its imported names stand for."""

    name: str
    body: list[ast.stmt]
    definitions: tuple[str, ...]
    aliases: Mapping[str, str]

    @classmethod
    def of(cls, module: Module) -> "_Text":
        return cls(
            name=module.name,
            body=module.syntax.body,
            definitions=(
                *_definitions(module.syntax.body, module.name),
                *_constants(module.syntax.body, module.name),
            ),
            aliases={
                found.asname or found.name: f"{node.module}.{found.name}"
                for node in ast.walk(module.syntax)
                if isinstance(node, ast.ImportFrom)
                for found in node.names
            },
        )

    def meant(self, dotted: str) -> str:
        """`keys.parse` as `roost.core.keys.parse`; a name of this module as one of it."""
        head, dot, rest = dotted.partition(".")
        return self.aliases.get(head, f"{self.name}.{head}") + dot + rest


def _definitions(body: list[ast.stmt], owner: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, DEFINITIONS) and not node.name.startswith("_") and not _registered(node):
            yield f"{owner}.{node.name}"
            if isinstance(node, ast.ClassDef):
                yield from _definitions(node.body, f"{owner}.{node.name}")


def _constants(body: list[ast.stmt], owner: str) -> Iterator[str]:
    for node in body:
        name = _assigned(node)
        if name is not None and not name.startswith("_"):
            yield f"{owner}.{name}"


def _assigned(node: ast.AST) -> str | None:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case _:
            return None


def _registered(node: Definition) -> bool:
    named = (one.func if isinstance(one, ast.Call) else one for one in node.decorator_list)
    return any(ast.unparse(name) in REGISTERING for name in named)


def _used(texts: Mapping[str, _Text], dead: set[str]) -> tuple[set[str], set[str]]:
    """The definitions, and the attributes of anything, that are read outside of what is dead."""
    names: set[str] = set()
    attributes: set[str] = set()
    for text in texts.values():
        for owner, dotted in _reads(text.body, text.name, dead):
            if "." in dotted:
                attributes.add(dotted.rpartition(".")[2])
            meant = dotted.replace(":", ".") if ":" in dotted else text.meant(dotted)
            name = _followed(meant, texts)
            # What calls itself is not used for that.
            if not f"{owner}.".startswith(f"{name}."):
                names.add(name)
    return names, attributes


def _followed(name: str, texts: Mapping[str, _Text]) -> str:
    """Where a name is defined that a package only passes on."""
    module, _, last = name.rpartition(".")
    while module in texts and last in texts[module].aliases:
        name = texts[module].aliases[last]
        module, _, last = name.rpartition(".")
    return name


def _reads(body: Iterable[ast.AST], owner: str, dead: set[str]) -> Iterator[tuple[str, str]]:
    """Every name and dotted name that is read, with the definition it is read in."""
    for node in body:
        name = node.name if isinstance(node, DEFINITIONS) else _assigned(node)
        within = owner if name is None else f"{owner}.{name}"
        if within in dead:
            continue
        match node:
            case ast.Name(ctx=ast.Load()) | ast.Attribute():
                yield owner, _dotted(node)
            case ast.Constant(value=str(word)) if word.isidentifier():
                # A type named before it is defined, or a name a module publishes.
                yield owner, word
            case ast.Constant(value=str(place)) if PLACE.fullmatch(place):
                yield owner, place
        yield from _reads(ast.iter_child_nodes(node), within, dead)


def _dotted(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            return f"{_dotted(value)}.{name}"
        case _:
            return "?"
