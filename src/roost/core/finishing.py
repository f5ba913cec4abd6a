"""Everything that follows from the end of a run, in one decision."""

from dataclasses import dataclass, field, replace

from roost.core import a2a, children, parking, postings, upkeep
from roost.core.deliveries import Delivery, DeliveryKind
from roost.core.effects import AddDelivery, AppendEntries, Effects, EndRun, RecordUsage
from roost.core.endings import Ending
from roost.core.entries import EntryDraft
from roost.core.footers import framed
from roost.core.handover import hand_over
from roost.core.ledger import Counted, LedgerRow, taken_by
from roost.core.messages import AssistantMessage, Body
from roost.core.notices import derived_id, notice
from roost.core.runs import Outcome, RunKind, RunState
from roost.core.snapshots import RunSnapshot
from roost.core.unheard import unheard
from roost.core.upkeep import Load, Upkeep


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What a run ends with: its last words, other entries, a line for whoever asked, and how full its context is.
    One that `yielded` said nothing yet: it waits for others."""

    words: AssistantMessage | None = None
    bodies: tuple[Body, ...] = ()
    told: str | None = None
    load: Load | None = None
    yielded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How a run ended, and what it ended with."""

    outcome: Outcome
    played: Played = field(default_factory=Played)
    follows: Upkeep | None = None
    spent: tuple[LedgerRow, ...] = ()

    def took(self) -> Counted:
        """What its last words did."""
        words = self.played.words
        return Counted() if words is None else taken_by(words, self.spent)


def conclude(snapshot: RunSnapshot, end: End, ending: Ending) -> Effects:
    """All that is written when a run has ended here; `ending` is the end as the store judges it."""
    follows = end.follows if ending.outcome.succeeded else None
    told = None if snapshot.reset_away else end.played.told
    return (
        *(RecordUsage(row=row) for row in end.spent),
        *(() if follows is None else upkeep.sized(snapshot, follows.load)),
        *_entries(snapshot, end.played),
        *_reply(snapshot, ending, end),
        *_notices(snapshot, ending.outcome, told),
        *finish(snapshot, ending),
        *(() if follows is None else upkeep.follow(snapshot, follows, ending.outcome.at)),
    )


def finish(snapshot: RunSnapshot, ending: Ending) -> Effects:
    """End the run; what it did not take waits for the next one, and whoever waits for it is served.

    A run that yields with nothing to wait for has ended: nobody would ever go on with it. A task whose parts are still at
    work has not, whether its run yielded or not.
    """
    waits = children.waits(snapshot, ending.outcome)
    outcome = replace(ending.outcome, yielded=waits, until=snapshot.run.due if waits else None)
    ending = replace(ending, outcome=outcome)
    return (
        EndRun(run_id=snapshot.run.id, outcome=ending.outcome),
        *hand_over(snapshot.session, snapshot.run, ending.outcome),
        *a2a.advance(snapshot, ending),
        *unheard(snapshot, ending),
        *children.child_end(snapshot, ending),
        *children.yield_end(snapshot, ending),
        *children.given_up(snapshot, ending),
        *postings.fired(snapshot, ending),
        *parking.let_down(snapshot.run, ending.outcome),
    )


def _entries(snapshot: RunSnapshot, played: Played) -> Effects:
    bodies = (*played.bodies, *(() if played.words is None else (played.words,)))
    if not bodies or snapshot.reset_away:
        return ()
    run = snapshot.run
    drafts = tuple(
        EntryDraft(id=derived_id(run.id, "last", str(place)), body=body, run_id=run.id)
        for place, body in enumerate(bodies)
    )
    return (AppendEntries(key=run.key, drafts=drafts),)


def reply_id(run_id: str) -> str:
    """The delivery of its answer."""
    return derived_id(run_id, "reply")


def _reply(snapshot: RunSnapshot, ending: Ending, end: End) -> Effects:
    run, session = snapshot.run, snapshot.session.session
    address = run.request.reply_to
    if ending.said is None or address is None or not run.request.kind.answers or session is None:
        return ()
    said = Delivery(
        id=reply_id(run.id),
        key=run.key,
        address=address,
        kind=DeliveryKind.REPLY,
        text=framed(ending.said, end.played.words, end.took(), session.overrides),
        created_at=ending.outcome.at,
        run_id=run.id,
        ready_at=ending.outcome.at,
    )
    return (AddDelivery(delivery=said),)


def _notices(snapshot: RunSnapshot, outcome: Outcome, told: str | None) -> Effects:
    """Who asked is told once what came of it, where that is no answer, or that none will come."""
    run, line = snapshot.run, told
    # Only who typed a command can have asked for a compaction and be told of it.
    asked = run.request.kind is RunKind.COMPACTION
    if outcome.state in (RunState.FAILED, RunState.TIMEOUT) and (asked or run.request.kind.answers):
        line = f"No answer: {outcome.error or outcome.state}."
        if run.request.kind is RunKind.GREETING:
            line = f"A new conversation has begun. {line}"
    if line is None:
        return ()
    kind = DeliveryKind.COMMAND if asked else DeliveryKind.NOTICE
    return notice(run.key, run.request.reply_to, line, at=outcome.at, about=run.id, kind=kind)
