"""What the engine must know of a channel to speak through it."""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelAbilities:
    """`dedupes`: a message sent again under the same key appears once. `answers`: can be asked whether it has one.

    `longest` is the most characters one message may have; `credential_at` is when its credential was last renewed,
    where it has one that ages.
    """

    longest: int
    dedupes: bool = False
    answers: bool = False
    threads: bool = False
    credential_at: int | None = None


class Knowledge(StrEnum):
    """What a channel says when asked about a message."""

    SENT = "sent"
    NOT_SENT = "not_sent"
    UNKNOWN = "unknown"
