"""Tells the gateway's owner when jobs begin and end. Read from what is stored, so that it is told wherever they ran."""

from collections.abc import Iterator

from roost.core.firings import Firing, FiringState
from roost.core.jsonvalue import JsonObject
from roost.ports import Topic, TopicKind
from roost.protocol.convert.jobs import firing_row
from roost.protocol.events import CRON, Audience, WireEvent
from roost.server.house import House

JOBS = Topic(TopicKind.JOBS)
PAGE = 100


def tell_owner(house: House, payload: JsonObject) -> None:
    """Timers are the owner's: nobody else hears of them."""
    owners = [client for client in house.clients if client.admitted.principal.is_owner]
    house.clients.tell(WireEvent(name=CRON, payload=payload, audience=Audience.READERS), among=owners)


class Firings:
    def __init__(self, house: House) -> None:
        self._house = house
        self._told: dict[str, FiringState] = {}

    async def serve(self) -> None:
        """Tell of what comes until cancelled; what was before is not news."""
        self._told = {one.id: one.state for one in await self._newest()}

        async def news() -> None:
            await self._look()

        await self._house.store.wait_for(JOBS, news)

    async def _newest(self) -> tuple[Firing, ...]:
        return (await self._house.store.firings(None, limit=PAGE)).rows

    async def _look(self) -> None:
        rows = await self._newest()
        for firing in reversed(rows):
            for stage in _news(self._told.get(firing.id), firing):
                job = await self._house.store.job(firing.job_id)
                tell_owner(self._house, firing_row(stage, job, self._house.scanner))
        self._told = {one.id: one.state for one in rows}


def _news(told: FiringState | None, firing: Firing) -> Iterator[Firing]:
    """What is to be told of a firing: that it began, also if it is over already, and how it came out."""
    began = firing.state is not FiringState.SKIPPED
    if told is None and began:
        yield firing.begun
    if firing.state not in (told, FiringState.STARTED):
        yield firing
