"""The main conversation when a second person writes into it: its owner is told once, and how people are kept apart."""

from collections.abc import Callable

from roost.core.admission import ChannelPolicy
from roost.core.effects import Effects
from roost.core.identities import Identity
from roost.core.inbound import Inbound
from roost.core.notices import notice
from roost.core.sessions import SessionKind
from roost.core.snapshots import Snapshot

SHARED_LINE = (
    "Another person writes into this conversation too, and the answers to both of you come from all of it. To keep people "
    'apart, set session.dmScope to "owner-main".'
)


def second_person(snapshot: Snapshot, inbound: Inbound, door: Callable[[str], ChannelPolicy]) -> Effects:
    """The same notice each time, which is sent once. It goes to nobody but the owner, wherever he wrote last."""
    session = snapshot.session
    if session is None or session.facts.kind is not SessionKind.MAIN or inbound.principal.is_owner:
        return ()
    chat = session.route
    if chat is None:
        return ()
    policy = door(chat.channel)
    there = Identity(channel=chat.channel, id=chat.to)
    if not any(there.is_named_by(entry, policy.traits) for entry in policy.owner_ids):
        return ()
    return notice(session.key, chat, SHARED_LINE, at=inbound.received_at, about=f"shared {session.key}")
