from dataclasses import replace

import pytest

from roost.core.deliveries import Delivery, DeliveryState
from roost.core.effects import ChangeSession
from roost.core.errors import StoreUnavailable
from roost.core.keys import SessionKey
from roost.core.messages import Text, ToolCall
from roost.core.runs import Request, Run
from roost.core.sessions import Overrides, Session
from roost.core.snapshots import Decide
from roost.core.tools import ToolOutcome
from roost.engine.rulebook import Rulebook
from roost.engine.rules import CommandRules
from roost.engine.toolnotices import ToolNotices
from roost.scanners.stdlib import StdlibScanner
from roost.stores.memory import MemoryStore
from roost.testing.builders import MAIN
from tests.unit.engine.scenes import Scene

CALL = ToolCall(id="c1", name="exec", arguments={"command": "ls"})
DONE = ToolOutcome(content=(Text("a file"),))


class Away(MemoryStore):
    """A store that is away now and then."""

    reads = writes = True

    async def session(self, key: SessionKey) -> Session | None:
        if not self.reads:
            raise StoreUnavailable("the store is away")
        return await super().session(key)

    async def change_session(self, key: SessionKey, decide: Decide) -> Session | None:
        if not self.writes:
            raise StoreUnavailable("the store is away")
        return await super().change_session(key, decide)


async def prepared(level: str | None, request: Request | None = None) -> tuple[Scene, Away, Run]:
    scene = Scene()
    store = Away(scene.clock)
    scene.store = store
    run = await scene.claimed(request=request)
    overrides = Overrides(verbose=level)
    await store.change_session(MAIN, lambda snapshot: (ChangeSession(key=MAIN, overrides=overrides),))
    return scene, store, run


async def notices(scene: Scene, run: Run) -> ToolNotices:
    rules = replace(scene.rules, commands=CommandRules(scanner=StdlibScanner()))
    told_by = ToolNotices(scene.store, scene.clock, Rulebook(rules), run)
    await told_by.look()
    return told_by


async def waiting(store: MemoryStore) -> list[str]:
    found: tuple[Delivery, ...] = await store.deliveries(DeliveryState.INTENT, 100)
    return [one.text for one in found]


@pytest.mark.parametrize(
    ("level", "told"),
    [(None, []), ("on", ["exec: ls"]), ("full", ["exec: ls", "exec is done:\na file"])],
)
async def test_a_chat_is_told_what_it_asked_for(level: str | None, told: list[str]) -> None:
    scene, store, run = await prepared(level)
    told_by = await notices(scene, run)
    await told_by.began(CALL)
    await told_by.over(CALL, DONE)
    assert await waiting(store) == told


async def test_a_call_that_is_begun_again_is_told_once() -> None:
    scene, store, run = await prepared("on")
    for _ in range(2):
        await (await notices(scene, run)).began(CALL)
    assert await waiting(store) == ["exec: ls"]


async def test_without_a_chat_the_store_is_not_even_asked() -> None:
    scene, store, run = await prepared("full", Request())
    store.reads = False
    await (await notices(scene, run)).began(CALL)
    assert await waiting(store) == []


async def test_a_run_goes_on_when_the_store_is_away() -> None:
    scene, store, run = await prepared("full")
    store.writes = False
    await (await notices(scene, run)).began(CALL)
    store.reads = False
    await (await notices(scene, run)).over(CALL, DONE)
    assert await waiting(store) == []


async def test_a_session_that_is_gone_is_told_nothing() -> None:
    scene, store, run = await prepared("full")
    elsewhere = replace(run, key=SessionKey.named("main", "elsewhere"))
    await (await notices(scene, elsewhere)).began(CALL)
    assert await waiting(store) == []
