"""Who writes uninvited where people are let in by pairing: told a code once, by which the owner lets him in."""

import logging
from collections.abc import Mapping
from functools import partial

from roost.core import guests
from roost.core.addresses import Account
from roost.core.deliveries import Confirmed, Delivery, DeliveryKind, Unknown
from roost.core.envelopes import Envelope, reply_address
from roost.core.guests import Guest, Guests, Knock
from roost.core.identities import Identity
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

    async def follow(self) -> None:
        """Let in whoever is let in through any gateway, and nobody else any more, until cancelled."""

        async def news() -> bool | None:
            self._book.let_in(await self._store.guests())
            return None

        await self._store.wait_for(GUESTS, news)

    async def answer(self, envelope: Envelope) -> bool:
        """Whether somebody who seemed a stranger was let in meanwhile; one who was not is told how to be."""
        chat = reply_address(envelope)
        channel = None if chat is None else self._channels.get(chat.served_by)
        if chat is None or channel is None:
            return False
        wanted = Knock(
            id=self._new_id(),
            identity=Identity(channel=envelope.channel, id=envelope.sender.id or ""),
            chat=chat,
            code=new_code(),
            at=self._clock.now(),
            name=envelope.sender.name,
        )
        match await self._met(wanted):
            case Guest():
                self._book.let_in(await self._store.guests())
                return True
            case Knock(told=False) as asked:
                await self._tell(channel, envelope, asked)
        return False

    async def _met(self, wanted: Knock) -> Guest | Knock | None:
        known: Guests = await self._store.guests()
        after, met = guests.knock(known, wanted)
        # Whoever writes on and on costs no transaction that others wait for.
        if after == known:
            return met
        return await self._store.change_guests(partial(guests.knock, wanted=wanted))

    async def _tell(self, channel: Channel, envelope: Envelope, asked: Knock) -> None:
        # As no session is his yet, it is no row: who was not told is told with his next message.
        route = await routed(self._store, envelope, UNKNOWN, self._book.current.routing, None)
        notice = Delivery(
            id=f"pairing-{asked.id}",
            key=route.key,
            address=asked.chat,
            kind=DeliveryKind.NOTICE,
            text=guests.notice(asked),
            created_at=asked.at,
        )
        try:
            result = await within(self._clock, LONGEST_SEND_MS, partial(channel.send, notice))
        except OutOfTime as error:
            result = Unknown(error=str(error))
        except Exception as broken:  # noqa: BLE001 — a channel that breaks must not refuse the message
            _log.exception("channel %s broke while a code was told", asked.chat.served_by)
            result = Unknown(error=repr(broken))
        if isinstance(result, Confirmed):
            await self._store.change_guests(partial(guests.told, knock_id=asked.id))
        else:
            _log.warning("whoever asks as %s was not told his code: %s", asked.id, result.error)
