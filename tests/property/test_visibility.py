from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.keys import KeyKind, SessionKey
from roost.core.principals import OWNER, Principal, PrincipalKind, person
from roost.core.rights import Rights, meet, of_child
from roost.core.visibility import (
    AgentCaller,
    AgentToAgent,
    Allowed,
    Caller,
    Level,
    Operation,
    PersonCaller,
    Target,
    absent,
    decide,
    scope,
)
from tests.scale import examples

AGENTS = ("main", "ops", "lab")
PEOPLE = (OWNER, person("telegram", "1"), person("telegram", "2"), Principal(PrincipalKind.OPERATOR, "phone"))
TOOLS = ("read", "exec", "sessions_send", "cron")

agents = st.sampled_from(AGENTS)
people = st.sampled_from(PEOPLE)
keys = st.builds(
    SessionKey,
    agent=agents,
    kind=st.sampled_from((KeyKind.NAMED, KeyKind.SUBAGENT)),
    name=st.sampled_from(("main", "a", "b")),
)
allow_lists = st.none() | st.frozensets(agents)
a2a = st.builds(AgentToAgent, enabled=st.booleans(), allow=allow_lists)


@st.composite
def agent_callers(draw: st.DrawFn) -> AgentCaller:
    key = draw(keys)
    return AgentCaller(
        agent=key.agent,
        key=key,
        principal=draw(people),
        level=draw(st.sampled_from(Level)),
        sandboxed=draw(st.booleans()),
        lifted=draw(st.booleans()),
        a2a=draw(a2a),
    )


@st.composite
def targets(draw: st.DrawFn) -> Target:
    key = draw(keys)
    return Target(
        key=key,
        agent=key.agent,
        owner=draw(people),
        ancestors=tuple(draw(st.lists(keys.filter(lambda one: one != key), max_size=3, unique=True))),
        participants=draw(st.frozensets(people, max_size=2)),
    )


callers = agent_callers() | st.builds(PersonCaller, principal=people)
rights = st.builds(
    Rights,
    allow=st.none() | st.frozensets(st.sampled_from(TOOLS)),
    deny=st.frozensets(st.sampled_from(TOOLS)),
    sandboxed=st.booleans(),
    level=st.sampled_from(Level),
    spawns=st.integers(0, 5),
)


def allowed(operation: Operation, caller: Caller, target: Target) -> bool:
    return isinstance(decide(operation, caller, target), Allowed)


@pytest.mark.requirement("P8", "D68")
@settings(max_examples=examples(100, 5000))
@given(st.sampled_from(Operation), agent_callers(), targets())
def test_every_level_contains_the_ones_before_it(
    operation: Operation, caller: AgentCaller, target: Target
) -> None:
    reached = [allowed(operation, replace(caller, level=level), target) for level in Level]
    assert reached == sorted(reached)


@pytest.mark.requirement("P8", "P26", "S17", "S20")
@settings(max_examples=examples(150, 5000))
@given(st.sampled_from((Operation.LIST, Operation.SEARCH)), callers, targets())
def test_a_query_in_scope_finds_exactly_what_the_guard_allows(
    operation: Operation, caller: Caller, target: Target
) -> None:
    assert scope(operation, caller).admits(target) == allowed(operation, caller, target)


@pytest.mark.requirement("P8", "F5")
@settings(max_examples=examples(100, 5000))
@given(st.sampled_from(Operation), callers, targets())
def test_what_is_someone_elses_is_shown_as_nothing(
    operation: Operation, caller: Caller, target: Target
) -> None:
    sees_all = caller.principal.is_owner
    takes_part = caller.principal in {target.owner, *target.participants}
    below = isinstance(caller, AgentCaller) and caller.key in (target.key, *target.ancestors)
    if sees_all or takes_part or below:
        return
    decision = decide(operation, caller, target)
    assert not isinstance(decision, Allowed)
    error, nothing = decision.error(), absent(caller).error()
    assert (type(error), str(error)) == (type(nothing), str(nothing))


@pytest.mark.requirement("S15")
@settings(max_examples=examples(100, 5000))
@given(rights, st.lists(rights, min_size=1, max_size=4))
def test_no_descendant_has_a_right_its_ancestor_lacks(root: Rights, asked: list[Rights]) -> None:
    reached = root
    for own in asked:
        reached = of_child(reached, own)
        assert all(root.permits(tool) for tool in TOOLS if reached.permits(tool))
        assert reached.sandboxed >= root.sandboxed
        assert reached.level <= root.level
        assert reached.spawns <= max(root.spawns - 1, 0)


@given(rights, rights, rights)
def test_meeting_rights_in_any_order_or_twice_gives_the_same(one: Rights, two: Rights, three: Rights) -> None:
    assert meet(one, two) == meet(two, one)
    assert meet(one, one) == one
    assert meet(meet(one, two), three) == meet(one, meet(two, three))
