"""Everything that follows from the end of a run, in one decision."""

from dataclasses import replace

from roost.core import a2a, children, parking, postings
from roost.core.effects import Effects, EndRun
from roost.core.endings import Ending
from roost.core.queueing import hand_over
from roost.core.snapshots import RunSnapshot


def finish(snapshot: RunSnapshot, ending: Ending) -> Effects:
    """End the run; what it did not take waits for the next one, and whoever waits for it is served.

    A run that yields with nothing to wait for has ended: nobody would ever go on with it.
    """
    if ending.outcome.yielded and not children.waits(snapshot, ending.outcome):
        ending = replace(ending, outcome=replace(ending.outcome, yielded=False))
    effects = (
        EndRun(run_id=snapshot.run.id, outcome=ending.outcome),
        *hand_over(snapshot.session, snapshot.run, ending.outcome),
        *a2a.advance(snapshot, ending),
        *children.child_end(snapshot, ending),
        *children.yield_end(snapshot, ending),
        *postings.fired(snapshot, ending),
        *parking.let_down(snapshot.run, ending.outcome),
    )
    return (*effects, *children.discarded(snapshot, effects))
