"""What the store can be waited for. Waking up is not truth: whoever was woken looks."""

from enum import StrEnum
from typing import NamedTuple


class TopicKind(StrEnum):
    RUNS = "runs"
    DELIVERIES = "deliveries"
    SESSION = "session"


class Topic(NamedTuple):
    """Something to wait for: work of a kind (`ref` empty), or news about one session (its key's text)."""

    kind: TopicKind
    ref: str = ""
