"""`sessions_spawn`: give a task to a session of its own and go on."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from roost.core.delegation import Delegation
from roost.core.effects import (
    AcknowledgeCompletion,
    ChangeSession,
    DeleteSession,
    EndRun,
    KillInput,
    QueueRun,
    RequestStop,
    SettleCompletion,
)
from roost.core.errors import Fenced, Forbidden, NotFound
from roost.core.exchanges import Cleanup, CompletionStatus
from roost.core.keys import KeyKind, SessionKey
from roost.core.leases import Gateway
from roost.core.models import ModelRef, ModelSpec
from roost.core.notices import derived_id
from roost.core.principals import OWNER
from roost.core.rights import Rights
from roost.core.runs import Outcome, Request, RunState, StopRequest
from roost.core.sessions import Counters
from roost.core.spawning import run_of
from roost.core.spawnwishes import ChildAgent, Models, SpawnRules, ThreadRules
from roost.core.terms import SpawnContext
from roost.core.threads import ThreadSettings
from roost.core.tools import ToolOutcome
from roost.stores.sqlite import SqliteStore
from roost.testing.builders import CHAT, MAIN, run
from roost.testing.clock import NOON
from roost.tools.sessions_spawn import SessionsSpawn
from tests.contract.scenes import change, known_run, started
from tests.unit.tools.calls import error_of, nowhere, text_of
from tests.unit.tools.houses import House

SPEC = ModelSpec(ref=ModelRef("demo", "demo"), context_window=8_000, max_tokens=100)


def ask_for(name: str) -> ModelSpec:
    if name == "demo/dear":
        raise Forbidden("the model demo/dear is not on the allow list", hint="there is: demo/demo")
    return find(name)


def find(name: str) -> ModelSpec:
    if name != "demo/demo":
        raise NotFound(f"there is no model {name}", hint="there is: demo/demo")
    return SPEC


RULES = SpawnRules(
    delegation=Delegation(agent="main", named=frozenset({"main", "ops"})),
    agents=("main", "ops"),
    child=lambda agent, depth: ChildAgent(rights=Rights(spawns=1), model=None, own_model="demo/demo"),
    models=Models(ask_for=ask_for, find=find),
    max_children=2,
)


class Spawning:
    """A house whose main session has a run under way that calls the tool."""

    def __init__(self) -> None:
        self.house = House()
        self.rights = Rights(spawns=2)

    async def begin(self) -> None:
        await self.house.family()
        lease = await self.house.store.acquire_lease(Gateway(name="g", holder="g"))
        await started(self.house.store, lease, "r1")

    async def call(
        self, call_id: str = "c1", tool: SessionsSpawn | None = None, **arguments: Any
    ) -> ToolOutcome:
        invocation = replace(
            self.house.invocation(arguments), call_id=call_id, rights=self.rights, model="demo/demo"
        )
        return await (tool or SessionsSpawn(self.house.access, RULES)).run(invocation, nowhere)

    async def spawn(self, call_id: str = "c1", **arguments: Any) -> dict[str, Any]:
        outcome = await self.call(call_id, **arguments)
        assert not outcome.is_error, text_of(outcome)
        found: dict[str, Any] = json.loads(text_of(outcome))
        return found

    async def refused(self, **arguments: Any) -> str:
        return error_of(await self.call(**arguments))


@pytest.mark.requirement("D21", "D65")
def test_a_model_is_told_what_a_child_has_if_nothing_is_asked_for() -> None:
    described = SessionsSpawn.spec.parameters["properties"]
    assert isinstance(described, Mapping)
    told = {name: str(one["description"]) for name, one in described.items() if isinstance(one, Mapping)}
    assert "Default: isolated; with `thread`, for your own agent, `fork`" in told["context"]
    assert ThreadSettings().context is SpawnContext.FORK
    assert told["model"].endswith("Default: as configured, else yours, or that of the other agent.")


@pytest.fixture
async def spawning() -> Spawning:
    spawning = Spawning()
    await spawning.begin()
    return spawning


@pytest.mark.requirement("P1")
async def test_a_spawn_that_is_made_again_is_not_in_the_way_of_its_own_child() -> None:
    spawning = Spawning()
    store = spawning.house.store
    await spawning.house.family()
    lease = await store.acquire_lease(Gateway(name="g", holder="g"))
    await change(store, QueueRun(run=run("r1", request=Request(reply_to=replace(CHAT, thread="t1")))))
    await store.claim_runs(lease, lambda backlog: ("r1",))
    rules = replace(RULES, threads=ThreadRules(known=lambda address: True))
    tool = SessionsSpawn(spawning.house.access, rules)
    answers = [
        await spawning.call(call_id, tool, task="count", thread=True) for call_id in ("c1", "c1", "c2")
    ]
    first, again, other = answers
    assert (first, first.is_error) == (again, False)
    assert "you have bound this thread" in error_of(other)


@pytest.mark.requirement("D21", "D23", "D26")
async def test_a_spawn_is_accepted_at_once_with_the_key_of_the_child(spawning: Spawning) -> None:
    told = await spawning.spawn(task="count", task_name="counting", cleanup="delete", run_timeout_seconds="7")
    key = SessionKey.parse(told["childSessionKey"])
    assert (told["status"], told["mode"], told["context"]) == ("accepted", "run", "isolated")
    assert (told["taskName"], told["resolvedModel"], told["runId"]) == ("counting", "demo/demo", run_of(key))
    (owed,) = await spawning.house.store.completions(MAIN)
    assert (owed.child, owed.batch, owed.cleanup) == (key, "r1", Cleanup.DELETE)
    run = await known_run(spawning.house.store, told["runId"])
    assert (run.request.longest_ms, run.request.reply_to) == (7_000, None)
    assert key.kind is KeyKind.SUBAGENT


@pytest.mark.requirement("D21")
async def test_by_default_a_child_has_no_time_limit_and_is_kept(spawning: Spawning) -> None:
    told = await spawning.spawn(task="count")
    (owed,) = await spawning.house.store.completions(MAIN)
    run = await known_run(spawning.house.store, told["runId"])
    assert (owed.cleanup, run.request.longest_ms) == (Cleanup.KEEP, None)


async def test_a_label_is_spelled_as_everywhere(spawning: Spawning) -> None:
    told = await spawning.spawn(task="count", label=" the\n counter ")
    row = await spawning.house.store.session(SessionKey.parse(told["childSessionKey"]))
    assert row is not None
    assert row.labels.label == "the counter"
    assert "at most 512" in await spawning.refused(task="count", label="x" * 513)


@pytest.mark.requirement("D22")
@pytest.mark.parametrize(("asked", "agent"), [({}, "main"), ({"agentId": "Ops"}, "ops")])
async def test_a_child_is_its_requesters_agent_or_one_that_is_allowed(
    spawning: Spawning, asked: dict[str, str], agent: str
) -> None:
    told = await spawning.spawn(task="count", **asked)
    assert SessionKey.parse(told["childSessionKey"]).agent == agent


async def test_the_same_call_after_a_crash_finds_the_child_it_made(spawning: Spawning) -> None:
    first = await spawning.spawn(task="count")
    await spawning.spawn("c2", task="count")
    assert await spawning.spawn(task="count") == first
    assert len(await spawning.house.store.completions(MAIN)) == 2


@pytest.mark.requirement("P1")
async def test_the_same_call_after_a_crash_is_told_of_a_child_that_has_ended_and_is_gone(
    spawning: Spawning,
) -> None:
    store = spawning.house.store
    first = await spawning.spawn(task="count", cleanup="delete")
    (owed,) = await store.completions(MAIN)
    ended = (
        EndRun(run_id=owed.child_run, outcome=Outcome(state=RunState.DONE, at=NOON)),
        SettleCompletion(child_run=owed.child_run, status=CompletionStatus.OK, at=NOON),
        AcknowledgeCompletion(child_run=owed.child_run, at=NOON),
    )
    pending = (KillInput(inbound_id=derived_id("task", str(owed.child)), reason="read"),)
    await store.change_session(MAIN, lambda snapshot: (*pending, *ended, DeleteSession(key=owed.child)))
    assert await store.session(owed.child) is None
    assert await spawning.spawn(task="count", cleanup="delete") == first


@pytest.mark.requirement("P8")
async def test_a_spawn_that_is_refused_is_recorded(spawning: Spawning) -> None:
    spawning.rights = Rights()
    await spawning.refused(task="count", agentId="ops")
    (denial,) = await spawning.house.store.denials(2)
    assert (denial.operation, denial.rule, denial.target) == ("spawn", "spawn_refused", "ops")
    assert "maxSpawnDepth" in denial.reason


@pytest.mark.requirement("D25")
async def test_limits_are_told_by_their_settings(spawning: Spawning) -> None:
    await spawning.spawn("c2", task="count")
    await spawning.spawn("c3", task="count")
    assert "maxChildrenPerAgent" in await spawning.refused(task="count")
    spawning.rights = Rights(spawns=0)
    assert "maxSpawnDepth" in await spawning.refused(task="count")


async def at_once(spawning: Spawning, *call_ids: str) -> list[ToolOutcome]:
    """What calls of one answer come to, in their order."""
    tool = SessionsSpawn(spawning.house.access, RULES)
    outcomes: dict[str, ToolOutcome] = {}

    async def spawn(call_id: str) -> None:
        outcomes[call_id] = await spawning.call(call_id, tool, task=call_id)

    async with anyio.create_task_group() as group:
        for call_id in call_ids:
            group.start_soon(spawn, call_id)
    return [outcomes[call_id] for call_id in call_ids]


@pytest.mark.requirement("D25")
async def test_of_spawns_at_once_the_first_are_made_up_to_the_limit(spawning: Spawning) -> None:
    outcomes = await at_once(spawning, "c1", "c2", "c3", "c4")
    assert [one.is_error for one in outcomes] == [False, False, True, True]
    assert len(await spawning.house.store.completions(MAIN)) == 2
    assert len(await spawning.house.store.denials(4)) == 2


async def test_one_spawn_in_the_way_of_the_others_does_not_keep_them_from_being_made(
    spawning: Spawning,
) -> None:
    first = await spawning.spawn(task="c1")
    await change(spawning.house.store, AcknowledgeCompletion(child_run=first["runId"], at=1))
    outcomes = await at_once(spawning, "c1", "c2")
    assert [json.loads(text_of(one))["status"] for one in outcomes] == ["accepted", "accepted"]
    assert json.loads(text_of(outcomes[0])) == first
    assert len(await spawning.house.store.completions(MAIN)) == 1


async def test_a_store_that_takes_nothing_is_told_to_every_call(tmp_path: Path) -> None:
    spawning = Spawning()
    spawning.house.store = SqliteStore.open(tmp_path / "roost.db", spawning.house.clock)
    with pytest.raises(BaseExceptionGroup) as raised:
        await at_once(spawning, "c1", "c2")
    assert [type(one) for one in raised.value.exceptions] == [Fenced, Fenced]
    await spawning.house.store.close()


@pytest.mark.requirement("D21", "D22", "P18")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "`task` is missing"),
        ({"task": "  "}, "`task` is empty"),
        ({"task": "x", "channel": "telegram"}, "the report goes where you were asked"),
        ({"task": "x", "timeoutSeconds": 3}, "use `runTimeoutSeconds`"),
        ({"task": "x", "taskName": "All"}, "is no `taskName`"),
        ({"task": "x", "taskName": "last"}, "is no `taskName`"),
        ({"task": "x", "runtime": "acp"}, "not installed"),
        ({"task": "x", "mode": "forever"}, "say run or session"),
        ({"task": "x", "model": "nope"}, "there is no model nope"),
        ({"task": "x", "model": "demo/dear"}, "not on the allow list"),
        ({"task": "x", "agentId": "secret"}, "allowed: main, ops"),
        ({"task": "x", "thread": True}, "mode:"),
        ({"task": "x", "sandbox": "require"}, "sandbox.mode"),
    ],
)
async def test_what_is_wrong_is_told_and_nothing_is_made(
    spawning: Spawning, arguments: dict[str, Any], said: str
) -> None:
    assert said in await spawning.refused(**arguments)
    assert await spawning.house.store.completions(MAIN) == ()


async def test_a_run_that_was_stopped_spawns_nothing_more(spawning: Spawning) -> None:
    stop = StopRequest(reason="enough", by=OWNER, at=1)
    await change(spawning.house.store, RequestStop(run_id="r1", stop=stop))
    assert "has ended" in await spawning.refused(task="count")


async def test_a_run_that_nobody_knows_spawns_nothing() -> None:
    spawning = Spawning()
    await spawning.house.family()
    assert "is gone" in await spawning.refused(task="count")


async def test_a_fork_that_is_too_long_begins_without_it_and_says_so(spawning: Spawning) -> None:
    counters = Counters(total=200_000)
    await change(spawning.house.store, ChangeSession(key=MAIN, counters=counters))
    told = await spawning.spawn(task="count", context="fork")
    assert (told["context"], "100000 tokens" in told["note"]) == ("isolated", True)
