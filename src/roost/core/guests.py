"""Guests: people whom the owner let in on a channel because they asked, and those who ask.

Who asks is told a code in his chat, and is let in by whoever gives that code to the owner: a name can be anybody's.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from roost.core.addresses import Account, Address
from roost.core.admission import ChannelPolicy
from roost.core.errors import InvalidInput, NotFound
from roost.core.identities import Identity

Found = TypeVar("Found")

ASKING_MS = 60 * 60_000
# Of one account: whoever cannot be stopped from asking costs no more than so many answers an hour.
MOST_ASKING = 3
MOST_GUESTS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Knock:
    """Someone who asks to be let in where he wrote. The `code` is told in that chat, and to nobody else; `told` once the
    channel has it."""

    id: str
    identity: Identity
    chat: Address
    code: str
    at: int
    name: str | None = None
    told: bool = False

    def live(self, now: int) -> bool:
        return now < self.at + ASKING_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """Someone who may write by the account of the chat in which he asked."""

    id: str
    identity: Identity
    chat: Address
    since: int
    name: str | None = None


Row: TypeAlias = Guest | Knock


@dataclass(frozen=True, slots=True, kw_only=True)
class Guests:
    """All there are, and all who ask to be one."""

    known: tuple[Guest, ...] = ()
    asking: tuple[Knock, ...] = ()

    def through(self, door: ChannelPolicy, account: Account) -> ChannelPolicy:
        """The door of an account, which those who were let in there may pass."""
        here = frozenset(_entry(one.identity) for one in self.known if one.chat.served_by == account)
        return replace(door, paired=here) if here else door


Decide: TypeAlias = Callable[[Guests], tuple[Guests, Found]]
NOBODY = Guests()


def knock(guests: Guests, wanted: Knock) -> tuple[Guests, Guest | Knock | None]:
    """Remember who asks; who asks again, or was let in meanwhile, is known already. None where too many ask."""
    guests = _fresh(guests, wanted.at)
    met: tuple[Row, ...] = (*guests.known, *guests.asking)
    before = next((one for one in met if _is_same(one, wanted)), None)
    if before is not None:
        return guests, before
    account = wanted.chat.served_by
    if sum(one.chat.served_by == account for one in guests.asking) >= MOST_ASKING:
        return guests, None
    return replace(guests, asking=(*guests.asking, wanted)), wanted


def told(guests: Guests, knock_id: str) -> tuple[Guests, None]:
    """Somebody has his code."""
    asking = tuple(replace(one, told=True) if one.id == knock_id else one for one in guests.asking)
    return replace(guests, asking=asking), None


def notice(asked: Knock) -> str:
    """What is said to who asks."""
    return (
        f"I do not know you yet, so I have not read your message. Give the code {asked.code} to whoever runs me: "
        "it is good for an hour. Write again once you are let in."
    )


def admit(guests: Guests, code: str, now: int) -> tuple[Guests, Guest]:
    """Let in who was told this code."""
    guests = _fresh(guests, now)
    given = code.strip().upper()
    asked = next((one for one in guests.asking if one.code == given), None)
    if asked is None:
        raise NotFound(
            "nobody who asks to be let in has this code",
            hint="a code is good for an hour: have it told again by a new message, or see who asks",
        )
    if len(guests.known) >= MOST_GUESTS:
        raise InvalidInput(
            f"{MOST_GUESTS} people are let in by pairing", hint="remove one who does not write any more"
        )
    guest = Guest(id=asked.id, identity=asked.identity, chat=asked.chat, since=now, name=asked.name)
    return _without(replace(guests, known=(*guests.known, guest)), asked), guest


def turn_away(guests: Guests, knock_id: str, now: int) -> tuple[Guests, Knock]:
    """Forget who asks. He may ask again."""
    guests = _fresh(guests, now)
    asked = next((one for one in guests.asking if one.id == knock_id), None)
    if asked is None:
        raise NotFound("nobody asks under this requestId", hint="see who asks")
    return _without(guests, asked), asked


def remove(guests: Guests, guest_id: str) -> tuple[Guests, Guest]:
    """Let somebody in no longer."""
    found = next((one for one in guests.known if one.id == guest_id), None)
    if found is None:
        raise NotFound("nobody is let in under this personId", hint="see who is")
    return replace(guests, known=tuple(one for one in guests.known if one is not found)), found


def row_name(one: Row) -> str:
    """What a guest or a knock is kept under."""
    return f"guest:{one.id}" if isinstance(one, Guest) else f"knock:{one.id}"


def gathered(rows: Iterable[object]) -> Guests:
    """Those among what is kept of whoever was let in."""
    found = tuple(rows)
    return Guests(
        known=tuple(one for one in found if isinstance(one, Guest)),
        asking=tuple(one for one in found if isinstance(one, Knock)),
    )


def rows_of(guests: Guests) -> dict[str, Row]:
    rows: tuple[Row, ...] = (*guests.known, *guests.asking)
    return {row_name(one): one for one in rows}


def _entry(identity: Identity) -> str:
    return f"{identity.channel}:{identity.id}"


def _is_same(one: Row, other: Row) -> bool:
    return one.identity == other.identity and one.chat.served_by == other.chat.served_by


def _fresh(guests: Guests, now: int) -> Guests:
    return replace(guests, asking=tuple(one for one in guests.asking if one.live(now)))


def _without(guests: Guests, knocked: Knock) -> Guests:
    return replace(guests, asking=tuple(one for one in guests.asking if one is not knocked))
