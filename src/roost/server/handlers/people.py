"""Letting people in who asked for it on a channel, and letting them in no longer."""

import logging
from functools import partial
from operator import attrgetter

from roost.core import guests
from roost.core.identities import Identity
from roost.protocol.convert.people import asking, person
from roost.protocol.families.people import CodeParams, Decided, People, PersonParams, RequestParams
from roost.protocol.params import NoParams
from roost.server.calls import Call

_log = logging.getLogger(__name__)


async def list_people(call: Call, params: NoParams) -> People:
    found, now = await call.house.store.guests(), call.house.clock.now()
    return People(
        ts=now,
        asking=[asking(one) for one in sorted(found.asking, key=attrgetter("at")) if one.live(now)],
        people=[person(one) for one in sorted(found.known, key=attrgetter("since"))],
    )


async def approve(call: Call, params: CodeParams) -> Decided:
    now = call.house.clock.now()
    decide = partial(guests.admit, code=params.code, now=now)
    guest = await call.house.store.change_guests(decide)
    _note(call, guest.identity, "approved")
    return Decided(decision="approved", ts=now, person=person(guest))


async def reject(call: Call, params: RequestParams) -> Decided:
    now = call.house.clock.now()
    decide = partial(guests.turn_away, knock_id=params.request_id, now=now)
    asked = await call.house.store.change_guests(decide)
    _note(call, asked.identity, "rejected")
    return Decided(decision="rejected", ts=now, person=asking(asked))


async def remove(call: Call, params: PersonParams) -> Decided:
    decide = partial(guests.remove, guest_id=params.person_id)
    guest = await call.house.store.change_guests(decide)
    _note(call, guest.identity, "removed")
    return Decided(decision="removed", ts=call.house.clock.now(), person=person(guest))


def _note(call: Call, who: Identity, what: str) -> None:
    """An id comes from a channel: so nothing of it may end a line."""
    _log.info("%s:%s was %s by %s", who.channel, ascii(who.id)[1:-1], what, call.client.admitted)
