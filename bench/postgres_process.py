"""A gateway on PostgreSQL in a process of its own, for as long as its standard input is open.

python -m bench.postgres_process <database> <base URL of the model> <name>: says when it serves.
"""

import asyncio
import os
import sys

import uvloop

from bench.model_process import SLOW
from roost.clock import SystemClock
from roost.core.leases import Gateway
from roost.core.models import ModelRef, ModelSpec
from roost.core.runs import Lane
from roost.core.tools import Place
from roost.core.turntaking import Limits
from roost.engine.gateway import Engine
from roost.engine.ids import FreshIds
from roost.engine.rules import Part, Rules
from roost.models.endpoints import Endpoint
from roost.models.openai import OpenAIModel
from roost.stores.postgres import PostgresStore

# So few that models are waited for, and not the machine that all of this is measured on.
AT_ONCE = 4


async def main(database: str, model_url: str, name: str) -> None:
    clock = SystemClock()
    store = await PostgresStore.open(database, clock)
    model = OpenAIModel(Endpoint(provider="fake", base_url=model_url), clock)
    part = Part(
        model=model,
        spec=ModelSpec(ref=ModelRef("fake", SLOW), context_window=1_000_000, max_tokens=4_096),
        reason="the only model",
        system="You are measured.",
        place=Place(workspace="/nonexistent"),
    )
    rules = Rules(
        cast=lambda session, run: part, limits=Limits(ceiling=2 * AT_ONCE, lanes={Lane.MAIN: AT_ONCE})
    )
    engine = Engine(store, clock, FreshIds(clock), rules, [], jitter=lambda: 0.0)
    async with engine.serving(Gateway(name=name, holder=str(os.getpid()))):
        print("serves", flush=True)
        await asyncio.to_thread(sys.stdin.read)
    await model.aclose()
    await store.close()


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))
