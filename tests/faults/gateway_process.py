"""A whole gateway in a process of its own, on a SQLite file, that talks to the test's platform and model.

python -m tests.faults.gateway_process <database> <platform's socket> <base URL of the model> <name of the gateway>
    [<milliseconds a model may be silent> [<messages that may wait>]]
It says on its standard output what it waits for and when it serves, and as the command does why it ended.
"""

import asyncio
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

from roost.cli.main import refused
from roost.clock import SystemClock
from roost.core.admission import ChannelPolicy, DmPolicy
from roost.core.errors import RoostError
from roost.core.leases import Gateway
from roost.core.models import ModelRef, ModelSpec
from roost.core.queuesettings import QueuePolicy, QueueSettings
from roost.core.routing import RoutingRules
from roost.core.scopes import DmScope
from roost.core.tools import Place
from roost.engine.gateway import Engine
from roost.engine.ids import FreshIds
from roost.engine.rules import Part, Rules
from roost.models.endpoints import Endpoint
from roost.models.openai import OpenAIModel
from roost.ports import Clock, Store
from roost.stores.sqlite import SqliteStore
from tests.faults.numbered import SHORT, settings, stop_all
from tests.faults.platform import NAME, PlatformChannel

SPEC = ModelSpec(ref=ModelRef("fake", "one"), context_window=1_000_000, max_tokens=4_096)


def say(line: str) -> None:
    # Not buffered: what was said is read even after a kill.
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


def rules(model: OpenAIModel, idle_ms: int, queue: QueueSettings) -> Rules:
    part = Part(
        model=model,
        spec=SPEC,
        reason="the only model",
        system="You are a test.",
        place=Place(workspace="/nonexistent"),
        context=SHORT,
    )
    return Rules(
        cast=lambda session, run: part,
        doors={NAME: ChannelPolicy(dm_policy=DmPolicy.OPEN)},
        routing=RoutingRules(dm_scope=DmScope.PER_CHANNEL_PEER),
        queue=QueuePolicy(base=queue),
        stream_idle_ms=idle_ms,
    )


async def obey(
    channel: PlatformChannel,
    store: Store,
    engine: Engine,
    clock: Clock,
    ruled: Callable[[QueueSettings], Rules],
) -> None:
    """Do to this gateway what the platform's test wants done to it."""
    while True:
        while channel.orders:
            order = channel.orders.pop(0)
            match order["do"]:
                case "stop":
                    await stop_all(store, engine, clock.now())
                case "reload":
                    await engine.reload(ruled(settings(Random(order["seed"]))))
                case "settle":
                    await engine.settled()
                    say("settled: yes")
        await channel.news()


async def main(
    database: str, socket: str, model_url: str, name: str, idle_ms: str = "60000", cap: str = "20"
) -> None:
    clock = SystemClock()
    store = SqliteStore.open(Path(database), clock)
    model = OpenAIModel(Endpoint(provider="fake", base_url=model_url), clock)
    gateway = Gateway(name=name, holder=f"process {os.getpid()}", address=f"unix:{name}")
    try:
        async with PlatformChannel.connected(socket) as channel:
            ruled = partial(rules, model, int(idle_ms))
            chosen = ruled(QueueSettings(debounce_ms=0, cap=int(cap)))
            engine = Engine(store, clock, FreshIds(clock), chosen, [channel], jitter=lambda: 0.0)
            async with engine.standing_by(gateway, lambda error: say(f"waits: {error}")) as lease:
                say(f"serves: epoch {lease.epoch}")
                await obey(channel, store, engine, clock, ruled)
    finally:
        await model.aclose()
        await store.close()


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except (RoostError, ExceptionGroup) as error:
        sys.exit(refused(error))
