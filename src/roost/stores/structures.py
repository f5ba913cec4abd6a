"""Whether a store is made of what the steps of this Roost make: its tables and indexes, each with how it is made."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from roost.core.errors import StoreCorrupt

Structure: TypeAlias = Mapping[str, str]
_NAMED = 5
# One that is unique is not.
_HARMLESS = "CREATE INDEX "


def refuse_unlike(where: str, version: int, expected: Structure, present: Structure) -> None:
    """Raise for a store that says it has taken the same steps, and was made otherwise: a statement would fail sooner or
    later, or mean something else. What is missing altogether is damage; an index more, which its owner made, is neither."""
    unlike = sorted(
        name
        for name, made in present.items()
        if expected.get(name) != made and (name in expected or not made.startswith(_HARMLESS))
    )
    if unlike:
        missing = sorted(expected.keys() - present.keys())
        raise StoreCorrupt(
            f"{where} is of another build of Roost: it says schema {version} and differs from that in"
            f" {_listed(unlike + missing)}",
            hint="let the build that made it export what it holds, and let this one begin with a new store",
        )


def refuse_incomplete(where: str, expected: Structure, present: Structure) -> None:
    missing = sorted(expected.keys() - present.keys())
    if missing:
        raise StoreCorrupt(
            f"{where} is damaged: it lacks {_listed(missing)}",
            hint="run `roost repair`, or restore a backup: `roost db restore FILE`",
        )


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
