from roost.core.channeltraits import Traits
from roost.core.keys import KeyKind
from roost.core.messages import ProvenanceKind
from roost.core.reach import SessionReach
from roost.core.references import display, resolve
from roost.core.runs import Cause
from roost.core.scopes import SessionScope
from roost.core.tools import Invocation, Place
from roost.core.visibility import AgentCaller, AgentToAgent, Level
from tests.samples import ALICE, CHILD, GROUP

A2A = AgentToAgent(enabled=True, allow=None)


def invocation(*, sandboxed: bool = False) -> Invocation:
    return Invocation(
        run_id="r1",
        call_id="c1",
        agent="main",
        key=GROUP,
        cause=Cause(principal=ALICE, kind=ProvenanceKind.HUMAN, trace="t1"),
        place=Place(workspace="/w", sandboxed=sandboxed),
        arguments={},
    )


def test_a_caller_is_the_agent_in_its_session_for_whoever_caused_the_run() -> None:
    reach = SessionReach(agent="main", level=Level.ALL, lifted=True, a2a=A2A)
    assert reach.caller(invocation(sandboxed=True)) == AgentCaller(
        agent="main", key=GROUP, principal=ALICE, level=Level.ALL, sandboxed=True, lifted=True, a2a=A2A
    )
    assert not reach.caller(invocation()).sandboxed


def test_names_are_read_from_where_the_call_is_made() -> None:
    reach = SessionReach(agent="ops", main_name="work", traits=Traits(frozenset()))
    seen_from = reach.viewpoint(invocation())
    assert (seen_from.agent, seen_from.own, seen_from.main_name) == ("ops", GROUP, "work")
    assert seen_from.traits == Traits(frozenset())
    assert resolve("current", seen_from).key == GROUP
    assert display(CHILD, seen_from) == str(CHILD)


def test_reserved_keys_are_never_shown_and_the_global_one_only_where_it_is_in_use() -> None:
    assert SessionReach(agent="main").hidden == {KeyKind.UNKNOWN, KeyKind.GLOBAL}
    assert SessionReach(agent="main", scope=SessionScope.GLOBAL).hidden == {KeyKind.UNKNOWN}
