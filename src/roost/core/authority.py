"""Whether a run does something at the owner's own word: what privileged tools ask for.

It is judged by where texts came from, never by what they say.
"""

from collections.abc import Collection, Sequence
from enum import StrEnum

from roost.core.entries import Entry
from roost.core.messages import ProvenanceKind, ToolResult, UserMessage
from roost.core.runs import Cause


class Unheard(StrEnum):
    """Why something is not the owner's own word."""

    CAUSE = "not_the_owners_word"
    SWAYED = "others_were_heard_since"


def without_word(cause: Cause, entries: Sequence[Entry], recalling: Collection[str]) -> Unheard | None:
    """What is missing for a privileged act, with the entries before the model that asks for it; None: nothing.

    The owner's message must be the cause, and the newest that was heard: after it nothing that another session, a child
    or an earlier conversation said, by itself or as the result of a recalling tool.
    """
    if not cause.by_owner:
        return Unheard.CAUSE
    for entry in reversed(entries):
        match entry.body:
            case UserMessage(provenance=provenance):
                return None if provenance.kind is ProvenanceKind.HUMAN else Unheard.SWAYED
            case ToolResult(tool=tool, is_error=False) if tool in recalling:
                return Unheard.SWAYED
            case _:
                pass
    return None
