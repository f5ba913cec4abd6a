import pytest

from roost.core.ledger import Denial
from roost.core.principals import OWNER, person
from roost.core.refusals import ABSENT, refusal
from roost.core.visibility import AgentCaller, Caller, Denied, Operation, PersonCaller, Reason, absent
from roost.testing.clock import NOON
from tests.samples import MAIN

ADA = person("loopback", "ada")
AGENT = AgentCaller(agent="main", key=MAIN, principal=ADA)
BOXED = AgentCaller(agent="main", key=MAIN, principal=OWNER, sandboxed=True)
TREE = Denied(reason=Reason.TREE_ONLY, message="No.", setting="tools.sessions.visibility")
NOT_YOURS = Denied(reason=Reason.NOT_YOURS, message="None.", absent=True)


def record(caller: Caller, denied: Denied) -> Denial | None:
    return refusal(Operation.HISTORY, caller, denied, "there", NOON)


def test_a_refusal_says_who_wanted_what_and_which_setting_refused_it() -> None:
    expected = Denial(
        at=NOON,
        operation="history",
        principal=ADA,
        rule="tree_visibility_restricted",
        reason="No. (tools.sessions.visibility)",
        caller=MAIN,
        target="there",
    )
    assert record(AGENT, TREE) == expected


@pytest.mark.parametrize(
    ("caller", "denied", "rule"),
    [(PersonCaller(principal=ADA), NOT_YOURS, "other_principal"), (BOXED, absent(BOXED), ABSENT)],
)
def test_what_looks_like_nothing_is_recorded_as_what_it_is(caller: Caller, denied: Denied, rule: str) -> None:
    found = record(caller, denied)
    assert found is not None
    assert (found.rule, found.reason) == (rule, denied.message)


def test_that_there_is_no_such_session_is_no_refusal() -> None:
    assert record(AGENT, absent(AGENT)) is None
