from dataclasses import replace

import pytest

from roost.core.effects import AddDelivery, OpenGeneration, RequestStop
from roost.core.errors import InvalidInput, NotFound
from roost.core.lifecycle import ResetMode, ResetRule, Stale, StaleReason
from roost.core.principals import OWNER
from roost.core.resets import RESET_REASON, Reset, end_begun, open_generation, open_stale, way_back
from roost.core.runs import Request, RunKind, StopRequest
from roost.core.sessions import Base, OpenedBy
from roost.core.snapshots import Snapshot
from tests import samples

RULE = ResetRule(mode=ResetMode.DAILY, setting="session.reset")
CONTINUING = {OpenedBy.BACK, OpenedBy.FORK, OpenedBy.BRANCH}
BASE = Base(session_id="s0", seq=12)
STOP = StopRequest(reason=RESET_REASON, by=OWNER, at=samples.NOON)


def asked(reason: OpenedBy = OpenedBy.NEW, base: Base | None = None) -> Reset:
    return Reset(reason=reason, session_id="s2", at=samples.NOON, rule="trigger /new", base=base)


@pytest.mark.requirement("P5")
def test_a_reset_opens_the_next_generation_and_names_the_one_before() -> None:
    (opened,) = open_generation(samples.snapshot(), asked())
    assert isinstance(opened, OpenGeneration)
    new = opened.generation
    assert (new.session_id, new.previous, new.number) == ("s2", "s1", 2)
    assert (new.opened_by, new.rule, new.base) == (OpenedBy.NEW, "trigger /new", None)


@pytest.mark.requirement("P3")
def test_a_reset_touches_neither_settings_nor_waiting_messages() -> None:
    busy = replace(
        samples.snapshot(),
        queued=(samples.queued(),),
        pending=(samples.pending(samples.inbound(), "q1"),),
    )
    assert [type(effect) for effect in open_generation(busy, asked())] == [OpenGeneration]


def test_a_session_that_does_not_exist_cannot_be_reset() -> None:
    with pytest.raises(NotFound):
        open_generation(Snapshot(key=samples.MAIN), asked())


@pytest.mark.parametrize("reason", list(OpenedBy))
def test_only_back_fork_and_branch_continue_another_generation(reason: OpenedBy) -> None:
    right, wrong = (BASE, None) if reason in CONTINUING else (None, BASE)
    assert asked(reason, right).base == right
    with pytest.raises(InvalidInput):
        asked(reason, wrong)


@pytest.mark.requirement("P9")
def test_going_back_continues_the_previous_generation_to_its_end() -> None:
    current = replace(samples.generation(), previous="s0")
    assert way_back(current, 12) == BASE
    (opened,) = open_generation(samples.snapshot(), asked(OpenedBy.BACK, way_back(current, 12)))
    assert isinstance(opened, OpenGeneration)
    assert opened.generation.base == BASE


def test_there_is_no_way_back_from_the_first_generation() -> None:
    with pytest.raises(InvalidInput):
        way_back(samples.generation(), 3)


@pytest.mark.requirement("P9")
@pytest.mark.parametrize(
    ("reason", "opened_by"),
    [
        (StaleReason.DAILY, OpenedBy.DAILY),
        (StaleReason.IDLE, OpenedBy.IDLE),
        (StaleReason.MARKED, OpenedBy.RESET),
    ],
)
def test_an_automatic_reset_records_its_rule_and_is_told_once(
    reason: StaleReason, opened_by: OpenedBy
) -> None:
    stale = Stale(reason=reason, boundary=1, rule=RULE)
    opened, told = open_stale(samples.snapshot(), stale, "s2", samples.inbound())
    assert isinstance(opened, OpenGeneration)
    assert (opened.generation.opened_by, opened.generation.rule) == (opened_by, RULE.name)
    assert isinstance(told, AddDelivery)
    assert "/back" in told.delivery.text


def test_what_began_is_asked_to_end_also_when_it_waits_again() -> None:
    begun = replace(samples.queued("q2"), started_at=samples.NOON)
    busy = replace(samples.snapshot(), running=samples.run("r1"), queued=(samples.queued("q1"), begun))
    ended = tuple(RequestStop(run_id=one, stop=STOP) for one in ("r1", "q2"))
    assert end_begun(busy, STOP) == ended


@pytest.mark.requirement("P1")
def test_a_reset_ends_who_was_to_tell_of_a_task_that_is_forgotten() -> None:
    telling = samples.queued("q1", request=Request(kind=RunKind.ANNOUNCE, completes="c-run"))
    exchange = samples.queued("q2", request=Request(kind=RunKind.ANNOUNCE, exchange_id="x1"))
    waiting = replace(samples.snapshot(), queued=(telling, exchange))
    assert end_begun(waiting, STOP) == (RequestStop(run_id="q1", stop=STOP),)


@pytest.mark.requirement("P20")
def test_an_automatic_reset_ends_what_stands_aside() -> None:
    aside = replace(samples.snapshot(), queued=(replace(samples.queued(), started_at=samples.NOON),))
    stale = Stale(reason=StaleReason.DAILY, boundary=1, rule=RULE)
    assert open_stale(aside, stale, "s2", samples.inbound())[0] == RequestStop(run_id="q1", stop=STOP)
