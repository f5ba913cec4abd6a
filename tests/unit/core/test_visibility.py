from dataclasses import replace

import pytest

from roost.core.errors import Forbidden, NotFound
from roost.core.keys import KeyKind, SessionKey
from roost.core.principals import OWNER, Principal, PrincipalKind
from roost.core.visibility import (
    ABSENT_TEXT,
    EVERYTHING,
    SANDBOX_TEXT,
    AgentCaller,
    AgentToAgent,
    Allowed,
    Caller,
    Denied,
    Level,
    Operation,
    PersonCaller,
    Reason,
    Target,
    VisibleScope,
    absent,
    decide,
    decide_beyond,
    scope,
)
from tests.samples import ALICE, BOB, CHILD, GRANDCHILD, GROUP, MAIN, OPS

OTHER = SessionKey(agent="main", kind=KeyKind.NAMED, name="other")
OPERATOR = Principal(PrincipalKind.OPERATOR, "phone")

A = Target(key=MAIN, agent="main", owner=OWNER)
B = Target(key=CHILD, agent="main", owner=OWNER, ancestors=(MAIN,))
C = Target(key=GRANDCHILD, agent="ops", owner=OWNER, ancestors=(CHILD, MAIN))
SIBLING = Target(key=OTHER, agent="main", owner=OWNER)
FOREIGN_AGENT = Target(key=OPS, agent="ops", owner=OWNER)
ALICES = Target(key=OTHER, agent="main", owner=ALICE)
IN_GROUP = Target(key=GROUP, agent="main", owner=OWNER, participants=frozenset({BOB}))

READING = [Operation.HISTORY, Operation.SEARCH, Operation.SEND, Operation.STATUS]
OPEN_A2A = AgentToAgent(enabled=True, allow=None)


def agent(key: SessionKey = MAIN, level: Level = Level.TREE, principal: Principal = OWNER) -> AgentCaller:
    return AgentCaller(agent=key.agent, key=key, principal=principal, level=level)


def allowed(operation: Operation, caller: Caller, target: Target) -> bool:
    return isinstance(decide(operation, caller, target), Allowed)


def denial(operation: Operation, caller: Caller, target: Target) -> Denied:
    decision = decide(operation, caller, target)
    assert isinstance(decision, Denied)
    return decision


def shown(denied: Denied) -> tuple[type[Exception], str]:
    return type(denied.error()), str(denied.error())


@pytest.mark.requirement("D68", "P8")
@pytest.mark.parametrize("operation", [Operation.LIST, *READING])
def test_under_tree_a_session_sees_itself_and_all_its_descendants(operation: Operation) -> None:
    def seen(key: SessionKey) -> set[SessionKey]:
        caller = replace(agent(key), agent=key.agent)
        return {one.key for one in (A, B, C, SIBLING, FOREIGN_AGENT) if allowed(operation, caller, one)}

    assert seen(MAIN) == {MAIN, CHILD, GRANDCHILD}
    assert seen(CHILD) == {CHILD, GRANDCHILD}
    assert seen(GRANDCHILD) == {GRANDCHILD}


@pytest.mark.requirement("D68", "P8")
@pytest.mark.parametrize(
    ("caller", "target", "reason", "setting"),
    [
        (agent(level=Level.SELF), B, Reason.SELF_ONLY, "tools.sessions.visibility"),
        (agent(), SIBLING, Reason.TREE_ONLY, "tools.sessions.visibility"),
        (agent(level=Level.AGENT), FOREIGN_AGENT, Reason.CROSS_AGENT, "tools.sessions.visibility"),
        (agent(level=Level.ALL), FOREIGN_AGENT, Reason.A2A_DISABLED, "tools.agentToAgent.enabled"),
        (
            replace(agent(level=Level.ALL), a2a=AgentToAgent(enabled=True)),
            FOREIGN_AGENT,
            Reason.A2A_NOT_ALLOWED,
            "tools.agentToAgent.allow",
        ),
        (
            replace(agent(level=Level.ALL), a2a=AgentToAgent(enabled=True, allow=frozenset({"ops"}))),
            FOREIGN_AGENT,
            Reason.A2A_NOT_ALLOWED,
            "tools.agentToAgent.allow",
        ),
    ],
)
def test_a_refusal_names_the_setting_that_decided(
    caller: AgentCaller, target: Target, reason: Reason, setting: str
) -> None:
    denied = denial(Operation.HISTORY, caller, target)
    assert (denied.reason, denied.setting) == (reason, setting)
    assert isinstance(denied.error(), Forbidden)
    assert setting in str(denied.error())


@pytest.mark.requirement("D68")
def test_all_reaches_another_agent_when_both_are_allowed() -> None:
    both = AgentToAgent(enabled=True, allow=frozenset({"main", "ops"}))
    assert allowed(Operation.SEND, replace(agent(level=Level.ALL), a2a=both), FOREIGN_AGENT)
    assert allowed(Operation.SEND, replace(agent(level=Level.ALL), a2a=OPEN_A2A), FOREIGN_AGENT)
    assert allowed(Operation.SEND, agent(level=Level.AGENT), SIBLING)


@pytest.mark.parametrize(
    ("patterns", "reached"),
    [
        ((), frozenset()),
        (("", " "), frozenset()),
        (("ops",), frozenset({"ops"})),
        (("OPS",), frozenset()),
        (("o*", "x"), frozenset({"ops"})),
    ],
)
def test_an_allow_list_is_read_against_the_configured_agents(
    patterns: tuple[str, ...], reached: frozenset[str]
) -> None:
    assert AgentToAgent.of(True, patterns, ("main", "ops")).allow == reached


def test_a_lone_star_allows_every_agent_and_is_the_only_thing_that_does() -> None:
    assert AgentToAgent.of(True, ("*",), ("main",)).names("anyone")
    assert not AgentToAgent.of(True, ("ops",), ("main", "ops")).names("anyone")


@pytest.mark.requirement("F6")
@pytest.mark.parametrize(
    ("caller", "reason", "setting"),
    [
        (agent(), Reason.CROSS_AGENT, "tools.sessions.visibility"),
        (agent(level=Level.ALL), Reason.A2A_DISABLED, "tools.agentToAgent.enabled"),
        (
            replace(agent(level=Level.ALL), a2a=AgentToAgent(enabled=True, allow=frozenset({"main"}))),
            Reason.A2A_NOT_ALLOWED,
            "tools.agentToAgent.allow",
        ),
        (
            replace(agent(level=Level.ALL), a2a=OPEN_A2A, sandboxed=True, lifted=True),
            Reason.SANDBOXED,
            None,
        ),
        (replace(agent(level=Level.ALL, principal=BOB), a2a=OPEN_A2A), Reason.NOT_YOURS, None),
    ],
)
def test_another_gateway_is_reached_only_where_every_setting_and_the_owner_allow_it(
    caller: AgentCaller, reason: Reason, setting: str | None
) -> None:
    denied = decide_beyond(caller, "remote:office")
    assert isinstance(denied, Denied)
    assert (denied.reason, denied.setting) == (reason, setting)


@pytest.mark.requirement("F6")
@pytest.mark.parametrize("allow", [None, frozenset({"main", "remote:office"})])
def test_another_gateway_is_reached_by_whom_the_list_names_with_it(allow: frozenset[str] | None) -> None:
    caller = replace(agent(level=Level.ALL), a2a=AgentToAgent(enabled=True, allow=allow))
    assert decide_beyond(caller, "remote:office") == Allowed()


@pytest.mark.requirement("D30", "D68")
def test_a_sandboxed_session_lists_what_it_spawned_and_nothing_else() -> None:
    boxed = replace(agent(level=Level.ALL), sandboxed=True, a2a=OPEN_A2A)
    everyone = (A, B, C, SIBLING, FOREIGN_AGENT)
    assert [one for one in everyone if allowed(Operation.LIST, boxed, one)] == [B, C]
    assert [one for one in everyone if allowed(Operation.HISTORY, boxed, one)] == [A, B, C]
    lifted = replace(boxed, lifted=True)
    assert all(allowed(Operation.LIST, lifted, one) for one in everyone)


def test_a_sandboxed_child_lists_itself_too() -> None:
    assert allowed(Operation.LIST, replace(agent(CHILD), sandboxed=True), B)


@pytest.mark.requirement("P8")
@pytest.mark.parametrize("operation", list(Operation))
def test_from_a_sandbox_denied_absent_and_foreign_look_the_same(operation: Operation) -> None:
    boxed = replace(agent(principal=BOB), sandboxed=True)
    looks = {shown(denial(operation, boxed, one)) for one in (SIBLING, FOREIGN_AGENT, ALICES)}
    assert looks == {shown(absent(boxed))} == {(Forbidden, SANDBOX_TEXT)}


def test_the_record_of_a_sandboxed_refusal_still_names_the_reason() -> None:
    denied = denial(Operation.HISTORY, replace(agent(), sandboxed=True), SIBLING)
    assert denied.reason is Reason.TREE_ONLY
    assert denied.setting == "agents.defaults.sandbox.sessionToolsVisibility"
    own = denial(Operation.LIST, replace(agent(), sandboxed=True), A)
    assert own.reason is Reason.SPAWNED_ONLY


@pytest.mark.requirement("P8", "F5", "S10")
@pytest.mark.parametrize("operation", list(Operation))
@pytest.mark.parametrize("caller", [agent(level=Level.ALL, principal=BOB), PersonCaller(principal=BOB)])
def test_other_peoples_sessions_do_not_exist_at_any_level(operation: Operation, caller: Caller) -> None:
    denied = denial(operation, caller, ALICES)
    assert denied.reason is Reason.NOT_YOURS
    assert shown(denied) == shown(absent(caller))
    assert isinstance(denied.error(), NotFound)
    assert ABSENT_TEXT in str(denied.error())


@pytest.mark.requirement("P8")
def test_a_run_sees_where_it_runs_and_what_hangs_below_whoever_caused_it() -> None:
    caller = agent(GROUP, principal=BOB)
    child = Target(key=CHILD, agent="main", owner=OWNER, ancestors=(GROUP,))
    assert allowed(Operation.HISTORY, caller, IN_GROUP)
    assert allowed(Operation.LIST, caller, child)
    assert allowed(Operation.STOP, caller, child)


@pytest.mark.requirement("S7")
@pytest.mark.parametrize(
    ("caller", "target", "may"),
    [
        (PersonCaller(principal=OWNER), ALICES, True),
        (PersonCaller(principal=OPERATOR), ALICES, False),
        (PersonCaller(principal=ALICE), ALICES, True),
        (PersonCaller(principal=BOB), ALICES, False),
        (PersonCaller(principal=BOB), IN_GROUP, True),
        (PersonCaller(principal=ALICE), IN_GROUP, False),
        (agent(level=Level.AGENT), SIBLING, True),
        (agent(GROUP, Level.AGENT, principal=BOB), B, False),
        (agent(), A, False),
    ],
)
def test_a_reset_is_for_owners_and_those_who_take_part(caller: Caller, target: Target, may: bool) -> None:
    assert allowed(Operation.RESET, caller, target) is may


def test_a_run_cannot_reset_the_session_it_runs_in() -> None:
    denied = denial(Operation.RESET, agent(), A)
    assert (denied.reason, denied.setting) == (Reason.OWN_RUN, None)
    assert allowed(Operation.PATCH, agent(), A)


def test_what_hangs_below_a_group_is_not_everyones_to_change() -> None:
    child = Target(key=CHILD, agent="main", owner=OWNER, ancestors=(GROUP,))
    assert not allowed(Operation.PATCH, agent(GROUP, principal=BOB), child)
    assert allowed(
        Operation.PATCH, agent(GROUP, principal=BOB), replace(child, participants=frozenset({BOB}))
    )
    assert allowed(Operation.PATCH, agent(GROUP, principal=ALICE), replace(child, owner=ALICE))


@pytest.mark.requirement("S16")
@pytest.mark.parametrize("target", [A, B, SIBLING])
def test_a_tool_stops_only_its_own_descendants_and_others_look_absent(target: Target) -> None:
    caller = agent(CHILD, Level.ALL)
    denied = denial(Operation.STOP, caller, target)
    assert denied.reason is Reason.NOT_A_DESCENDANT
    assert shown(denied) == shown(absent(caller))
    assert allowed(Operation.STOP, caller, C)


def test_a_tool_spawns_under_its_own_session_only() -> None:
    assert allowed(Operation.SPAWN, agent(), A)
    assert denial(Operation.SPAWN, agent(), B).reason is Reason.NOT_OWN_SESSION


@pytest.mark.parametrize("operation", [Operation.EXPORT, Operation.DELETE])
def test_no_tool_exports_or_deletes_even_what_it_can_read(operation: Operation) -> None:
    assert denial(operation, agent(), A).reason is Reason.NOT_FOR_TOOLS
    assert allowed(operation, PersonCaller(principal=OWNER), A)


def test_who_takes_part_in_a_group_reads_and_deletes_nothing_of_it() -> None:
    bob = PersonCaller(principal=BOB)
    may = {operation for operation in Operation if allowed(operation, bob, IN_GROUP)}
    assert may == {
        Operation.SEND,
        Operation.STATUS,
        Operation.PATCH,
        Operation.RESET,
        Operation.STOP,
    }


@pytest.mark.parametrize("operation", list(Operation))
def test_taking_part_is_not_owning(operation: Operation) -> None:
    taking_part = {Operation.SEND, Operation.STATUS, Operation.PATCH, Operation.RESET, Operation.STOP}
    assert allowed(operation, PersonCaller(principal=BOB), IN_GROUP) is (operation in taking_part)


def test_the_owner_lists_everything_and_a_person_their_own() -> None:
    assert scope(Operation.LIST, PersonCaller(principal=OWNER)) is EVERYTHING
    assert scope(Operation.LIST, PersonCaller(principal=BOB)) == VisibleScope(owner=BOB, agents=None)


@pytest.mark.parametrize(
    ("caller", "agents"),
    [
        (agent(), frozenset()),
        (agent(level=Level.AGENT), frozenset({"main"})),
        (agent(level=Level.ALL), frozenset({"main"})),
        (replace(agent(level=Level.ALL), a2a=OPEN_A2A), None),
        (
            replace(agent(level=Level.ALL), a2a=AgentToAgent(enabled=True, allow=frozenset({"main", "ops"}))),
            frozenset({"main", "ops"}),
        ),
        (
            replace(agent(level=Level.ALL), a2a=AgentToAgent(enabled=True, allow=frozenset({"ops"}))),
            frozenset({"main"}),
        ),
    ],
)
def test_a_scope_holds_the_agents_that_the_level_reaches(
    caller: AgentCaller, agents: frozenset[str] | None
) -> None:
    found = scope(Operation.LIST, caller)
    assert (found.agents, found.self_key) == (agents, MAIN)


def test_a_scope_of_one_session_has_no_tree() -> None:
    assert scope(Operation.SEARCH, agent(level=Level.SELF)).tree_of is None
    assert not VisibleScope(self_key=MAIN).admits(SIBLING)


def test_the_owner_of_a_scope_does_not_hide_the_tree_it_names() -> None:
    bobs = VisibleScope(owner=BOB, self_key=GROUP, tree_of=GROUP, agents=frozenset({"main"}))
    child = Target(key=CHILD, agent="main", owner=OWNER, ancestors=(GROUP,))
    assert [one for one in (IN_GROUP, child, SIBLING, replace(SIBLING, owner=BOB)) if bobs.admits(one)] == [
        IN_GROUP,
        child,
        replace(SIBLING, owner=BOB),
    ]
    assert not VisibleScope(tree_of=MAIN).admits(A), "a tree is what hangs below, without its root"


@pytest.mark.parametrize(
    ("text", "level"), [("tree", Level.TREE), (" ALL ", Level.ALL), ("everything", None), ("", None)]
)
def test_a_level_is_read_from_its_word(text: str, level: Level | None) -> None:
    assert Level.parse(text) is level
