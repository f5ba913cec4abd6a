"""Messages that a run takes, as entries of its transcript, and for whom it acts by them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby

from roost.core.entries import Entry, EntryDraft
from roost.core.inbound import InboundRecord, InboundState, InputMode
from roost.core.keys import SessionKey
from roost.core.marking import defused, mark_of
from roost.core.messages import AssistantMessage, Image, ProvenanceKind, Text, UserBlock, UserMessage, text_of
from roost.core.principals import Principal, PrincipalKind
from roost.core.queuetext import collect_prompt, in_short
from roost.core.runs import Run

OVERTAKEN = "Others were answered meanwhile. Answer now what was asked before them and is still open:"


def entries_of(records: tuple[InboundRecord, ...]) -> tuple[EntryDraft, ...]:
    """Entries in the order in which it was said: one for what people open a run with together, one for each steer, for each
    event that waited, and for whatever else no person said: each has an origin of its own, and is shown with it. The first has a line for each message that fell out. A run that begins again may have been steered
    before more opened it. What came from outside stands behind the opening: the last word is not a person's then."""
    dropped = [record for record in records if record.state is InboundState.MERGED]
    waiting = [record for record in records if record.state is InboundState.PENDING]
    events = [record for record in waiting if record.mode is InputMode.WAIT]
    outside = [record for record in events if record.inbound.provenance.kind is ProvenanceKind.HOOK]
    said: list[EntryDraft] = []
    spoken = (record for record in waiting if record.mode is not InputMode.WAIT)
    for collected, together in groupby(spoken, key=_collected):
        found = list(together)
        for group in [found] if collected else [[record] for record in found]:
            said.append(_entry(group, () if said else dropped))
    within = [_event(record) for record in events if record not in outside]
    drafts = [*within, *said[:1], *map(_event, outside), *said[1:]]
    return tuple(drafts)


def _collected(record: InboundRecord) -> bool:
    return record.mode is InputMode.OPEN and record.inbound.provenance.kind is ProvenanceKind.HUMAN


_ANSWERED = UserMessage | AssistantMessage


def overtaken(run: Run, entries: Sequence[Entry]) -> str | None:
    """What to remind a run of that others passed: what it has to answer is not the last word any more."""
    others = [
        place
        for place, entry in enumerate(entries)
        if entry.run_id not in (None, run.id) and isinstance(entry.body, _ANSWERED)
    ]
    asked = [
        _recalled(entry.body)
        for entry in entries[: max(others, default=0)]
        if entry.run_id == run.id and isinstance(entry.body, UserMessage)
    ]
    return "\n".join((OVERTAKEN, *(f"- {text}" for text in asked))) if asked else None


def _recalled(message: UserMessage) -> str:
    """In short, and no more a person's word than where it stands."""
    mark, text = mark_of(message.provenance), defused(in_short(text_of(message)))
    return f"{mark}: {text}" if mark else text


def acting(run: Run, taken: Iterable[Entry]) -> Run:
    """The run with those by whose rights it acts, after what it took now. Where several people speak in one turn it is the
    agent itself, who owns nothing: none of them may use the rights of another, and no work that follows from it may."""
    voices = {run.cause.principal}
    voices.update(
        entry.body.provenance.principal
        for entry in taken
        if entry.run_id == run.id and isinstance(entry.body, UserMessage)
    )
    return replace(run, cause=replace(run.cause, principal=_one_of(voices, run.key)))


def _one_of(voices: set[Principal], key: SessionKey) -> Principal:
    if len(voices) == 1:
        return next(iter(voices))
    return Principal(PrincipalKind.AGENT, key.agent or str(key))


def _event(record: InboundRecord) -> EntryDraft:
    """An entry of no run: nobody acts by the rights of who sent it."""
    inbound = record.inbound
    body = UserMessage(content=inbound.content, at=inbound.received_at, provenance=inbound.provenance)
    return EntryDraft(id=inbound.id, body=body)


def _entry(records: Sequence[InboundRecord], dropped: Sequence[InboundRecord]) -> EntryDraft:
    inputs = [record.inbound for record in records]
    first = inputs[0]
    voices = {record.inbound.principal for record in (*records, *dropped)}
    several = tuple(sorted(voices, key=str)) if len(voices) > 1 else ()
    images: list[UserBlock] = [
        block for inbound in inputs for block in inbound.content if isinstance(block, Image)
    ]
    return EntryDraft(
        id=first.id,
        body=UserMessage(
            content=(Text(collect_prompt(inputs, [record.reason or "" for record in dropped])), *images),
            at=first.received_at,
            provenance=replace(first.provenance, principal=_one_of(voices, first.key), voices=several),
            sender=first.sender_name if len(inputs) == 1 else None,
        ),
        run_id=records[0].run_id,
    )
