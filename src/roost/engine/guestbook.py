"""Who writes uninvited where people are let in by pairing: told a code once, by which the owner lets him in."""

import logging
from collections.abc import Mapping
from functools import partial

import anyio

from roost.core import guests, sendpolicy
from roost.core.addresses import Account, Address, ChatType
from roost.core.deliveries import Confirmed, Delivery, DeliveryKind, Postponed, Rejected, SendResult, Unknown
from roost.core.envelopes import Envelope, reply_address
from roost.core.guests import Guest, Guests, Knock
from roost.core.identities import Identity
from roost.core.keys import SessionKey
from roost.core.principals import UNKNOWN
from roost.engine.ids import new_code
from roost.engine.reaching import routed
from roost.engine.rulebook import Rulebook
from roost.engine.rules import NewId
from roost.ports import Channel, Clock, Store, Topic, TopicKind
from roost.ports.limits import OutOfTime, within

GUESTS = Topic(TopicKind.GUESTS)
# Other messages of the channel may wait behind this one.
LONGEST_SEND_MS = 10_000

_log = logging.getLogger(__name__)


class Guestbook:
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
        self._looking = anyio.Lock()

    async def look(self) -> Guests:
        """Let in whoever is let in, and nobody else any more."""
        # An older answer must not come after a newer one.
        async with self._looking:
            guests = await self._store.guests()
            self._book.let_in(guests.let_in)
        return guests

    async def follow(self) -> None:
        """Look whenever somebody was let in or shown out through any gateway, until cancelled."""

        async def news() -> bool | None:
            await self.look()
            return None

        await self._store.wait_for(GUESTS, news)

    async def answer(self, envelope: Envelope) -> bool:
        """Whether somebody who seemed a stranger was let in meanwhile; one who was not is told how to be."""
        chat = reply_address(envelope)
        channel = None if chat is None else self._channels.get(chat.served_by)
        if chat is None or channel is None:
            return False
        known = await self.look()
        wanted = self._knock(envelope, chat)
        after, met = guests.knock(known, wanted)
        if isinstance(met, Guest):
            return True
        # Whoever writes on and on costs no transaction that others wait for.
        if after == known or not await self._may_answer(envelope, chat):
            return False
        met = await self._store.change_guests(partial(guests.knock, wanted=wanted))
        if isinstance(met, Knock):
            await self._tell(channel, envelope, met)
        return isinstance(met, Guest)

    def _knock(self, envelope: Envelope, chat: Address) -> Knock:
        traits = self._book.current.door(chat.served_by).traits.of(envelope.channel)
        return Knock(
            id=self._new_id(),
            identity=Identity(
                channel=envelope.channel, id=traits.fold(ChatType.DIRECT, envelope.sender.id or "")
            ),
            chat=chat,
            code=new_code(),
            at=self._clock.now(),
            name=envelope.sender.name,
        )

    async def _may_answer(self, envelope: Envelope, chat: Address) -> bool:
        key = await self._key(envelope)
        policy = self._book.current.sending
        return sendpolicy.decide(policy, key, channel=chat.channel, chat_type=ChatType.DIRECT).allowed

    async def _key(self, envelope: Envelope) -> SessionKey:
        """Of the conversation that this would be."""
        return (await routed(self._store, envelope, UNKNOWN, self._book.current.routing, None)).key

    async def _tell(self, channel: Channel, envelope: Envelope, asked: Knock) -> None:
        # As no session is his yet, it is no row: who was not told is told with a later message.
        delivery = Delivery(
            id=f"pairing-{asked.id}",
            key=await self._key(envelope),
            address=asked.chat,
            kind=DeliveryKind.NOTICE,
            text=guests.notice(asked),
            created_at=asked.at,
        )
        has_it = partial(guests.told, knock_id=asked.id)
        if not channel.abilities.dedupes:
            # It must not come twice, also if nobody here lives to hear that it arrived.
            await self._store.change_guests(has_it)
        result = await self._sent(channel, delivery)
        match result:
            case Confirmed():
                await self._store.change_guests(has_it)
                return
            case Postponed() | Rejected():
                ready_at = result.ready_at if isinstance(result, Postponed) else asked.ready_at
                await self._store.change_guests(partial(guests.untold, knock_id=asked.id, ready_at=ready_at))
        _log.warning("whoever asks as %s may not have been told his code: %s", asked.id, result.error)

    async def _sent(self, channel: Channel, delivery: Delivery) -> SendResult:
        try:
            return await within(self._clock, LONGEST_SEND_MS, partial(channel.send, delivery))
        except OutOfTime as error:
            return Unknown(error=str(error))
        except Exception as broken:  # noqa: BLE001 — a channel that breaks must not refuse the message
            _log.exception("channel %s broke while a code was told", delivery.address.served_by)
            return Unknown(error=repr(broken))
