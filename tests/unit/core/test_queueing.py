from dataclasses import replace

import pytest

from roost.core.arrivals import Arrival
from roost.core.effects import (
    AcceptInput,
    AddDelivery,
    DelayRun,
    EndRun,
    KillInput,
    MergeInput,
    MoveInput,
    QueueRun,
)
from roost.core.errors import InvalidInput
from roost.core.inbound import Inbound, InputMode
from roost.core.messages import ProvenanceKind
from roost.core.principals import OWNER, Principal, PrincipalKind
from roost.core.queueing import QueuePlan, accept, plan
from roost.core.queuesettings import DropPolicy, QueueMode, QueuePolicy, QueueSettings
from roost.core.resets import Reset
from roost.core.runs import Cause, Outcome, Request, Run, RunKind, RunState, StopRequest
from roost.core.sessions import OpenedBy
from roost.core.snapshots import Snapshot
from tests import samples
from tests.samples import ALICE, BOB, CHAT, GROUP, GROUP_FACTS, MAIN, NOON, OTHER_CHAT, inbound, pending

LATER = NOON + 100
DONE_LATER = Outcome(state=RunState.DONE, at=NOON + 900)
IDLE = samples.snapshot()
BUSY = replace(IDLE, running=samples.run())
IN_GROUP = replace(
    samples.snapshot(GROUP),
    session=samples.session(GROUP, facts=GROUP_FACTS),
    running=samples.run(key=GROUP, principal=ALICE),
)


def arriving(
    message: Inbound | None = None,
    mode: QueueMode = QueueMode.STEER,
    *,
    cap: int = 20,
    drop: DropPolicy = DropPolicy.SUMMARIZE,
    settle_ms: int = 0,
) -> Arrival:
    settings = QueueSettings(mode=mode, cap=cap, drop=drop, settle_ms=settle_ms)
    message = message or inbound(at=LATER)
    return replace(samples.arrival(message), queue=QueuePolicy(base=settings))


def seat(planned: QueuePlan) -> tuple[str | None, InputMode]:
    (accepted,) = (effect for effect in planned.effects if isinstance(effect, AcceptInput))
    return accepted.run_id, accepted.mode


def new_runs(planned: QueuePlan) -> list[QueueRun]:
    return [effect for effect in planned.effects if isinstance(effect, QueueRun)]


def waiting(snapshot: Snapshot, *names: str, run_id: str = "q1") -> Snapshot:
    """The snapshot with messages that wait for one queued run."""
    records = tuple(pending(inbound(name), run_id) for name in names)
    return replace(snapshot, queued=(samples.queued(run_id),), pending=records)


def test_a_message_that_none_of_the_agents_would_answer_is_refused() -> None:
    asked = replace(arriving(), agents=("ops", "main"))
    assert seat(plan(IDLE, asked)) == ("new", InputMode.OPEN)
    with pytest.raises(InvalidInput, match="unknown agent id 'main'"):
        plan(IDLE, replace(asked, agents=("ops",)))


def test_a_message_to_an_idle_session_starts_a_run_at_once() -> None:
    planned = plan(IDLE, arriving())
    (queued,) = new_runs(planned)
    assert seat(planned) == ("new", InputMode.OPEN)
    assert (queued.run.state, queued.run.queued_at, queued.run.ready_at) == (RunState.QUEUED, LATER, LATER)
    assert queued.run.request.reply_to == CHAT
    assert queued.run.cause == Cause(principal=OWNER, kind=ProvenanceKind.HUMAN, trace="t1")
    assert planned.interrupts is None


def test_a_first_message_is_queued_in_the_session_it_opens() -> None:
    effects = accept(Snapshot(key=MAIN), arriving())
    assert [type(effect).__name__ for effect in effects] == ["OpenSession", "QueueRun", "AcceptInput"]


def test_an_idle_session_may_wait_for_a_second_message() -> None:
    (queued,) = new_runs(plan(IDLE, arriving(settle_ms=300)))
    assert queued.run.ready_at == LATER + 300
    settling = replace(waiting(IDLE, "m0"), queued=(replace(samples.queued(), ready_at=NOON + 300),))
    planned = plan(settling, arriving(settle_ms=300))
    assert seat(planned) == ("q1", InputMode.OPEN)
    assert DelayRun(run_id="q1", ready_at=LATER + 300) in planned.effects


def test_a_message_during_a_run_of_the_same_person_and_chat_steers_it() -> None:
    planned = plan(BUSY, arriving())
    assert seat(planned) == ("r1", InputMode.STEER)
    assert new_runs(planned) == []


@pytest.mark.parametrize(
    "running",
    [
        samples.run(request=Request(reply_to=OTHER_CHAT)),
        samples.run(principal=ALICE),
        samples.run(kind=ProvenanceKind.INTER_SESSION),
        *(
            samples.run(request=Request(kind=kind, reply_to=CHAT))
            for kind in RunKind
            if kind is not RunKind.TURN
        ),
    ],
)
def test_a_run_for_another_chat_authority_or_purpose_is_not_steered(running: Run) -> None:
    planned = plan(replace(IDLE, running=running), arriving())
    assert seat(planned) == ("new", InputMode.OPEN)


@pytest.mark.parametrize("kind", [kind for kind in ProvenanceKind if kind is not ProvenanceKind.HUMAN])
@pytest.mark.parametrize("mode", list(QueueMode))
def test_what_no_person_sent_gets_a_run_of_its_own_at_once(kind: ProvenanceKind, mode: QueueMode) -> None:
    message = inbound(kind=kind, at=LATER)
    planned = plan(waiting(BUSY, "m0"), arriving(message, mode, cap=1))
    (queued,) = new_runs(planned)
    assert (seat(planned), queued.run.ready_at) == (("new", InputMode.OPEN), LATER)
    assert planned.interrupts is None


def test_followups_each_wait_for_a_turn_of_their_own() -> None:
    planned = plan(waiting(BUSY, "m0"), arriving(mode=QueueMode.FOLLOWUP))
    (queued,) = new_runs(planned)
    assert (seat(planned), queued.run.ready_at) == (("new", InputMode.OPEN), LATER + 500)


def test_collected_messages_share_one_later_turn() -> None:
    first = plan(BUSY, arriving(mode=QueueMode.COLLECT))
    assert seat(first) == ("new", InputMode.OPEN)
    second = plan(waiting(BUSY, "m0"), arriving(mode=QueueMode.COLLECT))
    assert seat(second) == ("q1", InputMode.OPEN)
    assert DelayRun(run_id="q1", ready_at=LATER + 500) in second.effects


def test_messages_of_two_chats_are_answered_in_two_turns() -> None:
    planned = plan(waiting(BUSY, "m0"), arriving(inbound(at=LATER, reply_to=OTHER_CHAT), QueueMode.COLLECT))
    assert seat(planned) == ("new", InputMode.OPEN)


def test_a_message_does_not_join_a_turn_that_another_session_asked_for() -> None:
    asked = replace(BUSY, queued=(samples.queued(kind=ProvenanceKind.INTER_SESSION),))
    assert seat(plan(asked, arriving(mode=QueueMode.COLLECT))) == ("new", InputMode.OPEN)


def test_a_hint_for_one_message_keeps_it_out_of_the_others_turn() -> None:
    hinted = replace(arriving(mode=QueueMode.COLLECT), request=Request(thinking="high"))
    assert seat(plan(waiting(BUSY, "m0"), hinted)) == ("new", InputMode.OPEN)
    assert seat(plan(BUSY, replace(hinted, queue=QueuePolicy()))) == ("new", InputMode.OPEN)


def test_a_message_does_not_overtake_an_earlier_one_that_waits() -> None:
    assert seat(plan(waiting(BUSY, "m0"), arriving())) == ("q1", InputMode.OPEN)


def test_somebody_who_never_pauses_does_not_hold_the_turn_back_for_ever() -> None:
    long_after = arriving(inbound(at=NOON + 60_000), QueueMode.COLLECT)
    assert DelayRun(run_id="q1", ready_at=NOON + 5000) in plan(waiting(BUSY, "m0"), long_after).effects


def test_an_interrupting_message_goes_next_and_names_the_run_to_end() -> None:
    planned = plan(BUSY, arriving(mode=QueueMode.INTERRUPT))
    (queued,) = new_runs(planned)
    assert (planned.interrupts, queued.run.ready_at) == ("r1", LATER)
    assert plan(IDLE, arriving(mode=QueueMode.INTERRUPT)).interrupts is None


def test_a_message_does_not_interrupt_what_runs_for_somebody_else() -> None:
    others = replace(IDLE, running=samples.run(principal=ALICE))
    assert plan(others, arriving(mode=QueueMode.INTERRUPT)).interrupts is None


@pytest.mark.requirement("D44")
def test_an_asked_for_reset_ends_the_run_and_joins_nothing_however_full_the_queue_is() -> None:
    asked = Reset(reason=OpenedBy.NEW, session_id="s9", at=LATER, rule="trigger /new")
    for arrival in (arriving(), arriving(cap=1, drop=DropPolicy.NEW)):
        planned = plan(waiting(BUSY, "m0"), replace(arrival, reset=asked))
        assert (seat(planned), planned.interrupts) == (("new", InputMode.OPEN), "r1")


@pytest.mark.requirement("P20")
@pytest.mark.parametrize(("each_pays", "seats"), [(False, ("q1", "q1", "new")), (True, ("q1", "new", "new"))])
def test_in_a_group_people_are_collected_but_not_with_the_owner_or_at_anothers_cost(
    each_pays: bool, seats: tuple[str, str, str]
) -> None:
    queue = replace(IN_GROUP, queued=(replace(samples.queued(principal=ALICE), key=GROUP),))

    def joined(principal: Principal) -> str | None:
        message = inbound(key=GROUP, principal=principal, at=LATER)
        arrival = replace(arriving(message, QueueMode.COLLECT), each_pays=each_pays)
        return seat(plan(queue, arrival))[0]

    assert (joined(ALICE), joined(BOB), joined(OWNER)) == seats


def test_in_a_group_nobody_steers_another_persons_run() -> None:
    message = inbound(key=GROUP, principal=BOB, at=LATER)
    assert seat(plan(IN_GROUP, arriving(message))) == ("new", InputMode.OPEN)


@pytest.mark.parametrize(
    ("each_pays", "run_id"), [(False, "r1"), (True, "new")], ids=["one purse", "each their own"]
)
def test_in_a_group_all_but_the_owner_steer_a_run_that_acts_for_several(each_pays: bool, run_id: str) -> None:
    joint = Principal(PrincipalKind.AGENT, "main")
    answering = replace(IN_GROUP, running=samples.run(key=GROUP, principal=joint))

    def seated(principal: Principal) -> str | None:
        message = inbound(key=GROUP, principal=principal, at=LATER)
        return seat(plan(answering, replace(arriving(message), each_pays=each_pays)))[0]

    assert (seated(BOB), seated(OWNER)) == (run_id, "new")


def test_outside_a_group_people_are_not_collected() -> None:
    theirs = replace(BUSY, queued=(samples.queued(principal=ALICE),))
    message = inbound(principal=BOB, at=LATER)
    assert seat(plan(theirs, arriving(message, QueueMode.COLLECT))) == ("new", InputMode.OPEN)


@pytest.mark.requirement("P3")
def test_a_full_queue_that_summarises_keeps_a_line_of_the_oldest() -> None:
    message = inbound("m9", at=LATER)
    planned = plan(waiting(BUSY, "m0", "m1"), arriving(message, QueueMode.COLLECT, cap=2))
    assert planned.effects[-2:] == (
        MoveInput(inbound_id="m0", run_id="q1", mode=InputMode.OPEN),
        MergeInput(inbound_id="m0", into="m9", reason="m0"),
    )


@pytest.mark.requirement("P3")
def test_a_full_queue_that_drops_the_old_tells_the_sender() -> None:
    full = waiting(BUSY, "m0")
    planned = plan(full, arriving(mode=QueueMode.FOLLOWUP, cap=1, drop=DropPolicy.OLD))
    dead, told, ended = planned.effects[-3:]
    assert dead == KillInput(inbound_id="m0", reason="queue full")
    assert isinstance(told, AddDelivery)
    assert told.delivery.address == CHAT
    assert isinstance(ended, EndRun)
    assert (ended.run_id, ended.outcome.state) == ("q1", RunState.KILLED)


@pytest.mark.requirement("P3")
def test_a_run_that_was_put_back_keeps_what_it_took_though_all_that_joined_it_later_is_dropped() -> None:
    parked = replace(waiting(IDLE, "m0"), queued=(replace(samples.queued(), started_at=NOON),))
    planned = plan(parked, arriving(mode=QueueMode.FOLLOWUP, cap=1, drop=DropPolicy.OLD))
    assert KillInput(inbound_id="m0", reason="queue full") in planned.effects
    assert not any(isinstance(effect, EndRun) for effect in planned.effects)


def test_a_full_queue_that_drops_the_new_refuses_it_and_tells_the_sender() -> None:
    planned = plan(waiting(BUSY, "m0"), arriving(cap=1, drop=DropPolicy.NEW))
    dead, told = planned.effects[-2:]
    assert dead == KillInput(inbound_id="m1", reason="queue full", inbound=inbound(at=LATER))
    assert isinstance(told, AddDelivery)
    assert not any(isinstance(effect, AcceptInput) for effect in planned.effects)


def test_a_lowered_cap_lets_several_give_way() -> None:
    planned = plan(waiting(BUSY, "a", "b", "c"), arriving(mode=QueueMode.COLLECT, cap=2))
    merged = [effect.inbound_id for effect in planned.effects if isinstance(effect, MergeInput)]
    assert merged == ["a", "b"]


def test_nobodys_message_displaces_another_persons() -> None:
    theirs = replace(BUSY, pending=(pending(inbound("m0", principal=ALICE), "q1"),))
    planned = plan(theirs, arriving(cap=1, drop=DropPolicy.OLD))
    assert not any(isinstance(effect, KillInput) for effect in planned.effects)


def test_another_chats_messages_do_not_fill_this_ones_queue() -> None:
    elsewhere = replace(BUSY, pending=(pending(inbound("m0", reply_to=OTHER_CHAT), "q1"),))
    planned = plan(elsewhere, arriving(cap=1, drop=DropPolicy.NEW))
    assert seat(planned) == ("r1", InputMode.STEER)


def test_a_turn_that_lost_one_of_its_messages_still_answers_the_others() -> None:
    full = waiting(BUSY, "m0", "m1")
    planned = plan(full, arriving(inbound("m9", at=LATER), QueueMode.FOLLOWUP, cap=2, drop=DropPolicy.OLD))
    assert KillInput(inbound_id="m0", reason="queue full") in planned.effects
    assert not any(isinstance(effect, EndRun) for effect in planned.effects)


@pytest.mark.requirement("P3")
def test_a_full_queue_does_not_rob_the_run_under_way_of_what_it_answers() -> None:
    opening = pending(inbound("m0"), "r1")
    steering = pending(inbound("m1"), "r1", InputMode.STEER)
    message = inbound("m9", at=LATER)
    planned = plan(replace(BUSY, pending=(opening, steering)), arriving(message, cap=1, drop=DropPolicy.OLD))
    assert [one.inbound_id for one in planned.effects if isinstance(one, KillInput)] == ["m1"]


@pytest.mark.requirement("P3")
@pytest.mark.parametrize("mode", [QueueMode.STEER, QueueMode.COLLECT, QueueMode.INTERRUPT])
def test_what_is_about_to_end_takes_nothing_more(mode: QueueMode) -> None:
    stop = StopRequest(reason="stopped", by=OWNER, at=NOON)
    ending = replace(
        IDLE, running=replace(samples.run(), stop=stop), queued=(replace(samples.queued(), stop=stop),)
    )
    planned = plan(ending, arriving(mode=mode))
    assert (seat(planned), planned.interrupts) == (("new", InputMode.OPEN), None)
