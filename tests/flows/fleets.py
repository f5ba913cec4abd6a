"""Two gateways on one PostgreSQL, in one process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from roost.clock import SystemClock
from roost.core.addressed import Addressed
from roost.core.grants import Scope
from roost.core.keys import SessionKey
from roost.core.principals import OWNER
from roost.core.runs import Lane, Run
from roost.core.topics import Topic, TopicKind
from roost.core.turntaking import Limits
from roost.engine.gateway import Engine
from roost.ports import Accepted, Store
from roost.stores.postgres import PostgresStore
from tests import postgres
from tests.flows.gateways import Bench

MAIN = SessionKey.named("main", "main")
# Only so that a test that hangs ends.
LONG_S = 120
NOTHING = Limits(ceiling=0)
TURNS_ONLY = Limits(ceiling=8, lanes={lane: 0 for lane in Lane if lane is not Lane.MAIN})
NO_TURNS = Limits(ceiling=8, lanes={Lane.MAIN: 0})


@dataclass
class Fleet:
    """`here` takes up runs, `there` does not."""

    here: Bench
    there: Bench

    def share(self) -> None:
        """`here` takes up what people say, `there` all that follows from it."""
        self.here.change(limits=TURNS_ONLY)
        self.there.change(limits=NO_TURNS)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[tuple[Engine, Engine]]:
        async with self.here.serving("here") as (here, _), self.there.serving("there") as (there, _):
            yield here, there


@asynccontextmanager
async def fleets(server: str, how: str = "") -> AsyncIterator[Fleet]:
    """With an empty store; `how` is what the address says besides."""
    await postgres.empty(server)
    clock = SystemClock()
    stores = [await PostgresStore.open(f"{server}{how}", clock) for _ in range(2)]
    here, there = [Bench(store, clock) for store in stores]
    there.change(limits=NOTHING)
    yield Fleet(here, there)
    for store in stores:
        await store.close()


async def say(engine: Engine, text: str, name: str = "m-1") -> Accepted:
    accepted = await engine.inbox.say(
        Addressed(
            key=MAIN,
            principal=OWNER,
            text=text,
            run_id=f"run of {name}",
            idempotency_key=name,
            scopes=tuple(Scope),
        )
    )
    assert isinstance(accepted, Accepted)
    return accepted


async def ended(store: Store, run_id: str) -> Run:
    async def over() -> Run | None:
        run = await store.run(run_id)
        return run if run and run.state.ended else None

    return await store.wait_for(Topic(TopicKind.SESSION, str(MAIN)), over)
