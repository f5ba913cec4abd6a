"""Guests: people whom the owner let in on a channel because they asked, and those who ask.

Who asks is told a code in his chat, and is let in by whoever gives that code to the owner: a name can be anybody's.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeAlias, TypeVar

from roost.core.addresses import Account, Address
from roost.core.errors import InvalidInput, NotFound
from roost.core.identities import Identity

Found = TypeVar("Found")

ASKING_MS = 60 * 60_000
TELL_AGAIN_MS = 60_000
# Of one account: whoever cannot be stopped from asking costs no more than so many answers an hour.
MOST_ASKING = 3
MOST_GUESTS = 1_000

LetIn: TypeAlias = Mapping[Account, frozenset[str]]
"""Who may write by which account, as a list of people names them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knock:
    """Someone who asks to be let in where he wrote. The `code` is told in that chat, and to nobody else; while it is not
    `told`, it may be from `ready_at` on. `identity` is spelled as its channel compares ids."""

    id: str
    identity: Identity
    chat: Address
    code: str
    at: int
    name: str | None = None
    told: bool = False
    ready_at: int = 0

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
    let_in: LetIn = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        lists: dict[Account, set[str]] = {}
        for one in self.known:
            lists.setdefault(one.chat.served_by, set()).add(_entry(one.identity))
        found = MappingProxyType({account: frozenset(names) for account, names in lists.items()})
        object.__setattr__(self, "let_in", found)


Decide: TypeAlias = Callable[[Guests], tuple[Guests, Found]]
NOBODY = Guests()


def knock(guests: Guests, wanted: Knock) -> tuple[Guests, Guest | Knock | None]:
    """Remember who asks: a guest already, or a knock whose code is now to be told by whoever is answered so, and by nobody
    else meanwhile. None where there is nothing to tell, or too many ask."""
    guests, now = _fresh(guests, wanted.at), wanted.at
    met: tuple[Row, ...] = (*guests.known, *guests.asking)
    match next((one for one in met if _is_same(one, wanted)), None):
        case Guest() as guest:
            return guests, guest
        case Knock() as before if before.told or now < before.ready_at:
            return guests, None
        case Knock() as before:
            # What is told now is good from now on.
            again = replace(before, at=now, ready_at=now + TELL_AGAIN_MS)
            return _changed(guests, before.id, lambda _: again), again
        case _ if _is_full(guests, wanted.chat.served_by):
            return guests, None
        case _:
            first = replace(wanted, ready_at=now + TELL_AGAIN_MS)
            return replace(guests, asking=(*guests.asking, first)), first


def told(guests: Guests, knock_id: str) -> tuple[Guests, None]:
    """Somebody has his code, as far as is known."""
    return _changed(guests, knock_id, lambda one: replace(one, told=True)), None


def untold(guests: Guests, knock_id: str, ready_at: int) -> tuple[Guests, None]:
    """He does not have his code, and cannot be told it before that."""

    def later(asked: Knock) -> Knock:
        return replace(asked, told=False, ready_at=max(asked.ready_at, ready_at))

    return _changed(guests, knock_id, later), None


def notice(asked: Knock) -> str:
    """What is said to who asks."""
    return (
        f"I do not know you yet, so I have not read your message. Give the code {asked.code} to whoever runs me: "
        "it is good for an hour. Write again once you are let in."
    )


def lapsed(guests: Guests, now: int) -> tuple[Guests, None]:
    """Forget who asked too long ago."""
    return _fresh(guests, now), None


def admit(guests: Guests, code: str, now: int) -> tuple[Guests, Guest]:
    """Let in who was told this code."""
    guests = _fresh(guests, now)
    given = code.strip().upper()
    asked = next((one for one in guests.asking if one.code == given), None)
    if asked is None:
        raise NotFound(
            "nobody who asks to be let in has this code",
            hint="a code is good for an hour: who writes again then is told another one",
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


def _is_full(guests: Guests, account: Account) -> bool:
    return sum(one.chat.served_by == account for one in guests.asking) >= MOST_ASKING


def _changed(guests: Guests, knock_id: str, change: Callable[[Knock], Knock]) -> Guests:
    return replace(guests, asking=tuple(change(one) if one.id == knock_id else one for one in guests.asking))


def _fresh(guests: Guests, now: int) -> Guests:
    return replace(guests, asking=tuple(one for one in guests.asking if one.live(now)))


def _without(guests: Guests, knocked: Knock) -> Guests:
    return replace(guests, asking=tuple(one for one in guests.asking if one.id != knocked.id))
