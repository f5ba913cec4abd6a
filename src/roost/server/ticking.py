"""What clients are told so that they know the gateway lives, and when it leaves."""

from roost.core.jsonvalue import JsonObject
from roost.protocol.events import HEALTH, PRESENCE, SHUTDOWN, TICK, Audience, WireEvent
from roost.protocol.handshake import RESTARTS, SERVICE_RESTART, TICK_MS
from roost.server.callers import LEAVING
from roost.server.house import House, Phase
from roost.server.nodeplaces import note
from roost.server.snapshots import health, presence

HEALTH_EVERY = 2
PRESENCE_MS = 1_000


async def tick(house: House) -> None:
    """Every half minute until cancelled, with how it does every minute."""
    beats = 0
    while True:
        await house.clock.sleep(TICK_MS)
        beats += 1
        event = WireEvent(name=TICK, payload={"ts": house.clock.now()}, audience=Audience.EVERYONE)
        house.clients.tell(event)
        if beats % HEALTH_EVERY == 0:
            house.clients.tell(WireEvent(name=HEALTH, payload=health(house), audience=Audience.READERS))


async def announce(house: House) -> None:
    """Until cancelled, tell who is there whenever a device came or went, other gateways too; several at once are told of
    once."""
    await note(house)
    while True:
        await house.clients.moved()
        await note(house)
        # Once for each who asks, not for each connection: many come back at the same time.
        for caller, clients in house.clients.by_caller().items():
            payload: JsonObject = {"presence": presence(house, caller)}
            house.clients.tell(
                WireEvent(name=PRESENCE, payload=payload, audience=Audience.READERS), among=clients
            )
        await house.clock.sleep(PRESENCE_MS)


def say_goodbye(house: House) -> None:
    """Nothing more is taken, and everybody is told."""
    house.phase = Phase.STOPPING
    payload = {"reason": "gateway stopping"}
    house.clients.tell(WireEvent(name=SHUTDOWN, payload=payload, audience=Audience.EVERYONE))
    house.clients.close(SERVICE_RESTART, RESTARTS)


def dismiss_callers(house: House) -> None:
    """Whoever still waits for an answer over HTTP need not wait for one that this gateway gives."""
    for stay in house.callers:
        stay.dismiss(LEAVING)
