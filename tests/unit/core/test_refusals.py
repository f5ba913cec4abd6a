from dataclasses import replace

import pytest

from roost.core.ledger import Denial
from roost.core.principals import OWNER, person
from roost.core.refusals import ABSENT, REPEATED_MS, is_news, refusal
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
    assert (found.rule, found.reason, found.hidden) == (rule, denied.message, True)


@pytest.mark.parametrize("reason", [Reason.TREE_ONLY, Reason.NOT_YOURS, None])
def test_in_a_sandbox_every_refusal_is_hidden(reason: Reason | None) -> None:
    found = record(BOXED, replace(absent(BOXED), reason=reason))
    assert found is not None
    assert found.hidden


def test_that_there_is_no_such_session_is_no_refusal() -> None:
    assert record(AGENT, absent(AGENT)) is None


def test_what_was_noted_within_the_hour_is_no_news() -> None:
    noted = Denial(
        at=NOON, operation="inbound", principal=ADA, rule="requireMention", reason="x", caller=MAIN
    )
    assert is_news(noted, ())
    assert not is_news(replace(noted, at=NOON + REPEATED_MS - 1), (noted,))
    assert is_news(replace(noted, at=NOON + REPEATED_MS), (noted,))
    assert is_news(replace(noted, rule="another"), (noted,))
