"""The sub-agents of a session as a person counts them in a chat: which one a number means, and what `all` are."""

import pytest

from roost.core.childviews import MOST_CHILDREN
from roost.core.effects import Effect
from roost.core.exchanges import CompletionStatus
from roost.core.keys import SessionKey
from roost.core.messages import ToolResult
from roost.core.models import ModelRequest
from roost.core.runs import RunState
from roost.core.snapshots import Snapshot
from roost.core.sources import child_key
from roost.engine.scheduler import RUNS
from roost.ports import Topic, TopicKind
from roost.testing import builders
from roost.testing.scripts import Hang, Say, Script, Until
from tests.flows.nursery import MAIN, Nursery, announcing, call, newest, spawns, task_of
from tests.flows.test_threads import GATEWAY

pytestmark = pytest.mark.timeout(60)

NAMES = ("one", "two", "three", "four", "five")


@pytest.mark.requirement("D64", "S16")
async def test_a_child_keeps_the_number_it_was_listed_under_when_another_is_gone(nursery: Nursery) -> None:
    def act(request: ModelRequest) -> Script:
        if announcing(request):
            return [Say("told")]
        if task := task_of(request):
            return [Until(nursery.answered), Say("done")] if task == "one" else [Hang()]
        if isinstance(newest(request), ToolResult):
            return [Say("Begun.")]
        kept = [call("sessions_spawn", f"c-{name}", task=name, label=name) for name in NAMES[1:]]
        return [*spawns("one", label="one", cleanup="delete"), *kept]

    async def first_gone() -> bool | None:
        return True if len(await nursery.descendants()) == len(NAMES) - 1 else None

    async def killed() -> SessionKey | None:
        ended = {one.child: one.status for one in await bench.store.spawned(MAIN)}
        return next((key for key, status in ended.items() if status is CompletionStatus.KILLED), None)

    nursery.act, bench = act, nursery.bench
    async with nursery.engine().serving(GATEWAY):
        await bench.say("go")
        assert await bench.replies() == ("Begun.",)
        await bench.say("/subagents")
        listed = (await bench.replies(at_least=2))[-1].splitlines()[1:]
        assert [line.partition(":")[0] for line in listed] == [
            f"#{number} {name}" for number, name in enumerate(NAMES, start=1)
        ]
        nursery.answered.set()
        await bench.store.wait_for(Topic(TopicKind.RUNS), first_gone)
        await bench.say("/subagents kill 1")
        await bench.say("/subagents kill 2")
        replies = await bench.replies(at_least=5)
        assert "There is no sub-agent 1. /subagents list shows them." in replies
        assert "Stopped 1 sub-agent." in replies
        row = await nursery.session(await bench.store.wait_for(RUNS, killed))
        await bench.say("/stop")
        await bench.replies(at_least=6)
    assert row.labels.label == "two"


@pytest.mark.requirement("D64")
async def test_all_means_also_one_at_work_that_many_others_were_active_after(nursery: Nursery) -> None:
    def act(request: ModelRequest) -> Script:
        if task_of(request):
            return [Hang()]
        return [Say("Begun.")] if isinstance(newest(request), ToolResult) else spawns("slow")

    def others(snapshot: Snapshot) -> tuple[Effect, ...]:
        later = nursery.bench.clock.now() + 1_000
        keys = [child_key("main", f"later-{number}") for number in range(MOST_CHILDREN)]
        return tuple(builders.opening(builders.session(key, at=later, parent=MAIN), str(key)) for key in keys)

    async def killed() -> bool | None:
        (owed,) = await nursery.bench.store.spawned(MAIN)
        run = await nursery.bench.store.run(owed.child_run)
        ended = run is not None and run.state is RunState.KILLED
        return True if ended and owed.status is CompletionStatus.KILLED else None

    nursery.act, bench = act, nursery.bench
    async with nursery.engine().serving(GATEWAY):
        await bench.say("go")
        assert await bench.replies() == ("Begun.",)
        await bench.store.change_session(MAIN, others)
        await bench.say("/subagents kill all")
        assert (await bench.replies(at_least=2))[-1] == "Stopped 1 sub-agent."
        await bench.store.wait_for(RUNS, killed)
