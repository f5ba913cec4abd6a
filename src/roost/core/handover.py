"""What becomes of what was said to a run and not taken by it, when that run ends."""

from collections.abc import Sequence
from dataclasses import replace

from roost.core import toolnames
from roost.core.burying import bury, lay_by
from roost.core.effects import AppendEntries, Effects, KeepInput, MoveInput, QueueRun
from roost.core.endings import continuation
from roost.core.inbound import Inbound, InboundRecord, InputMode
from roost.core.inputs import entries_of
from roost.core.messages import ProvenanceKind
from roost.core.notices import derived_id
from roost.core.queueing import INTERRUPTED, by_person, new_run
from roost.core.runs import Outcome, Request, Run, RunState
from roost.core.snapshots import Snapshot


def hand_over(snapshot: Snapshot, run: Run, outcome: Outcome) -> Effects:
    """A run ends: what it could not serve is dead, what else it did not take goes into runs that follow it. What was said
    to one that a newer message ended stands before that in the transcript, and has no answer of its own."""
    dead = [record for record in snapshot.pending if record.run_id == run.id and _dies(record, outcome)]
    why = f"the run ended as {outcome.state} before reading it"
    # Who stops a session does not want to find there what comes of what was stopped. One that is started afresh goes on.
    stopped = outcome.state is RunState.KILLED and not _goes_on(run) and _is_here(snapshot, run)
    put_away = bury if stopped else lay_by
    buried = [put_away(snapshot.carried(one), why, outcome.at) for one in dead]
    left = tuple(record for record in snapshot.pending if record not in dead)
    left_over = replace(snapshot, pending=left)
    rest = _keep_unread(left_over, run) if _gave_way(snapshot, run) else carry_over(left_over, run, outcome)
    return (*(effect for effects in buried for effect in effects), *rest)


def _goes_on(run: Run) -> bool:
    return run.stop is not None and run.stop.goes_on


def _is_here(snapshot: Snapshot, run: Run) -> bool:
    """Whether a run belongs to the conversation as it is, which was not started afresh since it began."""
    return snapshot.session is not None and run.session_id in (None, snapshot.session.session_id)


def _gave_way(snapshot: Snapshot, run: Run) -> bool:
    """Whether a newer message of the same conversation ended a run."""
    return _is_here(snapshot, run) and run.stop is not None and run.stop.reason == INTERRUPTED


def _keep_unread(snapshot: Snapshot, run: Run) -> Effects:
    unread = [record for record in snapshot.pending if record.run_id == run.id]
    if not unread:
        return ()
    records = tuple(one for record in unread for one in snapshot.carried(record))
    taken = (KeepInput(inbound_id=record.inbound.id) for record in unread)
    return (*taken, AppendEntries(key=snapshot.key, drafts=entries_of(records)))


def _dies(record: InboundRecord, outcome: Outcome) -> bool:
    match outcome.state:
        case RunState.FAILED | RunState.TIMEOUT:
            # The same message would fail the next run too, and the one after it.
            return record.mode is InputMode.OPEN
        case RunState.KILLED:
            # What no person said would start the work again that was just stopped.
            return not by_person(record.inbound)
        case _:
            return False


def carry_over(snapshot: Snapshot, run: Run, outcome: Outcome) -> Effects:
    """What a run was given and did not take goes into runs that follow it, one for each voice."""
    voices: dict[tuple[object, ...], list[InboundRecord]] = {}
    for record in snapshot.pending:
        if record.run_id == run.id:
            one = record.inbound
            voices.setdefault((one.provenance.kind, one.principal, one.reply_to), []).append(record)
    effects: list[QueueRun | MoveInput] = []
    for number, records in enumerate(voices.values()):
        run_id = derived_id("after", run.id, str(number))
        request = _following(snapshot, run, records, outcome)
        effects.append(QueueRun(run=new_run(run_id, records[0].inbound, request, outcome.at)))
        effects += [
            MoveInput(inbound_id=one.inbound.id, run_id=run_id, mode=InputMode.OPEN) for one in records
        ]
    return tuple(effects)


def _following(snapshot: Snapshot, run: Run, records: Sequence[InboundRecord], outcome: Outcome) -> Request:
    """A task goes on with what its requester said of it, whatever a child said before that. A turn that yielded goes on
    with what its last child said to it, if no other will be heard of."""
    first = records[0].inbound
    if outcome.succeeded and not outcome.yielded and any(steers(one.inbound) for one in records):
        return continuation(run)
    reported = first.provenance.kind is ProvenanceKind.SUBAGENT
    if outcome.yielded and reported and all(child.batch != run.id for child in snapshot.children):
        return continuation(run)
    wishes = run.request if _asked_alike(records[0]) else Request()
    return Request(
        lane=run.request.lane,
        reply_to=first.reply_to,
        requester=run.request.requester,
        longest_ms=wishes.longest_ms,
        model=wishes.model,
        thinking=wishes.thinking,
        instructions=wishes.instructions,
    )


def _asked_alike(record: InboundRecord) -> bool:
    """Whether a message was sent with the wishes of its run: a person's joins only one that was asked for as it is."""
    return by_person(record.inbound) or record.mode is InputMode.OPEN


def steers(inbound: Inbound) -> bool:
    """Whether a requester says more about the task it gave."""
    return inbound.provenance.source_tool == toolnames.SUBAGENTS
