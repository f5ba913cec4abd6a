"""The main conversation, or a thread of it, when a second person writes into it: its owner is told once, and how people
are kept apart."""

from roost.core.effects import Effects
from roost.core.inbound import Inbound
from roost.core.notices import notice
from roost.core.snapshots import Snapshot
from roost.core.whereabouts import Met, has_place

SHARED_LINE = (
    "Another person writes into this conversation too, and the answers to both of you come from all of it. To keep people "
    'apart, set session.dmScope to "owner-main".'
)


def second_person(snapshot: Snapshot, inbound: Inbound, met: Met) -> Effects:
    """The same notice each time, which is sent once. It goes to nobody but the owner, wherever he wrote last."""
    session = snapshot.session
    if session is None or has_place(session) or not session.owner.is_owner or inbound.principal.is_owner:
        return ()
    return notice(
        session.key, met(session), SHARED_LINE, at=inbound.received_at, about=f"shared {session.key}"
    )
