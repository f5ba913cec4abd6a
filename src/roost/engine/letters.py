"""Sends what a person asks to be sent to a place on a channel, and waits to hear what became of it."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

from roost.core import admission, letters
from roost.core.addresses import Account, Address
from roost.core.admission import Admitted, DmPolicy
from roost.core.arrivals import Opening, first
from roost.core.deliveries import Delivery, DeliveryState
from roost.core.effects import Effects
from roost.core.envelopes import answer_to, origin_of
from roost.core.errors import Conflict, InvalidInput, Undelivered
from roost.core.facts import facts_of
from roost.core.inbound import refuse_other
from roost.core.keys import SessionKey
from roost.core.ledger import Denial
from roost.core.letters import Letter, Unsendable
from roost.core.queries import SessionQuery
from roost.core.snapshots import Snapshot
from roost.core.splitting import part_id
from roost.engine.reaching import routed
from roost.engine.rulebook import Rulebook
from roost.engine.rules import NewId
from roost.ports import Channel, Clock, Store, Topic, TopicKind
from roost.ports.limits import if_within

_log = logging.getLogger(__name__)

LONGEST_WAIT_MS = 30_000
_SEARCHED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """How far a letter is, in all its parts."""

    parts: tuple[Delivery, ...]

    @property
    def worst(self) -> Delivery:
        """The part that did not arrive, or that is last to."""
        return max(self.parts, key=lambda part: _GRAVITY.index(part.state))


_GRAVITY = (
    DeliveryState.CONFIRMED,
    DeliveryState.SENDING,
    DeliveryState.INTENT,
    DeliveryState.UNCERTAIN,
    DeliveryState.FAILED,
    DeliveryState.DISMISSED,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The conversation at a place: under which key, and as what it is opened."""

    key: SessionKey
    opening: Opening


_UNDER_WAY = (DeliveryState.SENDING, DeliveryState.INTENT)


class Letters:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        new_id: NewId,
        book: Rulebook,
        channels: Mapping[Account, Channel],
    ) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._book = book
        self._channels = channels

    def address(self, to: str, channel: str | None, account: str | None, thread: str | None) -> Address:
        """A place on a channel that is served."""
        name, own = letters.chosen(self._channels, channel, account)
        return Address(channel=name, to=to, account=own, thread=thread)

    async def send(self, letter: Letter) -> Posted:
        """Send it once, and wait a while for its end."""
        sent = await self._store.delivery(letter.id)
        if sent is None:
            sent = await self._post(letter)
        refuse_other(sent.digest, letter.digest)
        return await self.became(sent)

    async def _post(self, letter: Letter) -> Delivery:
        held = await self.held_at(letter.to)
        opening = first(held.key, held.opening, letter.at)
        key, policy = held.key, self._book.current.sending

        def decide(snapshot: Snapshot) -> Effects:
            return letters.post(snapshot, letter, opening, policy)

        try:
            await self._store.change_session(key, decide)
        except Unsendable as kept:
            await self._store.record_denial(
                Denial(
                    at=letter.at,
                    operation="send",
                    principal=letter.by,
                    rule=kept.rule,
                    reason="the letter was not sent",
                    caller=key,
                    target=letter.id,
                )
            )
            raise
        except Conflict:
            # Said twice at the same time: the other one is it.
            sent = await self._store.delivery(letter.id)
            if sent is None:
                raise
            return sent
        _log.info("delivery %s was taken", letter.id, extra={"trace": letter.trace, "session": str(key)})
        return letter.delivery(key)

    async def held_at(self, to: Address) -> Held:
        """The session of the conversation at a place, which may not be there yet."""
        rules = self._book.current
        envelope, door = answer_to(to), rules.door(to.served_by)
        if not door.enabled:
            raise InvalidInput(
                f"{to.served_by} is off", hint="set `enabled` of the channel and account to true"
            )
        who = admission.decide(envelope, replace(door, dm_policy=DmPolicy.OPEN))
        if not isinstance(who, Admitted):
            raise InvalidInput(f"{to.to!r} is no place on {to.channel}")
        found = await self._store.thread_binding(to) if to.thread else None
        bound = rules.routing.threads.living(found, self._clock.now())
        known = bound.key if bound else await self._known(to)
        route = await routed(self._store, envelope, who.principal, rules.routing, known)
        opening = Opening(
            session_id=self._new_id(),
            # A child is known already: it is opened by its parent only.
            owner=rules.routing.ownership.met(route.key, who.principal, who.principal),
            facts=facts_of(route, envelope, rules.routing.main_name),
            origin=origin_of(envelope),
        )
        return Held(key=route.key, opening=opening)

    async def _known(self, to: Address) -> SessionKey | None:
        """A chat of several people is known by those who wrote in it; its place does not say that it is one."""
        page = await self._store.list_sessions(SessionQuery(search=to.to, archived=None, limit=_SEARCHED))
        return next((one.key for one in page.rows if letters.is_held_at(one, to)), None)

    async def became(self, sent: Delivery) -> Posted:
        """What became of a message and its parts, or how far they are when the time is over."""

        async def look() -> Posted:
            there: list[Delivery] = []
            while (part := await self._store.delivery(part_id(sent.id, len(there)))) is not None:
                there.append(part)
            if not there:
                raise Undelivered(f"session {sent.key} was deleted, and what became of the message with it")
            return Posted(parts=tuple(there))

        async def over() -> Posted | None:
            posted = await look()
            return None if posted.worst.state in _UNDER_WAY else posted

        async def wait() -> Posted:
            return await self._store.wait_for(Topic(TopicKind.SESSION, str(sent.key)), over)

        return await if_within(self._clock, LONGEST_WAIT_MS, wait) or await look()
