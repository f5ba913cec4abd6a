"""A step of the schema that a release had stays as it is: stores were made with it."""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from types import MappingProxyType

import roost
from tests.meta.tree import ROOT

# path below src/roost/stores → SHA-256. A release adds its own.
RELEASED: Mapping[str, str] = MappingProxyType({})

STORES = ROOT / "src" / "roost" / "stores"
STEPS = tuple(sorted(str(path.relative_to(STORES)) for path in STORES.glob("*/migrations/*.sql")))


def strayed(version: str, released: Mapping[str, str]) -> Iterator[str]:
    """Steps that are not what a release had, and those of a release that are not listed."""
    for step in sorted({*released, *(() if ".dev" in version else STEPS)}):
        path = STORES / step
        if not path.exists() or sha256(path.read_bytes()).hexdigest() != released.get(step):
            yield step


def test_a_released_step_is_never_rewritten_and_a_release_lists_all_it_has() -> None:
    assert list(strayed(roost.__version__, RELEASED)) == []


def test_a_step_that_was_rewritten_taken_away_or_not_listed_is_found() -> None:
    listed = {step: sha256((STORES / step).read_bytes()).hexdigest() for step in STEPS}
    assert len(listed) >= 2
    assert list(strayed("0.1.0", listed)) == []
    assert list(strayed("0.1.0", {})) == list(STEPS)
    assert list(strayed("0.2.0.dev0", {})) == []
    assert list(strayed("0.2.0.dev0", listed | {STEPS[0]: "another"})) == [STEPS[0]]
    assert list(strayed("0.2.0.dev0", listed | {"sqlite/migrations/0000_gone.sql": "x"})) == [
        "sqlite/migrations/0000_gone.sql"
    ]
