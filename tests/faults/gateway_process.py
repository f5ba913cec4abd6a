"""A whole gateway in a process of its own, on a SQLite file, that talks to the test's platform and model.

python -m tests.faults.gateway_process <database> <platform's socket> <base URL of the model> <name of the gateway>
It says on its standard output what it waits for and when it serves, and as the command does why it ended.
"""

import asyncio
import os
import sys
from pathlib import Path

from roost.cli.overview import refused
from roost.clock import SystemClock
from roost.core import queueing
from roost.core.admission import ChannelPolicy, DmPolicy
from roost.core.errors import RoostError
from roost.core.leases import Gateway
from roost.core.models import ModelRef, ModelSpec
from roost.core.queries import SessionQuery
from roost.core.queuesettings import QueuePolicy, QueueSettings
from roost.core.routing import RoutingRules
from roost.core.scopes import DmScope
from roost.core.tools import Place
from roost.engine.gateway import Engine
from roost.engine.ids import FreshIds
from roost.engine.rules import Part, Rules
from roost.models.openai import Endpoint, OpenAIModel
from roost.ports import Store
from roost.stores.sqlite import SqliteStore
from tests.faults.platform import NAME, PlatformChannel

SPEC = ModelSpec(ref=ModelRef("fake", "one"), context_window=1_000_000, max_tokens=4_096)
STOPPED = "stopped by a test"


def say(line: str) -> None:
    # Not buffered: what was said is read even after a kill.
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


def rules(model: OpenAIModel, idle_ms: int) -> Rules:
    part = Part(
        model=model,
        spec=SPEC,
        reason="the only model",
        system="You are a test.",
        place=Place(workspace="/nonexistent"),
    )
    return Rules(
        cast=lambda session, run: part,
        doors={NAME: ChannelPolicy(dm_policy=DmPolicy.OPEN)},
        routing=RoutingRules(dm_scope=DmScope.PER_CHANNEL_PEER),
        queue=QueuePolicy(base=QueueSettings(debounce_ms=0)),
        stream_idle_ms=idle_ms,
    )


async def stop_everything(store: Store, engine: Engine, at: int) -> None:
    """What a stop does: the queue is emptied, then the run ends."""
    for session in (await store.list_sessions(SessionQuery(limit=100))).rows:
        clear = await store.change_session(session.key, lambda now: queueing.clear(now, at, STOPPED))
        if clear.running is not None:
            engine.stops.end(clear.running.id, STOPPED)


async def obey(channel: PlatformChannel, store: Store, engine: Engine) -> None:
    clock = SystemClock()
    while True:
        while channel.orders:
            channel.orders.pop(0)
            await stop_everything(store, engine, clock.now())
        await channel.news()


async def main(database: str, socket: str, model_url: str, name: str, idle_ms: str = "60000") -> None:
    clock = SystemClock()
    store = SqliteStore.open(Path(database), clock)
    model = OpenAIModel(Endpoint(provider="fake", base_url=model_url), clock)
    gateway = Gateway(name=name, holder=f"process {os.getpid()}", address=f"unix:{name}")
    try:
        async with PlatformChannel.connected(socket) as channel:
            engine = Engine(
                store, clock, FreshIds(clock), rules(model, int(idle_ms)), [channel], jitter=lambda: 0.0
            )
            async with engine.standing_by(gateway, lambda error: say(f"waits: {error}")) as lease:
                say(f"serves: epoch {lease.epoch}")
                await obey(channel, store, engine)
    finally:
        await model.aclose()
        await store.close()


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except (RoostError, ExceptionGroup) as error:
        sys.exit(refused(error))
