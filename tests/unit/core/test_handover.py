from dataclasses import replace

import pytest

from roost.core.effects import AddDelivery, AppendEntries, KeepInput, KillInput, MoveInput, QueueRun
from roost.core.exchanges import Completion
from roost.core.handover import carry_over, hand_over
from roost.core.inbound import InboundState, InputMode
from roost.core.inputs import entries_of
from roost.core.messages import ProvenanceKind
from roost.core.principals import OWNER
from roost.core.queueing import INTERRUPTED
from roost.core.runs import Lane, Outcome, Request, Run, RunKind, RunState, StopRequest
from roost.core.toolnames import SUBAGENTS
from tests import samples
from tests.samples import CHAT, MAIN, NOON, inbound, pending

LATER = NOON + 100
DONE_LATER = Outcome(state=RunState.DONE, at=NOON + 900)
BUSY = replace(samples.snapshot(), running=samples.run())


@pytest.mark.requirement("P3")
def test_what_a_run_did_not_take_is_the_next_run() -> None:
    steered = tuple(pending(inbound(name, at=LATER), "r1", InputMode.STEER) for name in ("m1", "m2"))
    elsewhere = pending(inbound("m3"), "q1")
    effects = carry_over(replace(BUSY, pending=(*steered, elsewhere)), samples.run(), DONE_LATER)
    queued, *moved = effects
    assert isinstance(queued, QueueRun)
    assert (queued.run.queued_at, queued.run.ready_at) == (LATER, NOON + 900)
    assert queued.run.request == Request(reply_to=CHAT)
    assert moved == [
        MoveInput(inbound_id=name, run_id=queued.run.id, mode=InputMode.OPEN) for name in ("m1", "m2")
    ]
    assert carry_over(BUSY, samples.run(), DONE_LATER) == ()


def test_a_persons_words_that_a_run_did_not_take_are_answered_as_that_run_was_told_to() -> None:
    person = pending(inbound("m1"), "r1", InputMode.STEER)
    child = pending(inbound("m2", kind=ProvenanceKind.SUBAGENT, reply_to=None), "r1", InputMode.STEER)
    told = Request(
        reply_to=CHAT, instructions="In rhyme.", model="scripted/two", thinking="high", longest_ms=9_000
    )
    effects = carry_over(replace(BUSY, pending=(person, child)), samples.run(request=told), DONE_LATER)
    assert [one.run.request for one in effects if isinstance(one, QueueRun)] == [told, Request()]


def test_what_opened_a_run_that_was_interrupted_is_answered_as_it_was_sent() -> None:
    """The model of a hook's message, which nobody but the hook asked for."""
    hooked = pending(inbound("m1", kind=ProvenanceKind.HOOK), "r1", InputMode.OPEN)
    asked = Request(reply_to=CHAT, lane=Lane.CRON, model="scripted/two", longest_ms=9_000)
    outcome = Outcome(state=RunState.INTERRUPTED, at=LATER)
    effects = hand_over(replace(BUSY, pending=(hooked,)), samples.run(request=asked), outcome)
    assert [one.run.request for one in effects if isinstance(one, QueueRun)] == [asked]


def test_what_is_left_of_several_voices_is_answered_separately() -> None:
    person = pending(inbound("m1"), "r1", InputMode.STEER)
    child = pending(inbound("m2", kind=ProvenanceKind.SUBAGENT, reply_to=None), "r1", InputMode.STEER)
    effects = carry_over(replace(BUSY, pending=(person, child)), samples.run(), DONE_LATER)
    runs = [effect.run for effect in effects if isinstance(effect, QueueRun)]
    assert [run.cause.kind for run in runs] == [ProvenanceKind.HUMAN, ProvenanceKind.SUBAGENT]
    assert len({run.id for run in runs}) == 2


PERSON, AGENT = ProvenanceKind.HUMAN, ProvenanceKind.INTER_SESSION


@pytest.mark.requirement("P3", "P13")
@pytest.mark.parametrize(
    ("state", "kind", "mode", "dies"),
    [
        (RunState.DONE, PERSON, InputMode.OPEN, False),
        (RunState.DONE, AGENT, InputMode.STEER, False),
        (RunState.INTERRUPTED, PERSON, InputMode.OPEN, False),
        (RunState.FAILED, PERSON, InputMode.OPEN, True),
        (RunState.FAILED, PERSON, InputMode.STEER, False),
        (RunState.TIMEOUT, AGENT, InputMode.OPEN, True),
        (RunState.TIMEOUT, AGENT, InputMode.STEER, False),
        (RunState.KILLED, PERSON, InputMode.OPEN, False),
        (RunState.KILLED, PERSON, InputMode.STEER, False),
        (RunState.KILLED, AGENT, InputMode.OPEN, True),
        (RunState.KILLED, AGENT, InputMode.STEER, True),
    ],
)
def test_what_an_ended_run_could_not_serve_is_dead_and_told(
    state: RunState, kind: ProvenanceKind, mode: InputMode, dies: bool
) -> None:
    left = pending(inbound("m1", kind=kind), "r1", mode)
    elsewhere = pending(inbound("m2", kind=kind), "q1")
    outcome = Outcome(state=state, at=LATER)
    effects = hand_over(replace(BUSY, pending=(left, elsewhere)), samples.run(), outcome)
    wanted = [KillInput, AddDelivery] if dies else [QueueRun, MoveInput]
    assert [type(effect) for effect in effects] == wanted
    assert all(getattr(effect, "inbound_id", "m1") == "m1" for effect in effects)


@pytest.mark.requirement("P1")
@pytest.mark.parametrize("state", [RunState.FAILED, RunState.TIMEOUT])
def test_what_a_child_reports_is_kept_for_the_next_turn(state: RunState) -> None:
    report = pending(inbound("m1", kind=ProvenanceKind.SUBAGENT), "r1")
    effects = hand_over(replace(BUSY, pending=(report,)), samples.run(), Outcome(state=state, at=LATER))
    kept = AppendEntries(key=MAIN, drafts=entries_of((report,)))
    assert effects == (KeepInput(inbound_id="m1"), kept)


@pytest.mark.requirement("P1", "P13")
@pytest.mark.parametrize("goes_on", [True, False])
@pytest.mark.parametrize("began_in", [None, "s1", "before"])
def test_what_a_child_reports_to_a_session_that_was_stopped_is_dead_unless_that_goes_on(
    goes_on: bool, began_in: str | None
) -> None:
    report = pending(inbound("m1", kind=ProvenanceKind.SUBAGENT), "r1")
    stop = StopRequest(reason="a person's word", by=OWNER, at=NOON, goes_on=goes_on)
    stopped = Outcome(state=RunState.KILLED, at=LATER)
    run = replace(samples.run(), stop=stop, session_id=began_in)
    effects = hand_over(replace(BUSY, pending=(report,)), run, stopped)
    kept = goes_on or began_in == "before"
    wanted = [KeepInput, AppendEntries] if kept else [KillInput, AddDelivery]
    assert [type(effect) for effect in effects] == wanted


@pytest.mark.requirement("P3")
@pytest.mark.parametrize(
    ("outcome", "goes_on"),
    [(DONE_LATER, True), (Outcome(state=RunState.INTERRUPTED, at=LATER), False)],
    ids=["done", "interrupted"],
)
@pytest.mark.parametrize("reported", [(), ("m0",)], ids=["alone", "behind a report"])
def test_what_a_requester_said_too_late_for_a_child_goes_on_in_its_place(
    outcome: Outcome, goes_on: bool, reported: tuple[str, ...]
) -> None:
    words = inbound("m1", kind=ProvenanceKind.SUBAGENT, reply_to=None)
    steered = replace(words, provenance=replace(words.provenance, source_tool=SUBAGENTS))
    unread = (*(replace(words, id=name) for name in reported), steered)
    left = replace(BUSY, pending=tuple(pending(one, "r1", InputMode.STEER) for one in unread))
    queued, *_ = carry_over(left, samples.run(), outcome)
    assert isinstance(queued, QueueRun)
    assert (queued.run.request.completes == "r1") is goes_on


@pytest.mark.requirement("P1", "D63")
@pytest.mark.parametrize(
    ("outcome", "others", "goes_on"),
    [
        (replace(DONE_LATER, yielded=True), (), True),
        (replace(DONE_LATER, yielded=True), (samples.completion("r9", batch="r1"),), False),
        (replace(DONE_LATER, yielded=True), (samples.completion("r9", batch="r8"),), True),
        (DONE_LATER, (), False),
    ],
)
def test_a_turn_that_yielded_unread_words_of_its_last_child_goes_on_with_them(
    outcome: Outcome, others: tuple[Completion, ...], goes_on: bool
) -> None:
    heard = pending(inbound("m1", kind=ProvenanceKind.SUBAGENT, reply_to=None), "r1", InputMode.STEER)
    run = samples.run(request=Request(reply_to=CHAT, exchange_id="x1", deadline=5))
    queued, _ = hand_over(replace(BUSY, pending=(heard,), children=others), run, outcome)
    assert isinstance(queued, QueueRun)
    after = Request(kind=RunKind.CONTINUATION, reply_to=CHAT, exchange_id="x1", completes="r1", deadline=5)
    assert queued.run.request == (after if goes_on else Request())


def stopped(reason: str) -> Run:
    return replace(samples.run(), session_id="s1", stop=StopRequest(reason=reason, by=OWNER, at=LATER))


@pytest.mark.requirement("P3")
def test_what_a_run_that_gave_way_had_not_read_stands_before_the_message_that_ended_it() -> None:
    opening, steering = pending(inbound("m1"), "r1"), pending(inbound("m2"), "r1", InputMode.STEER)
    fell = replace(pending(inbound("m0"), "r1"), state=InboundState.MERGED, merged_into="m1", reason="m0")
    newer = pending(inbound("m3"), "q1")
    seen = replace(BUSY, pending=(opening, steering, newer), merged=(fell,))
    killed = Outcome(state=RunState.KILLED, at=LATER)
    assert hand_over(seen, stopped(INTERRUPTED), killed) == (
        KeepInput(inbound_id="m1"),
        KeepInput(inbound_id="m2"),
        AppendEntries(key=MAIN, drafts=entries_of((fell, opening, steering))),
    )
    assert hand_over(replace(seen, pending=(newer,)), stopped(INTERRUPTED), killed) == ()


@pytest.mark.requirement("P3")
@pytest.mark.parametrize(
    "run",
    [stopped("the conversation is condensed"), replace(stopped(INTERRUPTED), session_id="s0")],
    ids=["stopped for something else", "left behind by a reset"],
)
def test_what_any_other_run_had_not_read_is_answered_after_it(run: Run) -> None:
    seen = replace(BUSY, pending=(pending(inbound("m1"), "r1"),))
    effects = hand_over(seen, run, Outcome(state=RunState.KILLED, at=LATER))
    assert [type(effect) for effect in effects] == [QueueRun, MoveInput]
