"""Which part may import which: the table in docs/architecture.md, imports inside functions included."""

import re
from collections.abc import Iterable, Iterator, Mapping

import pytest

from tests.meta import tree

Table = Mapping[str, frozenset[str]]

# Values and arithmetic on them: nothing that reads a clock, a file, the network or chance.
CORE_STDLIB = frozenset({
    "abc", "base64", "bisect", "collections", "collections.abc", "dataclasses", "datetime", "decimal", "difflib",
    "enum", "fnmatch.fnmatchcase", "fractions", "functools", "hashlib", "heapq", "hmac", "html", "ipaddress", "itertools", "json", "math", "operator", "re", "string",
    "textwrap", "types", "typing", "unicodedata", "urllib.parse", "uuid.UUID", "uuid.uuid5",
})  # fmt: skip
# A library that does the same, and nothing else: it reckons with cron expressions (decision 34).
CORE_LIBRARIES = frozenset({"cronsim"})

# The only places where an import may wait for its first use: path → what it waits for. `app` may always.
LAZY_IMPORTS: Mapping[str, frozenset[str]] = {
    "src/roost/server/signatures.py": frozenset(
        {"cryptography.exceptions", "cryptography.hazmat.primitives.asymmetric.ed25519"}
    ),
    "src/roost/__init__.py": frozenset({"roost.app.embedding", "roost.app.replaying", "roost.client"}),
    "src/roost/__main__.py": frozenset({"roost.cli"}),
    "src/roost/cli/here.py": frozenset({"roost.config.source"}),
    "src/roost/cli/own.py": frozenset({"roost.app.finding"}),
    "src/roost/cli/serve.py": frozenset({"roost.client.trust"}),
    "src/roost/cli/show.py": frozenset({"rich.console", "roost.cli.drawing"}),
    "src/roost/cli/where.py": frozenset({"roost.cli.own"}),
    "src/roost/egress.py": frozenset({"aiohttp"}),
    "src/roost/client/resuming.py": frozenset({"roost.protocol.methods"}),
}


def layer_table(markdown: str) -> Table:
    """Read the table headed `part | may import`."""
    _, _, rows = markdown.partition("| part | may import |\n|---|---|\n")
    cells = [row.strip("|").split("|") for row in rows.partition("\n\n")[0].splitlines()]
    named = {part: allowed.strip() for parts, allowed in cells for part in _words(parts)}
    everything = frozenset(named) - {"roost", "__main__"}
    return {part: _allowed(text, everything) for part, text in named.items()}


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z_]+", text))


def _allowed(text: str, everything: frozenset[str]) -> frozenset[str]:
    if text == "nothing of Roost":
        return frozenset()
    if text.startswith("everything but "):
        return everything - _words(text.removeprefix("everything but "))
    return _words(text)


def part_of(name: str) -> str:
    """`roost.core.keys` is of part `core`; the package itself is of part `roost`."""
    head, _, rest = name.partition(".")
    return rest.partition(".")[0] or head


def broken_layers(modules: Iterable[tree.Module], table: Table) -> Iterator[str]:
    modules = tuple(modules)
    known = frozenset(module.name for module in modules)
    for module in modules:
        part = part_of(module.name)
        if part not in table:
            yield f"{module.path}: the layer table has no part {part}"
            continue
        for found in module.imports():
            target = found.target(known)
            if target.partition(".")[0] == "roost" and part_of(target) not in table[part] | {part}:
                yield f"{module.path}:{found.line}: {part} may not import {target}"


def impure_imports(modules: Iterable[tree.Module], allowed: frozenset[str]) -> Iterator[str]:
    for module in modules:
        for found in module.imports():
            outside = found.module.partition(".")[0] != "roost"
            if outside and found.target(allowed) not in allowed:
                yield f"{module.path}:{found.line}: core may not import {found.module}"


def lazy_imports(modules: Iterable[tree.Module], listed: Mapping[str, frozenset[str]]) -> Iterator[str]:
    for module in modules:
        allowed = listed.get(module.path, frozenset())
        for found in module.imports():
            if found.lazy and part_of(module.name) != "app" and found.module not in allowed:
                yield f"{module.path}:{found.line}: {found.module} is imported inside a function"


def unused_exceptions(modules: Iterable[tree.Module], listed: Mapping[str, frozenset[str]]) -> Iterator[str]:
    used = {(module.path, found.module) for module in modules for found in module.imports() if found.lazy}
    for path, targets in listed.items():
        for target in sorted(targets):
            if (path, target) not in used:
                yield f"{path}: {target} is listed as a lazy import and is none"


def core() -> list[tree.Module]:
    return [module for module in tree.modules("src") if part_of(module.name) == "core"]


def architecture() -> Table:
    return layer_table(tree.text_files()["docs/architecture.md"])


def test_no_part_imports_what_the_table_does_not_give_it() -> None:
    tree.assert_none(broken_layers(tree.modules("src"), architecture()))


def test_core_imports_only_values_and_arithmetic_on_them() -> None:
    tree.assert_none(impure_imports(core(), CORE_STDLIB | CORE_LIBRARIES))


def test_imports_wait_for_first_use_only_where_listed() -> None:
    tree.assert_none(lazy_imports(tree.modules("src"), LAZY_IMPORTS))
    tree.assert_none(unused_exceptions(tree.modules("src"), LAZY_IMPORTS))


def test_the_architecture_page_names_every_part_whose_imports_may_wait() -> None:
    _, _, after = tree.text_files()["docs/architecture.md"].partition("Some wait for their first use: ")
    named = frozenset(re.findall(r"`([a-z_]+)`", after.partition("The test")[0]))
    assert named == {"app", *(part_of(tree.module(path, "").name) for path in LAZY_IMPORTS)}


def test_the_guide_shows_the_same_table_as_the_architecture_page() -> None:
    assert layer_table(tree.text_files()["AGENTS.md"]) == architecture()


def test_the_table_says_what_the_design_says() -> None:
    table = architecture()
    assert table["core"] == frozenset()
    assert table["engine"] == {"core", "ports"}
    assert table["models"] == {"core", "ports", "egress"}
    assert all(table[part] == {"core", "ports"} for part in ("stores", "channels", "tools", "scanners"))
    assert table["testing"].isdisjoint({"cli", "app"})
    assert {"engine", "stores"} <= table["app"]
    assert table["app"].isdisjoint({"cli", "testing"})


SAMPLE_TABLE = layer_table(
    "| part | may import |\n|---|---|\n| core | nothing of Roost |\n| stores, tools | core |\n"
    "| app, `roost/__init__` | everything but testing |\n| testing | everything but app |\n\nText | after |"
)


def sample(path: str, text: str) -> list[str]:
    modules = [
        tree.module(f"src/roost/{name}/__init__.py", "") for name in ("core", "stores", "tools", "testing")
    ]
    return list(broken_layers([*modules, tree.module(f"src/roost/{path}", text)], SAMPLE_TABLE))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("core/keys.py", "from roost.stores import sqlite"),
        ("core/keys.py", "def f():\n    import roost.tools.exec"),
        ("core/keys.py", "from roost import __version__"),
        ("stores/sqlite.py", "from roost import tools"),
        ("stores/sqlite.py", "from ..tools.exec import run"),
        ("stores/sqlite.py", "import importlib\nimportlib.import_module('roost.tools')"),
        ("app.py", "from roost.testing import fakes"),
        ("__init__.py", "from roost.testing import fakes"),
        ("testing/fakes.py", "import roost.app"),
        ("strange/thing.py", ""),
    ],
)
def test_an_import_against_the_table_is_found(path: str, text: str) -> None:
    assert len(sample(path, text)) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("core/keys.py", "import re\nfrom roost.core import errors"),
        (
            "stores/sqlite.py",
            "import apsw\nfrom roost.core.keys import parse\nfrom roost.stores.sql import load",
        ),
        ("app.py", "from roost.stores.sqlite import open\nfrom roost.tools import exec"),
        ("__init__.py", "from roost.app import open"),
        ("testing/fakes.py", "from roost.stores.sqlite import open"),
    ],
)
def test_an_import_within_the_table_passes(path: str, text: str) -> None:
    assert sample(path, text) == []


@pytest.mark.parametrize(
    "text",
    [
        "import os",
        "import uuid",
        "from uuid import uuid4",
        "from os import path",
        "def f():\n    import random",
    ],
)
def test_an_impure_import_in_core_is_found(text: str) -> None:
    assert len(list(impure_imports([tree.module("src/roost/core/keys.py", text)], CORE_STDLIB))) == 1


def test_values_of_the_standard_library_pass_in_core() -> None:
    text = "import re\nfrom collections.abc import Mapping\nfrom urllib import parse\nfrom uuid import uuid5\nfrom roost.core import errors"
    assert list(impure_imports([tree.module("src/roost/core/keys.py", text)], CORE_STDLIB)) == []


def test_a_lazy_import_needs_its_place_on_the_list() -> None:
    store = tree.module("src/roost/stores/postgres.py", "def f():\n    import asyncpg")
    assert len(list(lazy_imports([store], {}))) == 1
    assert list(lazy_imports([store], {store.path: frozenset({"asyncpg"})})) == []
    assert list(lazy_imports([tree.module("src/roost/app/providers.py", store.text)], {})) == []
    assert len(list(unused_exceptions([store], {store.path: frozenset({"apsw"})}))) == 1
