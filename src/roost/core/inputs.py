"""Messages that a run takes, as entries of its transcript."""

from collections.abc import Sequence

from roost.core.entries import EntryDraft
from roost.core.inbound import InboundRecord, InboundState, InputMode
from roost.core.messages import Image, Text, UserBlock, UserMessage
from roost.core.queuetext import collect_prompt


def entries_of(records: tuple[InboundRecord, ...]) -> tuple[EntryDraft, ...]:
    """One entry for what opens a run, with a line for each message that fell out; one for each steer."""
    dropped = [record.reason or "" for record in records if record.state is InboundState.MERGED]
    waiting = [record for record in records if record.state is InboundState.PENDING]
    opening = [record for record in waiting if record.mode is InputMode.OPEN]
    steering = [record for record in waiting if record.mode is InputMode.STEER]
    drafts = [_entry(opening, dropped)] if opening else []
    for number, record in enumerate(steering):
        drafts.append(_entry([record], () if opening or number else dropped))
    return tuple(drafts)


def _entry(records: Sequence[InboundRecord], dropped: Sequence[str]) -> EntryDraft:
    inputs = [record.inbound for record in records]
    first = inputs[0]
    images: list[UserBlock] = [
        block for inbound in inputs for block in inbound.content if isinstance(block, Image)
    ]
    return EntryDraft(
        id=first.id,
        body=UserMessage(
            content=(Text(collect_prompt(inputs, dropped)), *images),
            at=first.received_at,
            provenance=first.provenance,
            sender=first.sender_name if len(inputs) == 1 else None,
        ),
        run_id=records[0].run_id,
    )
