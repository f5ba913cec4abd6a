"""Sub-agents where the session tools reach no other session: nobody is told that there are none."""

import pytest

from roost.core.messages import ToolResult
from roost.core.models import ModelRequest
from roost.core.sessions import SessionStatus
from roost.core.visibility import Level
from roost.testing.scripts import Hang, Say, Script
from tests.flows.nursery import Nursery, call, newest, results, spawns, task_of
from tests.flows.test_threads import GATEWAY

pytestmark = pytest.mark.timeout(30)

ACTIONS = ("list", "wait", "kill")


@pytest.mark.requirement("P8", "D64")
async def test_who_may_not_see_the_child_at_work_that_it_spawned_is_told_which_setting_says_so(
    nursery: Nursery,
) -> None:
    def act(request: ModelRequest) -> Script:
        if task_of(request):
            return [Hang()]
        if not isinstance(newest(request), ToolResult):
            return spawns("slow")
        if len(results(request)) == 1:
            return [call("subagents", action, action=action, target="all") for action in ACTIONS]
        return [Say("I cannot.")]

    nursery.act, nursery.level, bench = act, Level.SELF, nursery.bench
    async with nursery.engine().serving(GATEWAY):
        await bench.say("go")
        assert await bench.replies() == ("I cannot.",)
        (child,) = await nursery.descendants()
        assert child.status in (SessionStatus.QUEUED, SessionStatus.RUNNING)
        await bench.say("/stop")
        await bench.replies(at_least=2)
    spawned, *told = results(nursery.newest_of_main())
    assert spawned["status"] == "accepted"
    assert [one["status"] for one in told] == ["forbidden"] * len(ACTIONS)
    assert all("the owner can change tools.sessions.visibility" in one["error"] for one in told)
