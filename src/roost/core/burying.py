"""The end of messages that no run will read: each is dead, and its sender is told.

What was merged into a message ends with it: nowhere else would a word of it be left.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from roost.core.addresses import Address
from roost.core.effects import AppendEntries, Effects, KeepInput, KillInput
from roost.core.inbound import InboundRecord
from roost.core.inputs import entries_of
from roost.core.messages import ProvenanceKind
from roost.core.notices import cleared_line, notice
from roost.core.queuetext import excerpt

Lost: TypeAlias = tuple[InboundRecord, ...]
"""A message behind what was merged into it, as `Snapshot.carried` gives them."""


def bury(
    lost: Lost,
    reason: str,
    at: int,
    *,
    line: Callable[[tuple[str, ...]], str] | None = None,
    told: Address | None = None,
) -> Effects:
    """One word for all of them; who is at `told` hears of it otherwise."""
    carrier = lost[-1].inbound
    words = (line or partial(cleared_line, why=reason))(tuple(excerpt(one.inbound) for one in lost))
    heard = carrier.reply_to == told
    word = () if heard else notice(carrier.key, carrier.reply_to, words, at=at, about=carrier.id)
    return (*(KillInput(inbound_id=one.inbound.id, reason=reason) for one in lost), *word)


def lay_by(lost: Lost, reason: str, at: int) -> Effects:
    """What a child reports is owed: it waits in the transcript for the next turn."""
    record = lost[-1]
    inbound = record.inbound
    if inbound.provenance.kind is not ProvenanceKind.SUBAGENT:
        return bury(lost, reason, at)
    return (KeepInput(inbound_id=inbound.id), AppendEntries(key=inbound.key, drafts=entries_of((record,))))
