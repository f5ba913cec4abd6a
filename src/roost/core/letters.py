"""A letter: what is sent to a place on a channel because somebody asked for it, and no run did.

It stands in the transcript of the session that an answer to it would come to, and goes out as any other message does.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from roost.core import sendpolicy
from roost.core.addresses import Account, Address
from roost.core.deliveries import Delivery, DeliveryKind
from roost.core.effects import AddDelivery, AppendEntries, Effects, OpenSession
from roost.core.entries import EntryDraft
from roost.core.errors import Forbidden, InvalidInput
from roost.core.inbound import digest_of
from roost.core.keys import SessionKey
from roost.core.messages import AssistantMessage, Text
from roost.core.notices import derived_id
from roost.core.occasions import WEBHOOK
from roost.core.principals import Principal
from roost.core.sendpolicy import SendPolicy
from roost.core.sessions import Session
from roost.core.snapshots import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """`name` is its sender's: under the same one it is the same letter, and never another. `trace` is what its sender calls
    all that this is part of."""

    name: str
    by: Principal
    to: Address
    text: str
    at: int
    trace: str | None = None

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise InvalidInput("a message without words cannot be sent")

    @property
    def id(self) -> str:
        return derived_id("letter", str(self.by), self.name)

    @property
    def digest(self) -> str:
        to = self.to
        return digest_of(to.channel, to.account, to.to, to.thread or "", self.text)

    def delivery(self, key: SessionKey) -> Delivery:
        return Delivery(
            id=self.id,
            key=key,
            address=self.to,
            kind=DeliveryKind.LETTER,
            text=self.text,
            created_at=self.at,
            ready_at=self.at,
            digest=self.digest,
        )


class Unsendable(Forbidden):
    """The send policy keeps a letter back; `rule` is what said so."""

    def __init__(self, rule: str) -> None:
        super().__init__(f"not sent, because of {rule}", hint="change it, or choose another session")
        self.rule = rule


def chosen(accounts: Iterable[Account], channel: str | None, account: str | None) -> Account:
    """The account that is meant. One that is not named is the only one there is on which people write."""
    there = tuple(accounts)
    fitting = [
        one
        for one in there
        if one.channel == (channel or one.channel)
        and one.account == (account or one.account)
        and (channel or one.channel != WEBHOOK)
    ]
    if len(fitting) == 1:
        return fitting[0]
    hint = f"name one; there are: {', '.join(sorted(map(str, there))) or 'none'}"
    if fitting:
        raise InvalidInput("several channels could be meant", hint=hint)
    wanted = "/".join(filter(None, (channel, account)))
    raise InvalidInput(f"there is no channel {wanted}" if wanted else "no channel is given", hint=hint)


def entry_of(letter: str) -> str:
    """The id of the entry in which a letter stands."""
    return derived_id("words of", letter)


def is_held_at(session: Session, to: Address) -> bool:
    """Whether a session is that of a room at a place, whichever account is in it."""
    facts = session.facts
    return facts.shared and (facts.channel, facts.peer, facts.thread) == (to.channel, to.to, to.thread)


def post(snapshot: Snapshot, letter: Letter, opening: OpenSession, policy: SendPolicy | None) -> Effects:
    """Send it, in a session that is opened if it is not there. Nothing is written of what may not go out."""
    session = snapshot.session or opening.session
    delivery = letter.delivery(session.key)
    verdict = sendpolicy.judge(policy, session, delivery)
    if not verdict.allowed:
        raise Unsendable(verdict.rule)
    words = AssistantMessage(content=(Text(letter.text),), at=letter.at)
    entry = EntryDraft(id=entry_of(letter.id), body=words)
    return (
        *(() if snapshot.session else (opening,)),
        AppendEntries(key=session.key, drafts=(entry,)),
        AddDelivery(delivery=delivery),
    )
