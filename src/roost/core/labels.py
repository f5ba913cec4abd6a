"""What people call a session: one spelling of a label, and one session of that name among those of one owner."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from roost.core.effects import ChangeSession, Effects
from roost.core.errors import Forbidden, InvalidInput
from roost.core.exchanges import Completion, CompletionStatus
from roost.core.keys import CHILD_KINDS, SessionKey
from roost.core.principals import Principal
from roost.core.queries import SessionQuery
from roost.core.sessions import Session
from roost.core.terms import SpawnMode
from roost.core.visibility import Caller, Operation, PersonCaller, VisibleScope, scope

LONGEST_LABEL = 512
MOST_NAMESAKES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Namesake:
    """A session with a label that is asked for; `task` is what was owed for it, if it is a child."""

    session: Session
    task: Completion | None = None

    @property
    def is_over(self) -> bool:
        """Whether it is a child that has done its task, and with whom nobody goes on in a thread."""
        terms = self.session.lineage.terms
        stays = terms is not None and terms.mode is SpawnMode.SESSION
        pending = self.task is not None and self.task.status is CompletionStatus.PENDING
        at_work = pending or self.session.status.active
        return self.session.key.kind in CHILD_KINDS and not stays and not at_work

    def yields_to(self, parent: SessionKey, speaker: Principal) -> bool:
        """Whether a child of that session gets its label: in a group others have it spawned too, and take nothing that its
        owner has elsewhere."""
        own = speaker == self.session.owner or self.session.lineage.parent == parent
        return own and self.is_over


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


def namesakes_of_child(label: str, owner: Principal) -> SessionQuery:
    """Children come and go, and are called alike again and again: one that is archived keeps no other from its label."""
    return replace(namesakes(label, owner), archived=False, limit=MOST_NAMESAKES)


def passed_on(label: str, found: Iterable[Namesake], parent: SessionKey, speaker: Principal) -> Effects:
    """A child that somebody has that session spawn gets its label from children of that name whose task is over."""
    alike = [one for one in found if one.session.labels.label == label]
    hint = f"choose another one, such as {label + ' 2'!r}, or leave `label` out"
    refuse_taken(label, None, (one.session for one in alike if not one.yields_to(parent, speaker)), hint)
    return tuple(
        ChangeSession(key=one.session.key, labels=replace(one.session.labels, label=None)) for one in alike
    )


def own(owner: Principal) -> VisibleScope:
    return VisibleScope(owner=owner, agents=None)


def called_by(operation: Operation, caller: Caller) -> VisibleScope:
    """Where a label is looked for: among what is the caller's own, or hangs below it. Also by who may see more: others
    call their sessions what they like, and nothing meant for one's own gets there."""
    return replace(scope(operation, caller), owner=caller.principal)


def refuse_taken(
    label: str, key: SessionKey | None, found: Iterable[Session], hint: str = "choose another one"
) -> None:
    """`found` are namesakes, of which the session itself is none."""
    if any(session.key != key for session in found):
        raise InvalidInput(f"label already in use: {label}", hint=hint)
