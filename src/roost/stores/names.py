"""What every database must call the same: the text a list is searched in, and what may be removed."""

from roost.core.sessions import Session
from roost.stores.codec import key_text

_NEVER = -(2**63)


def moment(cutoff: int | None) -> int:
    """A cutoff as a time: nothing is older than none."""
    return _NEVER if cutoff is None else cutoff


def haystack(session: Session) -> str:
    """Key, names and title of a session, folded, one a line so that no match spans two of them."""
    labels = session.labels
    parts = (key_text(session.key), labels.label, labels.display_name, labels.subject, session.summary.title)
    return "\n".join(part for part in parts if part).casefold()
