"""Where a session is talked to unasked: the chat in which whom it belongs to was last met.

Others may write into the same session; they get their answers and nothing else. A group, and a child in its thread, are
met where they are, whoever speaks there.
"""

from collections.abc import Callable
from typing import TypeAlias

from roost.core import admission
from roost.core.addresses import Account, Address
from roost.core.admission import Admitted, ChannelPolicy
from roost.core.envelopes import answer_to
from roost.core.principals import Principal
from roost.core.sessions import Session

Met: TypeAlias = Callable[[Session], Address | None]
"""`met_at`, by the doors of the moment."""

Doors: TypeAlias = Callable[[Account], ChannelPolicy]
"""Who is let in on an account of a channel."""


def nowhere(session: Session) -> Address | None:
    """`met_at` behind closed doors."""
    return None


def has_place(session: Session) -> bool:
    """Whether a session is held at a place of its own, and not wherever one person is."""
    return session.facts.shared or session.lineage.parent is not None


def met_at(session: Session, doors: Doors) -> Address | None:
    """The last chat, if whom the session belongs to would still be let in there as himself."""
    chat = session.route
    if chat is None or has_place(session):
        return chat
    return chat if is_with(session.owner, chat, doors) else None


def is_with(who: Principal, chat: Address, doors: Doors) -> bool:
    """Whether it is somebody's direct chat, in which he would be let in as himself."""
    found = admission.decide(answer_to(chat), doors(chat.served_by))
    return isinstance(found, Admitted) and found.principal == who
