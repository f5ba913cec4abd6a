"""What every database must call the same: the text a list is searched in, and what may be removed."""

from roost.core.listing import called
from roost.core.sessions import Labels, Session, task_of
from roost.stores.codec import key_text

_NEVER = -(2**63)


def moment(cutoff: int | None) -> int:
    """A cutoff as a time: nothing is older than none."""
    return _NEVER if cutoff is None else cutoff


def haystack(session: Session) -> str:
    """What a session is found by."""
    task, first = task_of(session.lineage), session.summary.title
    return searched(key_text(session.key), session.labels, task, first)


def searched(key: str, labels: Labels, task: str | None, first: str | None) -> str:
    """Key, names and title of a session, folded, one a line so that no match spans two of them."""
    return "\n".join(part for part in (key, *called(labels, task, first)) if part).casefold()
