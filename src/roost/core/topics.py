"""What the store can be waited for. Waking up is not truth: whoever was woken looks."""

from enum import StrEnum
from typing import NamedTuple


class TopicKind(StrEnum):
    """News of any run or delivery; that one may be due to be taken up; that one was asked to end; news of one session;
    that a run of it came to its end; news of any job, of any message to another gateway, of who is let in by pairing."""

    RUNS = "runs"
    RUNS_DUE = "runs-due"
    STOPS = "stops"
    DELIVERIES = "deliveries"
    DELIVERIES_DUE = "deliveries-due"
    SESSION = "session"
    RUN_ENDED = "run-ended"
    JOBS = "jobs"
    REMOTES = "remotes"
    GUESTS = "guests"


class Topic(NamedTuple):
    """Something to wait for: work of a kind (`ref` empty), or news about one session (its key's text)."""

    kind: TopicKind
    ref: str = ""
