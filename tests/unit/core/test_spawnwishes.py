"""What is granted of a wish to spawn: agent, rights, model, context, thread."""

from dataclasses import replace
from typing import Any

import pytest

from roost.core.addresses import Address
from roost.core.delegation import Delegation
from roost.core.errors import Forbidden, InvalidInput, NotFound
from roost.core.exchanges import Cleanup
from roost.core.models import ModelRef, ModelSpec
from roost.core.rights import Rights
from roost.core.runs import Request
from roost.core.spawning import FORK_TOKENS
from roost.core.spawnwishes import (
    ChildAgent,
    Granted,
    Models,
    Requester,
    SpawnRules,
    ThreadRules,
    Wish,
    grant,
)
from roost.core.terms import SpawnContext, SpawnMode
from roost.core.threads import ThreadPolicy, ThreadSettings
from tests import samples
from tests.samples import NOON

THREAD = Address(channel="discord", to="room", thread="t1")
MODELS = {
    name: ModelSpec(ref=ModelRef("p", name), context_window=1, max_tokens=1, reasoning=name == "thinker")
    for name in ("own", "child", "caller", "thinker")
}


def find(name: str) -> ModelSpec:
    if name.removeprefix("p/") not in MODELS:
        raise NotFound(f"there is no model {name}")
    return MODELS[name.removeprefix("p/")]


def child(agent: str, depth: int) -> ChildAgent:
    sandboxed = agent == "jailed"
    return ChildAgent(rights=Rights(sandboxed=sandboxed, spawns=3 - depth), model=None, own_model="own")


RULES = SpawnRules(
    delegation=Delegation(agent="main", named=frozenset({"ops", "jailed", "main"})),
    agents=("main", "ops", "jailed", "secret"),
    child=child,
    models=Models(ask_for=find, find=find),
    max_depth=2,
)
ASKED = Requester(
    session=samples.session(),
    run=samples.run("r1", request=Request(reply_to=THREAD)),
    rights=Rights(spawns=2, deny=frozenset({"exec"})),
    model="p/caller",
)
BOUND = replace(
    RULES,
    threads=ThreadRules(
        policy=ThreadPolicy(base=ThreadSettings(idle_ms=7)), known=lambda address: address == THREAD
    ),
)


def granted(rules: SpawnRules = RULES, asked: Requester = ASKED, **wish: Any) -> Granted:
    return grant(Wish(task="do it", **wish), rules, asked, call_id="c1", at=NOON)


def test_without_wishes_a_child_is_of_the_callers_agent_with_its_model_and_less_rights() -> None:
    order = granted().order
    assert (order.agent, order.context, order.binding, order.limit_ms) == (
        "main",
        SpawnContext.ISOLATED,
        None,
        None,
    )
    assert order.terms.rights == Rights(spawns=1, deny=frozenset({"exec"}))
    assert (order.terms.model, order.terms.mode, order.terms.max_depth) == ("p/caller", SpawnMode.RUN, 2)
    assert (order.cleanup, order.terms.task) == (Cleanup.KEEP, "do it")


def test_depth_is_refused_before_anything_else() -> None:
    with pytest.raises(Forbidden, match="maxSpawnDepth"):
        granted(asked=replace(ASKED, rights=Rights(spawns=0)), agent="nobody")


def test_too_many_children_are_refused_before_the_agent() -> None:
    owed = tuple(samples.completion(str(number)) for number in range(5))
    with pytest.raises(Forbidden, match="maxChildrenPerAgent"):
        granted(asked=replace(ASKED, owed=owed), agent="nobody")


@pytest.mark.parametrize("agent", ["secret", "unknown", "nobody"])
def test_an_agent_that_is_not_allowed_is_refused_with_those_that_are(agent: str) -> None:
    with pytest.raises(Forbidden, match=r"allowAgents .* allowed: main, jailed, ops"):
        granted(agent=agent)


def test_an_agent_may_name_itself_unless_a_list_leaves_it_out() -> None:
    silent = replace(RULES, delegation=Delegation(agent="main"))
    assert granted(silent, agent="main").order.agent == "main"
    listed = replace(RULES, delegation=Delegation(agent="main", named=frozenset({"ghost"})))
    with pytest.raises(Forbidden, match="allowed: none"):
        granted(listed, agent="main")
    assert granted(listed).order.agent == "main"


def test_where_an_agent_must_be_named_a_wish_without_one_is_refused() -> None:
    rules = replace(RULES, require_agent=True)
    with pytest.raises(Forbidden, match="requireAgentId"):
        granted(rules)
    assert granted(rules, agent="ops").order.agent == "ops"


def test_a_sandbox_that_is_required_must_be_there() -> None:
    assert granted(agent="jailed", sandboxed=True).order.terms.rights.sandboxed
    with pytest.raises(Forbidden, match=r"sandbox\.mode"):
        granted(sandboxed=True)


def test_a_sandboxed_requester_has_sandboxed_children_only() -> None:
    asked = replace(ASKED, rights=replace(ASKED.rights, sandboxed=True))
    assert granted(asked=asked).order.terms.rights.sandboxed


def test_a_folder_is_one_of_the_own_workspace() -> None:
    assert granted(folder="notes/today").order.terms.folder == "notes/today"
    for folder in ("/etc", "../other", "a\0b"):
        with pytest.raises(InvalidInput, match="inside the workspace"):
            granted(folder=folder)
    with pytest.raises(Forbidden, match="sandbox"):
        granted(folder="notes", agent="jailed")
    with pytest.raises(Forbidden, match="your own workspace"):
        granted(folder="notes", agent="ops")


@pytest.mark.requirement("P18")
def test_the_model_is_the_wished_the_configured_the_callers_or_the_agents() -> None:
    configured = replace(RULES, child=lambda agent, depth: replace(child(agent, depth), model="child"))
    for found, given, used in (
        (granted(configured, model="thinker"), "p/thinker", "thinker"),
        (granted(configured), None, "child"),
        (granted(), "p/caller", "caller"),
        (granted(agent="ops"), None, "own"),
    ):
        assert (found.order.terms.model, found.model.ref.model) == (given, used)
    assert granted(asked=replace(ASKED, model=None)).model.ref.model == "own"
    with pytest.raises(NotFound, match="no model nope"):
        granted(model="nope")


def test_a_thinking_level_must_be_one_that_the_model_knows() -> None:
    assert granted(model="thinker", thinking="high").order.terms.thinking == "high"
    with pytest.raises(InvalidInput, match="say one of off"):
        granted(model="own", thinking="high")


def test_a_time_limit_is_the_wished_or_the_configured_one_and_zero_is_none() -> None:
    rules = replace(RULES, limit_seconds=9)
    assert [granted(rules, limit_seconds=wish).order.limit_ms for wish in (None, 0, 3)] == [
        9_000,
        None,
        3_000,
    ]


def test_a_session_stays_in_its_thread_and_is_kept() -> None:
    found = granted(BOUND, thread=True, cleanup=Cleanup.DELETE).order
    assert found.binding is not None
    assert (found.binding.idle_ms, found.terms.mode, found.cleanup) == (7, SpawnMode.SESSION, Cleanup.KEEP)
    assert found.context is SpawnContext.FORK
    assert granted(BOUND, thread=True, context=SpawnContext.ISOLATED).order.context is SpawnContext.ISOLATED
    assert granted(BOUND, thread=True, agent="ops").order.context is SpawnContext.ISOLATED


def test_where_there_is_no_thread_to_bind_a_run_is_advised() -> None:
    with pytest.raises(InvalidInput, match="needs `thread: true`"):
        granted(BOUND, mode=SpawnMode.SESSION)
    with pytest.raises(Forbidden, match=r"no threads .*mode: \"run\""):
        granted(thread=True)
    closed = ThreadPolicy(by_channel={THREAD.channel: ThreadSettings(spawns=False)})
    with pytest.raises(Forbidden, match="threadBindings"):
        granted(replace(RULES, threads=ThreadRules(policy=closed)), thread=True)


def test_a_fork_is_of_the_same_agent_and_not_too_long() -> None:
    assert granted(context=SpawnContext.FORK).order.context is SpawnContext.FORK
    with pytest.raises(Forbidden, match="only your own agent"):
        granted(context=SpawnContext.FORK, agent="ops")
    long = ASKED.session._replace(counters=ASKED.session.counters._replace(total=FORK_TOKENS + 1))
    found = granted(asked=replace(ASKED, session=long), context=SpawnContext.FORK)
    assert found.order.context is SpawnContext.ISOLATED
    assert found.note is not None
    assert "100000 tokens" in found.note
