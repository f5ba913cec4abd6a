"""What stays of a message whose session was deleted: its identity, not its words."""

from dataclasses import replace

from roost.core.inbound import InboundRecord, InboundState

DELETED = "session deleted"


def without_content(record: InboundRecord) -> InboundRecord:
    """One that was still waiting dies with its session; what it was merged for quotes it, and goes too."""
    waiting = record.state is InboundState.PENDING
    quoted = record.state is InboundState.MERGED
    return replace(
        record,
        inbound=replace(record.inbound, content=(), sender_name=None),
        state=InboundState.DEAD if waiting else record.state,
        reason=DELETED if waiting else None if quoted else record.reason,
    )
