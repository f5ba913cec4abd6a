"""One thread from a message through all that it led to."""

import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from roost.core.deliveries import DeliveryState
from roost.core.events import EventKind
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.messages import ToolResult
from roost.core.models import ModelRequest
from roost.core.principals import OWNER
from roost.core.queries import SessionQuery
from roost.core.reach import SessionReach
from roost.core.runs import Run
from roost.core.sending import SendRules
from roost.core.sessions import Labels, Overrides
from roost.core.visibility import Level, PersonCaller
from roost.scanners.stdlib import StdlibScanner
from roost.testing.scripts import Say, Script
from roost.tools.access import Access
from roost.tools.sessions_send import SessionsSend
from tests.flows.nursery import Nursery, call, newest, nurseries, said_to, spawns, task_of
from tests.grounds import Ground

GATEWAY = Gateway(name="flow", holder="flow")
OTHER = SessionKey.named("main", "other")


@pytest.fixture(params=["memory", "sqlite"])
async def nursery(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Nursery]:
    async with nurseries(Ground(request.param, tmp_path), acted) as nursery:
        reach = SessionReach(agent="main", level=Level.AGENT)
        access = Access(nursery.bench.store, nursery.bench.clock, reach)
        rules = SendRules(agents=frozenset({"main"}), max_turns=0)
        nursery.more = (SessionsSend(access, StdlibScanner(), rules),)
        yield nursery


def acted(request: ModelRequest) -> Script:
    if "go" not in said_to(request) or task_of(request):
        return [Say("done")]
    if isinstance(newest(request), ToolResult):
        return [Say("All are told.")]
    return [
        *spawns("one", "two"),
        call("sessions_send", "c-send", sessionKey=str(OTHER), message="tell me", timeoutSeconds=0),
    ]


async def _runs(nursery: Nursery) -> list[Run]:
    store, found = nursery.bench.store, []
    for session in (await store.list_sessions(SessionQuery(archived=None))).rows:
        for event in await store.events(session.key, after=0, limit=1000):
            run = await store.run(event.ref) if event.kind is EventKind.RUN_ENDED else None
            found += [run] if run else []
    return found


@pytest.mark.requirement("P29")
async def test_children_sends_and_deliveries_are_of_the_trace_of_the_message(
    nursery: Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    engine, bench = nursery.engine(), nursery.bench
    with caplog.at_level(logging.INFO, logger="roost"):
        async with engine.serving(GATEWAY):
            await engine.operations.open(PersonCaller(principal=OWNER), OTHER, Labels(), Overrides())
            await bench.say("go")
            await bench.replies(at_least=3)
            await engine.settled()
            await bench.say("/explain trace")
            told = (await bench.replies(at_least=4))[-1]
    runs = await _runs(nursery)
    traces = {run.cause.trace for run in runs}
    assert len(traces) == 1
    assert {run.key.kind for run in runs} >= {OTHER.kind, (await nursery.descendants())[0].key.kind}
    assert {str(run.key) for run in runs} >= {
        str(OTHER),
        *(str(one.key) for one in await nursery.descendants()),
    }
    assert len(runs) >= 4
    sent = await bench.store.deliveries(DeliveryState.CONFIRMED, 100)
    assert {one.run_id for one in sent if one.run_id} <= {run.id for run in runs}
    (trace,) = traces
    assert trace in told
    logged = {
        record.__dict__.get("run") for record in caplog.records if record.__dict__.get("trace") == trace
    }
    assert logged >= {run.id for run in runs}
    delivered = [one for one in caplog.records if one.getMessage().startswith("delivery ")]
    assert trace in {one.__dict__.get("trace") for one in delivered}
    assert {one.__dict__.get("trace") for one in delivered if one.__dict__.get("run")} == {trace}
