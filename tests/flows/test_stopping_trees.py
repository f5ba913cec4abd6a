"""A tree of sessions is stopped while every run of it has programs in the background: real ones, in real sandboxes."""

import shutil
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import anyio
import pytest

from roost.core.leases import Gateway
from roost.core.messages import ToolResult, UserMessage, text_of
from roost.core.models import ModelRequest
from roost.core.queries import HistoryQuery
from roost.core.sessions import SessionStatus
from roost.core.tools import Place
from roost.core.topics import Topic, TopicKind
from roost.sandboxes.bubblewrap import Bubblewrap
from roost.testing.scripts import Say, Script, Until
from roost.tools.exec import Exec
from tests.flows.gateways import ADA, place
from tests.flows.nursery import (
    MAIN,
    Nursery,
    call,
    newest,
    nurseries,
    results,
    said_to,
    spawns,
    task_of,
)
from tests.grounds import Ground
from tests.parts import NeedPart
from tests.scale import count
from tests.unit.sandboxes.programs import NAP, alive, moments

GATEWAY = Gateway(name="flow", holder="flow")
# 4 children, of whom each has 2, of whom each has 1.
BELOW = {"main": ("a", "b", "c", "d"), "child": ("one", "two"), "grandchild": ("last",)}
RUNS = 4 + 8 + 8
# A machine that is busy with other tests says nothing about the time.
STOPPED_WITHIN_S = count(30, 3)
BACKGROUND = f"(setsid {NAP} >/dev/null 2>&1 &) ; trap '' TERM; while :; do sleep 1000; done"


@pytest.fixture
async def nursery(tmp_path: Path, need_part: NeedPart) -> AsyncIterator[Nursery]:
    need_part("bubblewrap", present=shutil.which("bwrap") is not None, remedy="apt install bubblewrap")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    async with nurseries(Ground("sqlite", tmp_path), lambda request: [Say("nothing")]) as nursery:
        nursery.place = Place(workspace=str(workspace), sandboxed=True)
        nursery.more = (Exec(Bubblewrap(), sandboxed=True),)
        yield nursery


def busy(below: Sequence[str]) -> Script:
    """Spawn, then run something that does not end."""
    return [*spawns(*below), call("exec", command=BACKGROUND)]


def descendant(task: str) -> Script:
    match task:
        case "a" | "b" | "c" | "d":
            return busy(BELOW["child"])
        case "one" | "two":
            return busy(BELOW["grandchild"])
        case _:
            return busy(())


async def all_at_work(programs: int) -> None:
    async for _ in moments():
        if alive(NAP).count(NAP) == programs:
            return


async def until_quiet(nursery: Nursery) -> None:
    async def check() -> bool | None:
        rows = [*await nursery.descendants(), await nursery.bench.store.session(MAIN)]
        under_way = (SessionStatus.RUNNING, SessionStatus.QUEUED)
        return None if any(row is None or row.status in under_way for row in rows) else True

    await nursery.bench.store.wait_for(Topic(TopicKind.RUNS), check)


async def told_by(nursery: Nursery) -> list[int]:
    """How many of its children each session was told were killed, the most first."""
    found: list[int] = []
    for key in (MAIN, *(row.key for row in await nursery.descendants())):
        page = await nursery.bench.store.history(HistoryQuery(key=key, limit=100))
        said = [text_of(entry.body) for entry in page.entries if isinstance(entry.body, UserMessage)]
        found.append(sum("Status: killed" in text for text in said))
    return sorted(found, reverse=True)


@pytest.mark.requirement("D51", "P27", "F8")
async def test_stop_ends_a_tree_with_every_process_of_it(nursery: Nursery) -> None:
    nursery.act = lambda request: descendant(task) if (task := task_of(request)) else busy(BELOW["main"])
    bench = nursery.bench
    with anyio.fail_after(60):
        async with nursery.engine().serving(GATEWAY):
            await bench.say("go")
            await all_at_work(RUNS + 1)
            asked = len(bench.model.requests)
            with anyio.fail_after(STOPPED_WITHIN_S):
                await bench.say("/stop")
                (answer,) = await bench.replies()
                await until_quiet(nursery)
            assert alive(NAP) == []
            assert answer == (
                f"Stopped {RUNS + 1} runs. Cleared 0 waiting messages. Stopped {RUNS} sub-agents."
            )
        assert len(bench.model.requests) == asked
    assert bench.channel.replies(place(ADA)) == (answer,)
    rows = await nursery.descendants()
    assert [row.status for row in rows] == [SessionStatus.KILLED] * RUNS
    assert await told_by(nursery) == [4, *[2] * 4, *[1] * 8, *[0] * 8]


@pytest.mark.requirement("P27", "F8")
async def test_killing_all_sub_agents_gives_their_runs_back_and_ends_every_process(nursery: Nursery) -> None:
    go = anyio.Event()

    def act(request: ModelRequest) -> Script:
        if task := task_of(request):
            return descendant(task)
        if "Status: killed" in said_to(request):
            return [Say("I know.")]
        if not isinstance(newest(request), ToolResult):
            return spawns(*BELOW["main"])
        if len(results(request)) == len(BELOW["main"]):
            return [Until(go), call("subagents", action="kill", target="all")]
        return [Say("All gone.")]

    nursery.act = act
    bench = nursery.bench
    with anyio.fail_after(60):
        async with nursery.engine().serving(GATEWAY):
            await bench.say("go")
            await all_at_work(RUNS)
            with anyio.fail_after(STOPPED_WITHIN_S):
                go.set()
                await bench.replies()
            assert alive(NAP) == []
            await until_quiet(nursery)
    (killed,) = [
        one
        for request in bench.model.requests
        for one in results(request)[-1:]
        if one.get("action") == "kill"
    ][:1]
    assert (killed["status"], killed["killed"], len(set(killed["runIds"]))) == ("ok", RUNS, RUNS)
    assert "stillEnding" not in killed
    rows = await nursery.descendants()
    assert [row.status for row in rows] == [SessionStatus.KILLED] * RUNS
    assert bench.channel.replies(place(ADA)) == ("All gone.",)
    assert await told_by(nursery) == [4, *[2] * 4, *[1] * 8, *[0] * 8]
