"""The tree inside a transcript file: which lines are the conversation, and which were left behind.

A line's parent is the nearest line before it that has that id, so no file can make a cycle. Ids that are
missing, doubled or ahead are reported and cost nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from roost.core.entries import EntryDraft
from roost.core.messages import Notice

LEAF_KIND = "leaf"
UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class Branch:
    """Positions of lines, oldest first, and the position they go on from."""

    base: int | None
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Branches:
    """Every line is in exactly one branch. `problems` are for the import's report."""

    active: tuple[int, ...]
    others: tuple[Branch, ...]
    problems: tuple[str, ...]


def branches(lines: Sequence[EntryDraft], numbers: Sequence[int] | None = None) -> Branches:
    """The active path (to the last line, or to where a last leaf marker points) and the other branches.

    `numbers` are what the problems call the lines, if not by their place here.
    """
    parents, problems = _parents(lines, numbers or range(1, len(lines) + 1))
    taken = [False] * len(lines)
    leaf = _leaf(lines)
    if leaf == UNKNOWN:
        problems.append("the leaf marker points to no line")
        leaf = len(lines) - 1
    active = _path(leaf, parents, taken)
    has_child = {parent for parent in parents if parent is not None}
    others = []
    for tip in range(len(lines) - 1, -1, -1):
        if tip not in has_child and not taken[tip]:
            path = _path(tip, parents, taken)
            others.append(Branch(base=parents[path[0]], lines=path))
    # Taken newest tip first, a line belongs to the newest branch that holds it; they are given in file order.
    others.sort(key=lambda branch: branch.lines[0])
    return Branches(active, tuple(others), tuple(problems))


def _parents(lines: Sequence[EntryDraft], numbers: Sequence[int]) -> tuple[list[int | None], list[str]]:
    seen: dict[str, int] = {}
    parents: list[int | None] = []
    problems: list[str] = []
    for position, line in enumerate(lines):
        parents.append(None if line.parent_id is None else seen.get(line.parent_id))
        if line.parent_id is not None and parents[-1] is None:
            problems.append(f"line {numbers[position]}: its parent is not before it")
        if line.id in seen:
            problems.append(f"line {numbers[position]}: its id is used before")
        seen[line.id] = position
    return parents, problems


def _leaf(lines: Sequence[EntryDraft]) -> int | None:
    """Where the conversation stands; None before its first line, UNKNOWN if a marker names no line."""
    if not lines:
        return None
    last = lines[-1].body
    if not (isinstance(last, Notice) and last.kind == LEAF_KIND):
        return len(lines) - 1
    target = last.data.get("targetId")
    if target is None:
        return None
    return next((place for place in range(len(lines) - 2, -1, -1) if lines[place].id == target), UNKNOWN)


def _path(tip: int | None, parents: Sequence[int | None], taken: list[bool]) -> tuple[int, ...]:
    path = []
    while tip is not None and not taken[tip]:
        taken[tip] = True
        path.append(tip)
        tip = parents[tip]
    return tuple(reversed(path))
