"""Every source module has a test module of the same name, and somebody uses it."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

import pytest

from tests.meta import tree

# Only declare values: there is nothing to run, and test_values.py holds them to the rules for values.
DECLARATIONS = frozenset(
    {
        "src/roost/core/channels.py",
        "src/roost/core/entries.py",
        "src/roost/core/events.py",
        "src/roost/core/topics.py",
        "src/roost/core/imports.py",
        "src/roost/core/shells.py",
        "src/roost/core/workload.py",
        "src/roost/protocol/events.py",
    }
)

# A source module, or a folder of them, that other tests stand for: the verbs are proven by the suite that all
# stores pass, wire formats and those who fake them by the suite that all models pass, the door by clients that go through it.
STAND_INS: Mapping[str, str] = {
    **{
        f"src/roost/models/library/{wire}.py": "tests/unit/models/library/test_model.py"
        for wire in ("anthropic", "google", "ollama", "responses")
    },
    **{
        f"src/roost/testing/fake_{wire}.py": "tests/contract/"
        for wire in ("anthropic", "google", "responses")
    },
    "src/roost/ports/": "tests/contract/",
    "src/roost/app/adapters.py": "tests/unit/app/test_providers.py",
    **{f"src/roost/cli/{part}.py": "tests/unit/cli/test_where.py" for part in ("here", "own")},
    "src/roost/stores/verbs/": "tests/contract/",
    **{
        f"src/roost/stores/{rows}.py": "tests/contract/test_store_jobs.py"
        for rows in ("memory/jobs", "sql/job_rows")
    },
    **{
        f"src/roost/stores/{rows}.py": "tests/contract/test_store_points.py"
        for rows in ("memory/points", "sql/point_rows")
    },
    "src/roost/stores/memory/deliveries.py": "tests/contract/test_store_outbox.py",
    "src/roost/protocol/convert/points.py": "tests/flows/test_points.py",
    "src/roost/protocol/convert/people.py": "tests/flows/test_pairing.py",
    "src/roost/protocol/families/": "tests/unit/protocol/test_methods.py",
    **{
        f"src/roost/server/{part}": "tests/flows/test_clients.py"
        for part in ("handlers/", "fanout.py", "house.py", "listeners.py", "snapshots.py", "telling.py")
    },
    "src/roost/server/asgi.py": "tests/e2e/test_gateway.py",
    "src/roost/server/http/": "tests/flows/test_http.py",
    "src/roost/engine/invoking.py": "tests/flows/test_http.py",
    "src/roost/engine/hooks.py": "tests/flows/test_hooks.py",
    "src/roost/protocol/convert/jobs.py": "tests/flows/test_jobs.py",
    "src/roost/cli/several.py": "tests/unit/cli/test_removing.py",
    **{
        f"src/roost/cli/{command}.py": "tests/unit/cli/test_commands.py"
        for command in (
            *(
                "agent",
                "agents",
                "asking",
                "bundles",
                "completion",
                "digging",
                "doctor",
                "explain",
                "happened",
                "imports",
            ),
            *("logs", "models", "send", "points", "sessions", "status", "usage"),
        )
    },
    "src/roost/app/serving.py": "tests/e2e/test_gateway.py",
    "src/roost/app/housing.py": "tests/unit/app/test_embedding.py",
    "src/roost/protocol/convert/devices.py": "tests/e2e/test_edge_devices.py",
    **{f"src/roost/server/{part}.py": "tests/e2e/test_edge_devices.py" for part in ("pairing", "signatures")},
    "src/roost/server/edge.py": "tests/e2e/test_edge_pages.py",
    **dict.fromkeys(DECLARATIONS, "tests/meta/test_values.py"),
}

# Started from outside, so nothing in the package imports them. What lies in `testing` is for plugin authors.
ENTRY_POINTS = frozenset(
    {
        "roost",
        "roost.__main__",
        "roost.channels.loopback",
        "roost.config.reference",
        "roost.ports",
        "roost.protocol.reference",
        "roost.server.http.openapi",
    }
)

# Parts whose user is not built yet: islands are allowed in the first while the second does not exist.
AWAITING: Mapping[str, str] = {}


def has_logic(module: tree.Module) -> bool:
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.If | ast.For | ast.Try)
        for node in module.syntax.body
    )


def runs_something(module: tree.Module) -> bool:
    """A function or method with more than a docstring or `...` in it, or a lambda."""
    return any(
        isinstance(node, ast.Lambda)
        or (isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not all(map(_is_bare, node.body)))
        for node in ast.walk(module.syntax)
    )


def _is_bare(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def mirror_of(path: str) -> str:
    """`src/roost/core/keys.py` is tested by `tests/unit/core/test_keys.py`."""
    inside = PurePosixPath(path).relative_to("src/roost")
    return str(PurePosixPath("tests/unit") / inside.parent / f"test_{inside.stem.strip('_')}.py")


def unmirrored(
    sources: Iterable[tree.Module], tests: Iterable[tree.Module], stand_ins: Mapping[str, str]
) -> Iterator[str]:
    testing = {module.path for module in tests if "def test_" in module.text or "TestCase" in module.text}
    for module in sources:
        wanted = {
            mirror_of(module.path),
            *(test for part, test in stand_ins.items() if module.path.startswith(part)),
        }
        named = not PurePosixPath(module.path).stem.startswith("__")
        if (named or has_logic(module)) and not any(path.startswith(tuple(wanted)) for path in testing):
            yield f"{module.path}: no test in {mirror_of(module.path)}"


def islands(
    modules: Iterable[tree.Module], entry_points: frozenset[str], awaiting: Mapping[str, str]
) -> Iterator[str]:
    modules = tuple(modules)
    known = frozenset(module.name for module in modules)
    imported = {
        found.target(known)
        for module in modules
        for found in module.imports()
        if found.target(known) != module.name
    }
    excused = tuple(f"{part}." for part, user in awaiting.items() if user not in known)
    for module in modules:
        shipped = module.is_package or module.name in entry_points or module.name.startswith("roost.testing.")
        if not (shipped or module.name in imported or f"{module.name}.".startswith(excused)):
            yield f"{module.path}: no module imports it"


def test_every_source_module_has_its_test_module() -> None:
    tree.assert_none(unmirrored(tree.modules("src"), tree.modules("tests"), STAND_INS))


def test_every_stand_in_is_for_a_module_that_exists() -> None:
    paths = [module.path for module in tree.modules("src")]
    assert all(any(path.startswith(part) for path in paths) for part in STAND_INS)


def test_no_module_is_an_island() -> None:
    tree.assert_none(islands(tree.modules("src"), ENTRY_POINTS, AWAITING))


def test_what_is_listed_as_a_declaration_runs_nothing() -> None:
    tree.assert_none(
        f"{module.path} runs something: give it a test of its own"
        for module in tree.modules("src")
        if module.path in DECLARATIONS and runs_something(module)
    )


KEYS = tree.module("src/roost/core/keys.py", "def parse(): ...")
KEYS_TEST = tree.module("tests/unit/core/test_keys.py", "def test_a_key_reads_back(): ...")


def test_a_module_without_its_test_is_found() -> None:
    assert len(list(unmirrored([KEYS], [], {}))) == 1
    assert len(list(unmirrored([KEYS], [tree.module(KEYS_TEST.path, "")], {}))) == 1
    assert len(list(unmirrored([KEYS], [tree.module("tests/unit/test_keys.py", KEYS_TEST.text)], {}))) == 1
    assert list(unmirrored([KEYS], [KEYS_TEST], {})) == []


def test_a_listed_stand_in_counts_as_the_test() -> None:
    contract = tree.module("tests/contract/test_store.py", "def test_a_store_keeps_its_word(): ...")
    assert list(unmirrored([KEYS], [contract], {KEYS.path: contract.path})) == []
    assert list(unmirrored([KEYS], [contract], {"src/roost/core/": "tests/contract/"})) == []
    assert len(list(unmirrored([KEYS], [], {KEYS.path: contract.path}))) == 1
    assert len(list(unmirrored([KEYS], [contract], {"src/roost/stores/": "tests/contract/"}))) == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("class A:\n    x: int = 1", False),
        ("class P(Protocol):\n    def f(self) -> int:\n        'What it does.'\n        ...", False),
        ("def f():\n    return 1", True),
        ("class A:\n    @property\n    def x(self):\n        return 1", True),
        ("f = lambda: 1", True),
    ],
)
def test_a_declaration_is_told_from_what_runs(text: str, *, found: bool) -> None:
    assert runs_something(tree.module("a.py", text)) is found


@pytest.mark.parametrize(
    ("text", "count"), [("'''Words.'''\n__version__ = '1'\nfrom a import b", 0), ("def f(): ...", 1)]
)
def test_a_package_file_needs_a_test_only_when_it_holds_logic(text: str, count: int) -> None:
    package = tree.module("src/roost/stores/__init__.py", text)
    assert len(list(unmirrored([package], [], {}))) == count


def test_the_entry_point_is_mirrored_without_its_underscores() -> None:
    assert mirror_of("src/roost/__main__.py") == "tests/unit/test_main.py"


def test_a_module_nobody_imports_is_found() -> None:
    user = tree.module("src/roost/core/routing.py", "from roost.core import errors")
    errors = tree.module("src/roost/core/errors.py", "import roost.core.errors")
    assert list(islands([user, errors], frozenset({"roost.core.routing"}), {})) == []
    assert list(islands([errors], frozenset(), {})) == [f"{errors.path}: no module imports it"]


def test_a_part_is_excused_only_until_its_user_exists() -> None:
    engine = tree.module("src/roost/engine/__init__.py", "")
    awaiting = {"roost.core": "roost.engine"}
    assert list(islands([KEYS], frozenset(), awaiting)) == []
    assert len(list(islands([KEYS, engine], frozenset(), awaiting))) == 1


def test_what_is_shipped_for_plugin_authors_is_no_island() -> None:
    assert list(islands([tree.module("src/roost/testing/clock.py", "")], frozenset(), {})) == []
