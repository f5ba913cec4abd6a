"""What people call a session: one spelling of a label, and one session of that name among those of one owner."""

from collections.abc import Iterable
from dataclasses import replace

from roost.core.errors import Forbidden, InvalidInput
from roost.core.keys import SessionKey
from roost.core.principals import Principal
from roost.core.queries import SessionQuery
from roost.core.sessions import Session
from roost.core.visibility import Caller, Operation, PersonCaller, VisibleScope, scope

LONGEST_LABEL = 512


def read_label(text: str) -> str | None:
    """None if nothing is left of it."""
    label = " ".join(text.split())
    if len(label) > LONGEST_LABEL:
        raise InvalidInput(f"a label has at most {LONGEST_LABEL} characters", hint="give a shorter one")
    return label or None


def refuse_namer(caller: PersonCaller, owner: Principal) -> None:
    """Who takes part in a session does not name it: what it may be called depends on what else its owner has."""
    if not caller.rules_all and caller.principal != owner:
        raise Forbidden("only its owner names this session", hint="ask the owner")


def namesakes(label: str, owner: Principal) -> SessionQuery:
    """A label that somebody else uses is not told by refusing it, and keeps nobody from using it too."""
    return SessionQuery(scope=own(owner), label=label, archived=None, limit=2)


def own(owner: Principal) -> VisibleScope:
    return VisibleScope(owner=owner, agents=None)


def called_by(operation: Operation, caller: Caller) -> VisibleScope:
    """Where a label is looked for: among what is the caller's own, or hangs below it. Also by who may see more: others
    call their sessions what they like, and nothing meant for one's own gets there."""
    return replace(scope(operation, caller), owner=caller.principal)


def refuse_taken(label: str, key: SessionKey, found: Iterable[Session]) -> None:
    """`found` are namesakes, of which the session itself is none."""
    if any(session.key != key for session in found):
        raise InvalidInput(f"label already in use: {label}", hint="choose another one")
