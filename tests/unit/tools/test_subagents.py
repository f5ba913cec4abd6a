"""`subagents`: list, wait, steer and kill, beside what the flows show."""

import json
from dataclasses import replace
from typing import Any

import anyio
import pytest

from roost.core.childviews import MOST_CHILDREN
from roost.core.effects import (
    AcknowledgeCompletion,
    EndRun,
    KillInput,
    OweCompletion,
    QueueRun,
    SettleCompletion,
)
from roost.core.exchanges import Cleanup, CompletionStatus
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.notices import derived_id
from roost.core.rights import Rights
from roost.core.runs import Outcome, Request, RunKind, RunState
from roost.core.sources import child_key
from roost.core.visibility import Level
from roost.testing.builders import answered, run
from roost.tools.sessions_spawn import SessionsSpawn
from roost.tools.subagents import Subagents
from tests import samples
from tests.contract.scenes import change, known_run, started
from tests.unit.tools.calls import nowhere, text_of
from tests.unit.tools.houses import SCANNER, SIDE, House
from tests.unit.tools.test_sessions_spawn import RULES

STATUS = {RunState.DONE: CompletionStatus.OK, RunState.FAILED: CompletionStatus.ERROR}


class Nest:
    """A session with children, none of whom is played."""

    def __init__(self) -> None:
        self.house = House()
        self.stopped: list[str] = []

    async def begin(self, *labels: str, cleanup: Cleanup = Cleanup.KEEP) -> None:
        await self.house.family()
        lease = await self.house.store.acquire_lease(Gateway(name="g", holder="g"))
        await started(self.house.store, lease, "r1")
        for number, label in enumerate(labels):
            invocation = replace(
                self.house.invocation({"task": f"do {label}", "label": label, "cleanup": cleanup}),
                call_id=f"s{number}",
                rights=Rights(spawns=1),
            )
            await SessionsSpawn(self.house.access, RULES).run(invocation, nowhere)
            self.house.clock.advance(1)

    async def ask(self, call_id: str = "c1", **arguments: Any) -> dict[str, Any]:
        tool = Subagents(self.house.access, SCANNER, lambda run, reason: self.stopped.append(run))
        outcome = await tool.run(replace(self.house.invocation(arguments), call_id=call_id), nowhere)
        text = text_of(outcome)
        return dict(json.loads(text)) if text.startswith("{") else {"refused": text}

    async def end(
        self,
        number: int,
        state: RunState = RunState.DONE,
        error: str | None = None,
        *,
        result: str | None = None,
        heard: bool = False,
    ) -> SessionKey:
        one = (await self.house.store.completions(self.house.key))[number]
        outcome = Outcome(state=state, at=self.house.clock.now(), error=error)
        run = await known_run(self.house.store, one.child_run)
        await change(
            self.house.store,
            KillInput(inbound_id=derived_id("task", str(one.child)), reason="over"),
            EndRun(run_id=run.id, outcome=outcome),
            SettleCompletion(
                child_run=run.id, status=STATUS[state], at=outcome.at, error=error, result=result
            ),
            *([AcknowledgeCompletion(child_run=run.id, at=outcome.at)] if heard else []),
            key=one.child,
        )
        return one.child


@pytest.fixture
async def nest() -> Nest:
    nest = Nest()
    await nest.begin("a", "b")
    return nest


@pytest.mark.requirement("D64")
async def test_children_are_listed_at_work_or_lately_ended(nest: Nest) -> None:
    await nest.end(0)
    told = await nest.ask(action="list")
    assert [view["label"] for view in told["active"]] == ["b"]
    assert [(view["label"], view["status"]) for view in told["recent"]] == [("a", "done")]
    assert told["text"] == "#1 a: done\n#2 b: queued"
    nest.house.clock.advance(31 * 60_000)
    assert (await nest.ask(action="list"))["recent"] == []
    assert len((await nest.ask(action="list", recentMinutes=60))["recent"]) == 1


async def test_all_who_are_at_work_below_a_child_are_counted_and_its_own_children_waited_for(
    nest: Nest,
) -> None:
    parent = (await nest.house.store.completions(nest.house.key))[0].child
    for name in ("one-below", "two-below", "three-below"):
        child = SessionKey.parse(f"agent:main:subagent:{name}")
        await nest.house.open(child, parent=parent)
        owed = replace(samples.completion(name), child=child, requester=parent)
        await change(nest.house.store, OweCompletion(completion=owed), key=parent)
        parent = child
    shown = (await nest.ask(action="list"))["active"]
    assert [(one["status"], one["pendingDescendants"]) for one in shown] == [
        ("active (waiting on 1 child)", 3),
        ("queued", 0),
    ]


async def test_a_session_without_children_is_told_so() -> None:
    nest = Nest()
    await nest.begin()
    assert (await nest.ask(action="list"))["text"] == "No sub-agents at work or lately."


async def test_a_wait_is_over_when_the_time_is_and_tells_how_far_it_is(nest: Nest) -> None:
    told = await nest.ask(action="wait", target="all", timeoutSeconds=0)
    assert told["status"] == "timeout"
    assert [view["status"] for view in told["children"]] == ["queued", "queued"]


@pytest.mark.parametrize("seconds", [0, 1])
async def test_a_wait_for_who_has_ended_is_over_at_once_however_short_it_may_be(
    nest: Nest, seconds: int
) -> None:
    await nest.end(0)
    told = await nest.ask(action="wait", target="a", timeoutSeconds=seconds)
    assert (told["status"], [view["status"] for view in told["children"]]) == ("ok", ["done"])


async def test_a_wait_returns_what_was_said_or_what_went_wrong(nest: Nest) -> None:
    child = await nest.end(0)
    await nest.house.store.append(child, (answered("e1", "NO_REPLY"), answered("e2", "it is 5")))
    failed = await nest.end(1, RunState.FAILED, "it broke")
    await nest.house.store.append(failed, (answered("e3", "half"),))
    said = await nest.ask(action="wait", target="a")
    assert said["children"][0]["result"] == "it is 5"
    broken = await nest.ask(action="wait", target="b")
    assert broken["children"][0]["error"] == "it broke"


async def test_a_wait_returns_what_a_child_found_also_where_that_has_been_announced(nest: Nest) -> None:
    child = await nest.end(0)
    announcing = run("tells", child, request=Request(kind=RunKind.ANNOUNCE))
    over = Outcome(state=RunState.DONE, at=nest.house.clock.now())
    await change(
        nest.house.store, QueueRun(run=announcing), EndRun(run_id=announcing.id, outcome=over), key=child
    )
    told = replace(answered("e2", "Result: 5\nNotes: none"), run_id=announcing.id)
    await nest.house.store.append(child, (answered("e1", "it is 5"), told))
    waited = await nest.ask(action="wait", target="a")
    assert waited["children"][0]["result"] == "it is 5"


@pytest.mark.parametrize(
    ("state", "said", "told"),
    [
        (
            RunState.DONE,
            {"result": "it is sk-" + "a1B2" * 8},
            {"result": "it is sk-a1B…a1B2", "status": "done"},
        ),
        (RunState.FAILED, {"error": "it broke"}, {"error": "it broke", "status": "failed"}),
    ],
)
async def test_a_wait_tells_how_a_child_ended_whose_session_goes_with_its_end(
    state: RunState, said: dict[str, Any], told: dict[str, str]
) -> None:
    nest = Nest()
    await nest.begin("a", cleanup=Cleanup.DELETE)
    heard: list[dict[str, Any]] = []

    async def wait() -> None:
        heard.append(await nest.ask(action="wait", target="a"))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        child = await nest.end(0, state, heard=True, **said)
    assert await nest.house.store.session(child) is None
    (row,) = heard[0]["children"]
    assert heard[0]["status"] == "ok"
    assert told.items() <= row.items()


@pytest.mark.requirement("D64")
async def test_a_child_at_work_is_listed_however_many_were_active_after_it(nest: Nest) -> None:
    for number in range(MOST_CHILDREN):
        await nest.house.open(child_key("main", f"later-{number}"), parent=nest.house.key)
    told = await nest.ask(action="list")
    assert [view["label"] for view in told["active"]] == ["a", "b"]


@pytest.mark.requirement("D64")
async def test_a_child_keeps_its_number_when_another_is_gone() -> None:
    nest = Nest()
    await nest.begin("a", "b", cleanup=Cleanup.DELETE)
    assert (await nest.ask(action="list"))["text"] == "#1 a: queued\n#2 b: queued"
    await nest.end(0, heard=True)
    assert (await nest.ask(action="steer", target="2", message="more"))["label"] == "b"


@pytest.mark.requirement("P24")
async def test_what_a_child_said_is_told_without_its_secrets_and_not_without_end(nest: Nest) -> None:
    child = await nest.end(0)
    secret = "sk-" + "a1B2" * 8
    await nest.house.store.append(child, (answered("e1", f"the key is {secret} " + "x" * 5_000),))
    (told,) = (await nest.ask(action="wait", target="a"))["children"]
    assert secret not in told["result"]
    assert told["result"].startswith("the key is sk-")
    assert (len(told["result"]), told["contentRedacted"], told["contentTruncated"]) == (4_000, True, True)


@pytest.mark.requirement("P24")
async def test_what_is_told_of_a_child_has_no_secrets_in_it() -> None:
    secret = "sk-" + "a1B2" * 8
    nest = Nest()
    await nest.begin(f"b {secret}", "c")
    await nest.end(0, RunState.FAILED, f"wrong key {secret}")
    told = [
        await nest.ask(action="list"),
        await nest.ask(action="wait", target=f"b {secret}"),
        await nest.ask(action="steer", target="1", message="more"),
        await nest.ask(action="kill", target="b sk-a1B…a1B2"),
    ]
    assert not [one for one in told if secret[6:-4] in str(one)]
    assert [one["status"] for one in told] == ["ok", "ok", "done", "done"]
    assert told[1]["children"][0]["error"] == "wrong key sk-a1B…a1B2"


async def test_a_child_that_said_nothing_has_no_result(nest: Nest) -> None:
    await nest.end(0)
    told = await nest.ask(action="wait", target="a")
    assert "result" not in told["children"][0]


async def test_a_word_is_said_once_however_often_the_call_is_made(nest: Nest) -> None:
    first = await nest.ask(action="steer", target="a", message="faster")
    assert (first["status"], first["mode"]) == ("accepted", "steered")
    again = await nest.ask(action="steer", target="a", message="faster")
    assert again["status"] == "accepted"
    at_once = await nest.ask("c2", action="steer", target="a", message="even faster")
    assert (at_once["status"], "just now" in at_once["error"]) == ("forbidden", True)


async def test_who_has_ended_is_not_steered_or_killed(nest: Nest) -> None:
    await nest.end(0)
    assert (await nest.ask(action="steer", target="a", message="x"))["status"] == "done"
    assert (await nest.ask(action="kill", target="a"))["status"] == "done"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"action": "dance"}, "list, wait, steer or kill"),
        ({"action": "steer", "target": "a", "message": " "}, "`message` is empty"),
        ({"action": "steer", "target": "all", "message": "x"}, "only one"),
        ({"action": "kill"}, "`target` is missing"),
    ],
)
async def test_what_is_wrong_is_told(nest: Nest, arguments: dict[str, str], said: str) -> None:
    assert said in (await nest.ask(**arguments))["refused"]


@pytest.mark.requirement("S16")
async def test_a_session_controls_its_own_children_and_nobody_elses(nest: Nest) -> None:
    own = str((await nest.house.store.completions(nest.house.key))[0].child)
    nest.house.key = SIDE
    for action in ("kill", "wait", "steer"):
        told = await nest.ask(action=action, target=own, message="x")
        assert told["status"] == "error"
        assert "there is no sub-agent" in told["error"]
    assert (await nest.ask(action="kill", target="all"))["killed"] == 0


@pytest.mark.requirement("P8", "D64")
@pytest.mark.parametrize("action", ["list", "wait", "steer", "kill"])
async def test_where_tools_reach_one_session_only_the_setting_is_named_and_no_child_denied(
    nest: Nest, action: str
) -> None:
    nest.house.seeing(Level.SELF)
    told = await nest.ask(action=action, target="all", message="x")
    assert told["status"] == "forbidden"
    assert "tools.sessions.visibility" in told["error"]
    (denial,) = await nest.house.store.denials(10)
    assert denial.rule == "self_visibility_restricted"


@pytest.mark.parametrize("level", [Level.SELF, Level.TREE])
async def test_who_spawned_nothing_has_no_children_whatever_tools_reach(level: Level) -> None:
    nest = Nest()
    await nest.house.family()
    nest.house.key = SIDE
    nest.house.seeing(level)
    assert (await nest.ask(action="list"))["total"] == 0
