"""The text in which a list is searched."""

from roost.core.sessions import Session
from roost.stores.codec import key_text


def haystack(session: Session) -> str:
    """Key, names and title of a session, folded, one a line so that no match spans two of them."""
    labels = session.labels
    parts = (key_text(session.key), labels.label, labels.display_name, labels.subject, session.summary.title)
    return "\n".join(part for part in parts if part).casefold()
