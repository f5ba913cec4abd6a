"""Every reason there is, as a sentence that can be read."""

import re
from dataclasses import replace

import pytest

from roost.core import addressed, occasions, reasons, routing
from roost.core.addresses import ChatType
from roost.core.deliveries import DeliveryState
from roost.core.errors import InvalidInput
from roost.core.exchanges import ExchangeState, Sent
from roost.core.ledger import Denial
from roost.core.messages import ProvenanceKind
from roost.core.principals import OWNER, Principal, PrincipalKind
from roost.core.remotes import RemoteSession
from roost.core.routing import Route
from roost.core.runs import Outcome, RunState
from roost.core.sessions import Lineage, OpenedBy
from roost.engine import hooks
from roost.testing import builders
from roost.transfer import rows
from tests import samples

AGENTS = ("the default agent", "bindings[0] by peer", "bindings[12] by account")
KEYS = (
    *(f"session.dmScope={scope}" for scope in ("main", "owner-main", "per-peer")),
    *("session.scope=global", "session.identityLinks.alice", "a message of no peer"),
    *(f"a {kind} chat" for kind in (ChatType.GROUP, ChatType.CHANNEL)),
)
ROUTES = [
    *(
        Route(agent="main", key=samples.MAIN, agent_rule=one, key_rule=other).rule
        for one in AGENTS
        for other in KEYS
    ),
    Route(agent="main", key=samples.MAIN, agent_rule=routing.BOUND, key_rule=routing.BOUND).rule,
    *(addressed.RULE, occasions.RULE, hooks.RULE, rows.RULE),
]
# What can be a reason: a thing, or a setting by its name.
NOUNS = re.compile(
    r"((the|a|an) [a-z' ]+|[a-z]+[.\[][\w.\[\]=-]+( by [a-z]+)?)( and ((a|an) [a-z ]+|[a-z]+\.[\w.=-]+))?"
)
DENIAL = Denial(
    at=samples.NOON - 5_000,
    operation="send",
    principal=OWNER,
    rule="other_principal",
    reason="it is not yours",
)


@pytest.mark.requirement("F9")
@pytest.mark.parametrize("rule", ROUTES)
def test_a_rule_of_routing_is_something_that_can_be_a_reason(rule: str) -> None:
    assert NOUNS.fullmatch(rule)
    session = samples.session(facts=samples.DIRECT_FACTS._replace(rule=rule))
    assert reasons.routed(session) == f"Session: agent:main:main, because of {rule}."


def test_a_session_without_a_rule_was_spawned_or_nobody_knows() -> None:
    child = samples.session(samples.CHILD)._replace(lineage=Lineage(parent=samples.MAIN, depth=1))
    assert reasons.routed(child) == "Session: agent:main:subagent:c1, because agent:main:main spawned it."
    assert reasons.routed(samples.session()) == "Session: agent:main:main; no reason is known."
    assert reasons.bound(samples.MAIN, OWNER).endswith("because owner bound this thread to it.")


@pytest.mark.parametrize("opened_by", list(OpenedBy))
def test_each_way_to_begin_is_told(opened_by: OpenedBy) -> None:
    told = reasons.began(opened_by, "2026-01-02 03:04", "command /back")
    assert re.fullmatch(
        r"Reset: this conversation began 2026-01-02 03:04, (with|because|as) [a-z ]+ \(command /back\)\.",
        told,
    )


def test_an_end_that_comes_and_one_that_does_not_are_told() -> None:
    assert reasons.ends("04:00", "default: daily at 04:00") == (
        "A message that comes after 04:00 begins a new one (default: daily at 04:00)."
    )
    assert reasons.ends(None, "default: none") == "It goes on until somebody resets it (default: none)."


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (RunState.FAILED, "failed"),
        (RunState.KILLED, "was stopped"),
        (RunState.TIMEOUT, "ran out of time"),
        (RunState.INTERRUPTED, "was interrupted"),
    ],
)
def test_each_way_to_fail_is_told_with_what_is_known(state: RunState, words: str) -> None:
    outcome = Outcome(state=state, at=samples.NOON)
    assert reasons.failed(outcome, samples.NOON) == (
        f"Silence: the last run {words} just now: no reason is known."
    )
    told = reasons.failed(replace(outcome, error="it broke"), samples.NOON + 120_000)
    assert told == f"Silence: the last run {words} 2m ago: it broke."


@pytest.mark.parametrize("kind", list(ProvenanceKind))
def test_each_beginning_of_a_trace_is_told(kind: ProvenanceKind) -> None:
    cause = replace(builders.run("r", samples.MAIN).cause, kind=kind, trace="t-1")
    assert re.fullmatch(
        r"Trace: t-1, begun by (a|an|the) [a-z -]+(, )?(of|for) owner; the last run was r-1\.",
        reasons.traced(cause, "r-1"),
    )


def test_a_turn_of_several_people_is_told_as_that() -> None:
    cause = replace(builders.run("r").cause, principal=Principal(PrincipalKind.AGENT, "main"), trace="t-1")
    assert reasons.traced(cause, "r-1") == (
        "Trace: t-1, begun by messages of several people, for none of whom it acts; the last run was r-1."
    )


@pytest.mark.requirement("F6", "F9")
def test_what_another_gateway_said_of_a_message_is_told() -> None:
    office = RemoteSession(gateway="office", session="main")
    sent = replace(samples.exchange(), sent=Sent(run_id="x1", remote=office))
    assert reasons.carried(sent) == "It sent x1 to office/main: accepted."
    there = replace(sent, sent=replace(sent.sent, remote=replace(office, key="agent:main:main")))
    failed = replace(there, state=ExchangeState.FAILED, error="no model")
    assert reasons.carried(failed) == (
        "It sent x1 to office/main: failed, run x1 of agent:main:main there: no model."
    )


def test_models_silences_and_denials_are_told() -> None:
    assert reasons.answered("p/m", None) == "Model: the last answer came from p/m (no reason is known)."
    assert reasons.answering("p/m", "set here") == "Model: the next answer comes from p/m (set here)."
    assert reasons.unanswerable(InvalidInput("no model x", hint="name another")) == (
        "Model: none can answer: no model x (name another)."
    )
    assert reasons.held_back(replace(DENIAL, rule="the session's sendPolicy")).endswith(
        "was not sent, because of the session's sendPolicy."
    )
    assert "answered NO_REPLY just now, which" in reasons.chosen("NO_REPLY", samples.NOON, samples.NOON)
    assert reasons.only_leaks(samples.NOON, samples.NOON) == (
        "Silence: what the model answered just now was only reasoning or tool calls, which are not sent."
    )
    lost = replace(builders.delivery("d"), state=DeliveryState.UNCERTAIN)
    assert reasons.unsent(lost) == "Silence: nobody knows whether a message arrived: no reason is known."
    gone = replace(lost, state=DeliveryState.FAILED, error="gone")
    assert reasons.unsent(gone) == "Silence: a message could not be sent: gone."
    assert reasons.no_silence(samples.NOON - 5_000, samples.NOON).endswith("was given 5s ago.")
    assert reasons.unheard(replace(DENIAL, rule="requireMention"), samples.NOON) == (
        "A message without a mention got no answer 5s ago (requireMention)."
    )
    assert (
        reasons.denied(DENIAL, samples.NOON) == "- 5s ago: send by owner: it is not yours (other_principal)"
    )
