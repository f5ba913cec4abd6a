"""The end of work on somebody's word: what is under way is asked to end, what waits ends at once.

A child that is stopped is settled as killed in the same decision, so that nobody goes on because of its end.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

from roost.core import a2a
from roost.core.addresses import Address
from roost.core.announce import Stats, announce_text, stats_of
from roost.core.burying import Lost, bury
from roost.core.children import child_end, go_on, told_entry
from roost.core.effects import (
    AcknowledgeCompletion,
    AppendEntries,
    Effects,
    EndRun,
    RequestStop,
    SettleCompletion,
)
from roost.core.endings import Ending, completes
from roost.core.exchanges import Completion, CompletionStatus
from roost.core.inbound import Inbound
from roost.core.keys import SessionKey
from roost.core.messages import Usage
from roost.core.parking import let_down
from roost.core.runs import Outcome, Run, RunState, StopRequest
from roost.core.snapshots import Labour, RunSnapshot, Snapshot
from roost.core.trees import Tree

# Nothing was found by a child that stands so.
FRUITLESS = frozenset({CompletionStatus.PENDING, CompletionStatus.KILLED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """`runs` are under way and must hear of it after the commit; `cleared` waited and will not be answered."""

    effects: Effects
    runs: tuple[str, ...]
    ended: int
    children: int
    cleared: tuple[Inbound, ...]

    @property
    def nothing(self) -> bool:
        return not (self.runs or self.ended or self.children or self.cleared)


def stop(tree: Tree, request: StopRequest, *, told: Address | None = None) -> Stopped:
    """Stop a session and all below it. Whoever waits at `told` hears of it there; others by a notice."""
    snapshots = (tree.session, *tree.below)
    inputs = tuple(lost for one in snapshots for lost in _waiting(one))
    return _stopped(tree, request, runs=tree.runs, inputs=inputs, told=told)


def named(tree: Tree, stopped: Stopped) -> tuple[str, ...]:
    """The runs that were under way or waited when all of it was stopped."""
    return () if stopped.nothing else tuple(one.run.id for one in tree.runs)


def stop_below(tree: Tree, request: StopRequest) -> Stopped:
    """Stop what hangs below a session; the session itself goes on, and hears of a child that has ended: by itself, if it is
    about to tell of it, or else in the turn that waits for it, which goes on without those that have not."""
    telling = [one for one in tree.runs if _tells(one, tree.session.key)]
    told = {completes(one.run) for one in telling}
    unheard = tuple(one for one in tree.session.children if one.child_run not in told)
    silent = replace(tree, session=replace(tree.session, children=unheard))
    turns = _half_done(silent)
    going = [one for one in unheard if one.batch in turns]
    at_task = tree.task is not None and tree.task.run.id in turns.values()
    unfinished = replace(
        tree,
        session=replace(tree.session, children=tuple(one for one in unheard if one not in going)),
        runs=tuple(one for one in tree.runs if one not in telling),
        task=None if at_task else tree.task,
    )
    stopped = _stop_below(unfinished, request)
    return replace(stopped, effects=(*stopped.effects, *_settle_idle(silent, going, request)))


def _half_done(tree: Tree) -> dict[str, str]:
    """The runs that yielded for children of whom some have ended by themselves, and in whose place each ends."""
    ended = {one.batch for one in tree.session.children if one.status not in FRUITLESS}
    return {
        run.id: completes(run)
        for run in tree.batches
        if run.id in ended and run.outcome and run.outcome.yielded
    }


def _tells(snapshot: RunSnapshot, requester: SessionKey) -> bool:
    owed = snapshot.completion
    return snapshot.run.tells_of_task and owed is not None and owed.requester == requester


def _stop_below(tree: Tree, request: StopRequest) -> Stopped:
    runs = tuple(run for run in tree.runs if run.run.key != tree.session.key)
    inputs = tuple(lost for one in tree.below for lost in _waiting(one))
    return _stopped(tree, request, runs=runs, inputs=inputs, told=None)


def stop_run(tree: Tree, run_id: str, request: StopRequest) -> Stopped:
    """Stop one turn of a session, in whichever run it goes on, with what waits for it and all that it spawned. Everything
    else goes on, also what a turn left behind that is over."""
    runs = [one for one in tree.runs if one.run.key == tree.session.key and _of_turn(one.run, run_id)]
    batches = [run for run in tree.batches if _of_turn(run, run_id)]
    under_way = bool(runs) or any(run.outcome and run.outcome.yielded for run in batches)
    spawned = {run.id for run in batches if under_way}
    children = tuple(one for one in tree.session.children if one.batch in spawned)
    branches = [branch for one in children if (branch := tree.branch(one.child)) is not None]
    below = tuple(one for branch in branches for one in (branch.session, *branch.below))
    inputs = (
        *(lost for one in runs for lost in _waiting(tree.session, one.run.id)),
        *(lost for one in below for lost in _waiting(one)),
    )
    turns = (run_id, *(completes(one.run) for one in runs))
    at_task = tree.task is not None and any(_of_turn(tree.task.run, one) for one in turns)
    return _stopped(
        replace(
            tree,
            session=replace(tree.session, children=children),
            below=below,
            task=tree.task if at_task else None,
        ),
        request,
        runs=(*runs, *(run for branch in branches for run in branch.runs)),
        inputs=inputs,
        told=None,
    )


def _of_turn(run: Run, run_id: str) -> bool:
    """Whether it is that run, or goes on where that one yielded."""
    return run_id in (run.id, completes(run))


def kill(tree: Tree, children: Collection[SessionKey], request: StopRequest) -> Stopped:
    """Stop some of the sessions below, with all below them; whoever spawned them goes on and is told how they ended.

    Their own runs end each in a transaction of their own, also those that wait, so that the last of several continues
    a requester who waits for all.
    """
    killed = [_kill(tree, child, request) for child in children]
    # Only a run at its task tells how a child ended; others of its session may wait, or be under way.
    at_task = {completes(one.run) for one in tree.runs}
    idle = [one for one in tree.session.children if one.child in children and one.child_run not in at_task]
    return Stopped(
        effects=(
            *(effect for one in killed for effect in one.effects),
            *_settle_idle(tree, idle, request),
        ),
        runs=tuple(run for one in killed for run in one.runs),
        ended=sum(one.ended for one in killed),
        children=sum(one.children for one in killed),
        cleared=tuple(inbound for one in killed for inbound in one.cleared),
    )


def _kill(tree: Tree, child: SessionKey, request: StopRequest) -> Stopped:
    """Everything of one child but the settlement of what is owed for it."""
    branch = tree.branch(child)
    if branch is None:
        owed = any(one.child == child for one in tree.session.children)
        return Stopped(effects=(), runs=(), ended=0, children=1 if owed else 0, cleared=())
    below = _stop_below(branch, request)
    own = [one.run for one in branch.runs if one.run.key == child]
    inputs = _waiting(branch.session)
    effects = (
        *below.effects,
        *(RequestStop(run_id=run.id, stop=request) for run in own),
        *_clear(inputs, request, None),
    )
    return Stopped(
        effects=effects,
        runs=(*below.runs, *(run.id for run in own if run.state is RunState.RUNNING)),
        ended=below.ended,
        children=1 + below.children,
        cleared=(*below.cleared, *_inbounds(inputs)),
    )


def _settle_idle(tree: Tree, idle: list[Completion], request: StopRequest) -> Effects:
    """Children of whom no run is left to end. A requester who waits for a whole batch is told when that is complete."""
    effects: list[Effects] = []
    left = {one.child_run: one for one in tree.session.children}
    waiting = {run.id: run for run in tree.batches if run.outcome and run.outcome.yielded}
    for one in idle:
        if one.batch not in waiting:
            effects.append(_settle(tree, tree.session, one, request))
        elif one.status is CompletionStatus.PENDING:
            left[one.child_run] = _killed(one, request)
            effects.append((_settlement(left[one.child_run]),))
    for batch in dict.fromkeys(one.batch for one in idle if one.batch in waiting):
        ended = tuple(one for one in left.values() if one.batch == batch)
        if all(one.status is not CompletionStatus.PENDING for one in ended):
            effects.append(go_on(waiting[batch], ended, request.at))
    return tuple(effect for group in effects for effect in group)


def judged(run: Run, outcome: Outcome) -> Outcome:
    """How a run ended: one that was stopped was stopped, even if it came to its end before it heard, and for the reason
    that is stored with it."""
    if run.stop is None:
        return outcome
    return replace(outcome, state=RunState.KILLED, error=run.stop.reason, code="stopped", yielded=False)


def killed(request: StopRequest, at: int) -> Outcome:
    return Outcome(state=RunState.KILLED, at=at, error=request.reason, code="stopped")


def _stopped(
    tree: Tree,
    request: StopRequest,
    *,
    runs: tuple[RunSnapshot, ...],
    inputs: tuple[Lost, ...],
    told: Address | None,
) -> Stopped:
    under_way = [one.run for one in runs if one.run.state is RunState.RUNNING or _still_tells(tree, one)]
    waiting = [one for one in runs if one.run.state is RunState.QUEUED and not _still_tells(tree, one)]
    owed = [(one, child) for one in (tree.session, *tree.below) for child in one.children]
    unsettled = {child.child for _, child in owed if child.status is CompletionStatus.PENDING}
    steps: list[Effects] = [
        *((RequestStop(run_id=run.id, stop=request),) for run in under_way),
        *(_end(_heard(one, runs, request), request, told) for one in waiting),
        _clear(inputs, request, told),
        *(_settle(tree, one, child, request) for one, child in owed),
        *(
            _unanswered(_heard(one, runs, request), request)
            for one in tree.asked
            if one.run.id in {child.batch for _, child in owed}
        ),
        _given_up(tree, waiting, request),
    ]
    return Stopped(
        effects=tuple(effect for group in steps for effect in group),
        runs=tuple(run.id for run in under_way),
        ended=len(waiting),
        children=len(unsettled | {one.run.key for one in runs if one.run.key != tree.session.key}),
        cleared=_inbounds(inputs),
    )


def _still_tells(tree: Tree, snapshot: RunSnapshot) -> bool:
    """Whether a requester who goes on waits for it: it has to end as one under way, in a transaction of its own, in which
    that one is told how the child ended."""
    return snapshot.run.tells_of_task and snapshot.run.key == tree.session.key


def _end(snapshot: RunSnapshot, request: StopRequest, told: Address | None) -> Effects:
    outcome = killed(request, request.at)
    ended = EndRun(run_id=snapshot.run.id, outcome=outcome)
    return (ended, *_unanswered(snapshot, request), *let_down(snapshot.run, outcome, told))


def _heard(snapshot: RunSnapshot, stopped: Collection[RunSnapshot], request: StopRequest) -> RunSnapshot:
    """With its sender as it is after the decision, if that is stopped by it too."""
    sender = snapshot.sender
    if sender is None or all(sender.id != one.run.id for one in stopped):
        return snapshot
    return replace(snapshot, sender=replace(sender, stop=request))


def _unanswered(snapshot: RunSnapshot, request: StopRequest) -> Effects:
    """The exchange of a run that will not answer, also of one that yielded and whose children are stopped."""
    return a2a.advance(snapshot, _ending(request))


def _given_up(tree: Tree, ended: Collection[RunSnapshot], request: StopRequest) -> Effects:
    """The session's own task, if no run is left that would end it: its requester hears of it as of any other end."""
    gone = {one.run.id for one in ended}
    left = (run for run in (tree.session.running, *tree.session.queued) if run and run.id not in gone)
    if tree.task is None or any(completes(run) == tree.task.run.id for run in left):
        return ()
    return child_end(tree.task, _ending(request))


def _ending(request: StopRequest) -> Ending:
    return Ending(
        outcome=killed(request, request.at),
        announce=lambda completion, written: announce_text(completion, None),
    )


def _waiting(snapshot: Snapshot, run_id: str | None = None) -> tuple[Lost, ...]:
    """What waits for a run of a session, or for one of them."""
    waiting = (one for one in snapshot.pending if one.run_id and run_id in (None, one.run_id))
    return tuple(snapshot.carried(one) for one in waiting)


def _inbounds(inputs: tuple[Lost, ...]) -> tuple[Inbound, ...]:
    return tuple(one.inbound for lost in inputs for one in lost)


def _clear(inputs: tuple[Lost, ...], request: StopRequest, told: Address | None) -> Effects:
    buried = (bury(lost, request.reason, request.at, told=told) for lost in inputs)
    return tuple(effect for effects in buried for effect in effects)


def _stats(tree: Tree, completion: Completion, at: int) -> Stats | None:
    session = next((one.session for one in tree.below if one.key == completion.child), None)
    if session is None:
        return None
    spent = session.counters
    used = Usage(input=spent.input, output=spent.output, cost_micros=spent.cost_micros)
    return stats_of(session, completion, Labour(used=used), at=at)


def _killed(completion: Completion, request: StopRequest) -> Completion:
    return replace(completion, status=CompletionStatus.KILLED, error=request.reason, settled_at=request.at)


def _settlement(completion: Completion) -> SettleCompletion:
    return SettleCompletion(
        child_run=completion.child_run,
        status=completion.status,
        at=completion.settled_at or 0,
        error=completion.error,
    )


def _settle(tree: Tree, requester: Snapshot, completion: Completion, request: StopRequest) -> Effects:
    """The requester's transcript tells how the child ended; nobody is asked to go on with it."""
    effects: Effects = ()
    if completion.status is CompletionStatus.PENDING:
        completion = _killed(completion, request)
        effects = (_settlement(completion),)
    text = announce_text(completion, _stats(tree, completion, request.at))
    entry = told_entry(completion, text, request.by, request.at)
    acknowledged = AcknowledgeCompletion(child_run=completion.child_run, at=request.at)
    return (*effects, AppendEntries(key=requester.key, drafts=(entry,)), acknowledged)
