"""Children over time: what they are found by, when they are put away, and what they cost."""

import json
from dataclasses import replace
from functools import reduce
from pathlib import Path
from random import Random

import pytest

from roost.config import load, policies
from roost.core.leases import Gateway
from roost.core.messages import ToolResult, Usage
from roost.core.models import FailureKind, ModelRequest
from roost.core.principals import OWNER
from roost.core.queries import LedgerQuery
from roost.core.reach import SessionReach
from roost.core.visibility import Level, PersonCaller
from roost.engine.rules import Housekeeping
from roost.models.retry import RetryingModel
from roost.scanners.stdlib import StdlibScanner
from roost.stores.memory import MemoryStore
from roost.testing.clock import FakeClock
from roost.testing.scripts import Fail, Say, Script, Spend
from roost.tools.access import Access
from roost.tools.sessions_list import SessionsList
from tests.flows.gateways import Bench
from tests.flows.nursery import MAIN, Nursery, call, newest, results, said_to, spawns, task_of
from tests.scale import count

GATEWAY = Gateway(name="flow", holder="flow")


HOUR_MS = 3_600_000


@pytest.mark.requirement("D55")
async def test_a_child_is_found_by_the_task_that_a_list_shows_and_by_nothing_that_it_does_not(
    nursery: Nursery,
) -> None:
    access = Access(nursery.bench.store, nursery.bench.clock, SessionReach(agent="main", level=Level.TREE))
    nursery.more = (SessionsList(access, StdlibScanner(), lambda session: None),)

    def act(request: ModelRequest) -> Script:
        if task_of(request):
            return [Say("Nine crates.")]
        if not said_to(request).endswith("look"):
            return one_child(request)
        searches = ("WAREHOUSE", "Subagent Context", "Begin now")
        asked = [
            call("sessions_list", f"l{number}", search=search, includeDerivedTitles=True)
            for number, search in enumerate(searches)
        ]
        return [Say("Looked.")] if isinstance(newest(request), ToolResult) else asked

    nursery.act = act
    engine = nursery.engine()
    async with engine.serving(GATEWAY):
        await nursery.bench.say("go")
        await nursery.bench.replies(at_least=2)
        await engine.settled()
        await nursery.bench.say("look")
        await nursery.bench.replies(at_least=3)
    lists = results(nursery.newest_of_main())[1:]
    shown = [[row["derivedTitle"] for row in found["sessions"]] for found in lists]
    assert shown == [["count the warehouse"], [], []]


@pytest.mark.requirement("D28")
@pytest.mark.parametrize(("minutes", "after_ms"), [(None, HOUR_MS), (5, 300_000), (0, None)])
async def test_a_child_is_archived_so_long_after_its_end_as_configured(
    minutes: int | None, after_ms: int | None, tmp_path: Path
) -> None:
    given = {} if minutes is None else {"archiveAfterMinutes": minutes}
    (tmp_path / "roost.json").write_text(json.dumps({"agents": {"defaults": {"subagents": given}}}))
    clock = FakeClock()
    nursery = Nursery(Bench(MemoryStore(clock, FakeClock()), clock), act=one_child)
    settings = load({"ROOST_HOME": str(tmp_path)}).settings
    nursery.bench.change(house=Housekeeping(retention=policies.retention(settings)))
    engine = nursery.engine()
    async with engine.serving(GATEWAY):
        await nursery.bench.say("go")
        await nursery.bench.replies(at_least=2)
        await engine.settled()
        clock.advance(after_ms or 24 * HOUR_MS)
        await engine.sweeper.sweep()
        (child,) = await nursery.descendants()
        assert child.times.archived is None
        clock.advance(1)
        await engine.sweeper.sweep()
    (child,) = await nursery.descendants()
    assert (child.times.archived is not None) is (after_ms is not None)
    assert await nursery.bench.store.entries(child.session_id)


def one_child(request: ModelRequest) -> Script:
    if task_of(request):
        return [Say("done")]
    return [Say("Begun.")] if isinstance(newest(request), ToolResult) else spawns("count the warehouse")


@pytest.mark.requirement("P19")
async def test_the_ledger_is_the_bill_of_the_provider_to_the_token(nursery: Nursery) -> None:
    """Retries, children of children and announcements included; deleting sessions changes no total."""
    chance, billed, failures = Random(19), list[Usage](), 0
    turns = count(5, 60)

    def act(request: ModelRequest) -> Script:
        nonlocal failures
        if chance.random() < 0.2:
            failures += 1
            return [Fail(FailureKind.TRANSIENT, retry_after_ms=0)]
        told, said, cost = (chance.randint(1, most) for most in (9_999, 999, 99))
        billed.append(Usage(input=told, output=said, total=told + said, cost_micros=cost))
        tasks = {None: ("outer", "plain"), "outer": ("inner",)}.get(task_of(request), ())
        told_to = any(mark in said_to(request) for mark in ("go ahead", "[Subagent Task]"))
        fresh = tasks and told_to and not isinstance(newest(request), ToolResult)
        return [*(spawns(*tasks) if fresh else [Say("done")]), Spend(billed[-1])]

    nursery.act = act
    retrying = RetryingModel(nursery.bench.model, nursery.bench.clock, attempts=20, chance=lambda: 0.0)
    nursery.bench.change(cast=lambda session, run: replace(nursery.cast(session, run), model=retrying))
    engine = nursery.engine()
    store = nursery.bench.store
    async with engine.serving(GATEWAY):
        for turn in range(turns):
            await nursery.bench.say(f"go ahead, {turn}")
            await nursery.bench.replies(at_least=3 * (turn + 1))
            await engine.settled()
        spent = reduce(Usage.plus, billed)
        total = await store.usage(LedgerQuery())
        assert (total.calls, total.usage) == (len(billed), spent)
        assert failures
        assert await store.usage(LedgerQuery(tree_of=MAIN)) == total
        for child in await nursery.descendants():
            await engine.operations.delete(PersonCaller(principal=OWNER), child.key)
    assert await nursery.descendants() == []
    assert await store.usage(LedgerQuery()) == await store.usage(LedgerQuery(tree_of=MAIN)) == total
