"""What stays of a message whose session was deleted: its identity, not its words."""

from dataclasses import replace

from roost.core.inbound import InboundRecord, InboundState


def without_content(record: InboundRecord) -> InboundRecord:
    """The reason why one was merged quotes it, and goes too."""
    quoted = record.state is InboundState.MERGED
    return replace(
        record,
        inbound=replace(record.inbound, content=(), sender_name=None),
        reason=None if quoted else record.reason,
    )
