"""Numbered steps from an empty database to the current schema."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources.abc import Traversable

from roost.core.errors import StoreUnavailable


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    script: str


def steps_in(folder: Traversable) -> tuple[Migration, ...]:
    """The steps of a folder, each in a file whose name begins with its number."""
    steps = sorted((step for step in folder.iterdir() if step.name.endswith(".sql")), key=lambda s: s.name)
    return tuple(Migration(int(step.name[:4]), step.read_text(encoding="utf-8")) for step in steps)


def fingerprint(steps: Sequence[Migration]) -> str:
    """The same for the same steps."""
    return sha256("\0".join(step.script for step in steps).encode()).hexdigest()


def refuse_none(where: str, found: int) -> None:
    if not found:
        raise StoreUnavailable(
            f"there is no store of Roost in {where}", hint="name a file or a schema that holds one"
        )


def refuse_older(where: str, found: int, steps: Sequence[Migration]) -> None:
    """Raise for what is not up to date, be it that there is no store in it at all."""
    refuse_none(where, found)
    known = steps[-1].number
    if found < known:
        raise StoreUnavailable(
            f"the store was written by an older Roost (schema {found}, this one knows {known})",
            hint="run roost db migrate",
        )


def refuse_newer(found: int, steps: Sequence[Migration]) -> None:
    known = steps[-1].number
    if found > known:
        raise StoreUnavailable(
            f"the store was written by a newer Roost (schema {found}, this one knows {known})",
            hint="upgrade Roost",
        )
