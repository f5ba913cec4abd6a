"""A session and the work that hangs below it, as a decision sees it that reaches further than one session."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from roost.core.effects import Effects
from roost.core.keys import SessionKey
from roost.core.runs import Run
from roost.core.snapshots import RunSnapshot, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A session, and what goes on in it and below it.

    `below`: the sessions below it that have work.
    `runs`: the runs of all of them that have not ended.
    `batches`: the runs, ended or not, that spawned what the session is owed.
    `asked`: runs of all of them that yielded and still owe another session an answer.
    `task`: the run that the session itself was spawned with, while its end is owed.
    """

    session: Snapshot
    below: tuple[Snapshot, ...] = ()
    runs: tuple[RunSnapshot, ...] = ()
    batches: tuple[Run, ...] = ()
    asked: tuple[RunSnapshot, ...] = ()
    task: RunSnapshot | None = None

    def branch(self, key: SessionKey) -> "Tree | None":
        """The part that begins at one of the sessions below; None if that has no work."""
        top = next((one for one in self.below if one.key == key), None)
        if top is None:
            return None
        kept = {key}
        parents = {one.key: one.session.lineage.parent for one in self.below if one.session}
        while more := {child for child, parent in parents.items() if parent in kept and child not in kept}:
            kept |= more
        return Tree(
            session=top,
            below=tuple(one for one in self.below if one.key in kept - {key}),
            runs=tuple(run for run in self.runs if run.run.key in kept),
            asked=tuple(run for run in self.asked if run.run.key in kept),
        )


DecideTree: TypeAlias = Callable[[Tree], Effects]
