"""Stops that were asked for at another gateway: stored with the run, heeded where it is under way."""

from roost.engine.stops import Stops
from roost.ports import Store, Topic, TopicKind

STOPS = Topic(TopicKind.STOPS)


async def heed(store: Store, stops: Stops) -> None:
    """End what is under way here and was asked to end, until cancelled."""

    async def look() -> bool | None:
        for run_id in stops.underway:
            run = await store.run(run_id)
            if run is not None and run.stop is not None:
                stops.end(run_id, run.stop.reason)
        return None

    await store.wait_for(STOPS, look)
