from dataclasses import replace

import pytest

from roost.core.deliveries import DeliveryKind
from roost.core.effects import (
    AddDelivery,
    AppendEntries,
    ChangeSession,
    Effects,
    EndRun,
    MoveInput,
    PutExchange,
    QueueRun,
    RecordUsage,
    SettleCompletion,
)
from roost.core.endings import Ending
from roost.core.finishing import End, Played, conclude, finish
from roost.core.inbound import InputMode
from roost.core.ledger import LedgerRow
from roost.core.messages import AssistantMessage, Text, Usage
from roost.core.runs import Outcome, Parked, Request, Run, RunKind, RunState
from roost.core.snapshots import RunSnapshot
from roost.core.upkeep import ContextSettings, Load, Upkeep
from tests import samples
from tests.samples import NOON, inbound, pending

DONE = Outcome(state=RunState.DONE, at=NOON)


@pytest.mark.requirement("P1", "P3")
def test_one_decision_ends_the_run_moves_what_it_left_and_serves_who_waits() -> None:
    left = pending(inbound("m2"), "r1", InputMode.STEER)
    snapshot = RunSnapshot(
        run=samples.run(),
        session=replace(samples.snapshot(), pending=(left,)),
        completion=samples.completion("r1", requester=samples.OPS),
        requester=samples.snapshot(samples.OPS),
    )
    effects = finish(snapshot, Ending(outcome=DONE, announce=lambda _, __: "", reply="x"))
    assert [type(effect) for effect in effects] == [EndRun, QueueRun, MoveInput, SettleCompletion, QueueRun]
    assert effects[0] == EndRun(run_id="r1", outcome=DONE)


def test_an_ordinary_run_just_ends() -> None:
    snapshot = RunSnapshot(run=samples.run(), session=samples.snapshot())
    effects = finish(snapshot, Ending(outcome=DONE, announce=lambda _, __: ""))
    assert effects == (EndRun(run_id="r1", outcome=DONE),)


@pytest.mark.requirement("P20")
def test_a_run_that_was_parked_and_is_ended_lets_its_user_know() -> None:
    parked = replace(samples.run(), parked=Parked(at=NOON, setting="budgets.perDay.tokens", reason="used up"))
    killed = Outcome(state=RunState.KILLED, at=NOON, error="stopped")
    snapshot = RunSnapshot(run=parked, session=samples.snapshot())
    effects = finish(snapshot, Ending(outcome=killed, announce=lambda _, __: ""))
    assert [type(effect) for effect in effects] == [EndRun, AddDelivery]


@pytest.mark.requirement("P1", "D63")
@pytest.mark.parametrize("waits", [True, False])
def test_a_child_that_yields_has_ended_unless_it_has_something_to_wait_for(waits: bool) -> None:
    own = (samples.completion("r9", batch="r1"),) if waits else ()
    snapshot = RunSnapshot(
        run=samples.run(),
        session=samples.snapshot(),
        spawned=own,
        exchange=samples.exchange(),
        partner=samples.snapshot(samples.OPS),
        completion=samples.completion("r1", requester=samples.OPS),
        requester=samples.snapshot(samples.OPS),
    )
    yielded = replace(DONE, yielded=True)
    end, *rest = finish(snapshot, Ending(outcome=yielded, announce=lambda _, __: "", reply="x"))
    assert end == EndRun(run_id="r1", outcome=yielded if waits else DONE)
    served = {type(effect) for effect in rest} & {SettleCompletion, PutExchange}
    assert served == (set() if waits else {SettleCompletion, PutExchange})


@pytest.mark.requirement("D21")
@pytest.mark.parametrize("pending", [True, False])
def test_a_run_that_waits_for_others_waits_until_its_time_is_over(pending: bool) -> None:
    run = samples.run(request=Request(deadline=NOON + 5))
    own = (samples.completion("r9", batch="r1"),) if pending else ()
    snapshot = RunSnapshot(run=run, session=samples.snapshot(), spawned=own)
    end, *_ = finish(snapshot, Ending(outcome=replace(DONE, yielded=True), announce=lambda _, __: ""))
    assert isinstance(end, EndRun)
    assert (end.outcome.yielded, end.outcome.until) == (pending, NOON + 5 if pending else None)


WORDS = AssistantMessage(content=(Text("Sunny."),), at=NOON)
LOAD = Load(window=100_000, tokens=99_000, counted=False, chars=400_000, gains=True, unflushed=False)
FOLLOWS = Upkeep(load=LOAD, settings=ContextSettings(), zone=samples.UTC_ZONE)
BROKEN = Outcome(state=RunState.FAILED, at=NOON, error="no key")
LOST = Outcome(state=RunState.TIMEOUT, at=NOON)


def asked(kind: RunKind = RunKind.TURN, *, began_in: str | None = None) -> Run:
    return replace(samples.run(request=Request(kind=kind, reply_to=samples.CHAT)), session_id=began_in)


def concluded(run: Run, end: End, reply: str | None = None) -> Effects:
    ending = Ending(outcome=end.outcome, announce=lambda _, __: "", reply=reply)
    return conclude(RunSnapshot(run=run, session=samples.snapshot()), end, ending)


def said_in_chat(effects: Effects) -> list[tuple[DeliveryKind, str]]:
    return [(one.delivery.kind, one.delivery.text) for one in effects if isinstance(one, AddDelivery)]


@pytest.mark.requirement("P1")
def test_words_reply_bill_and_end_are_one_decision() -> None:
    row = LedgerRow(
        id="l",
        at=NOON,
        key=samples.MAIN,
        session_id="s",
        principal=samples.ALICE,
        run_id="r1",
        run_kind=RunKind.TURN,
        provider="p",
        model="m",
        usage=Usage(input=1),
    )
    end = End(outcome=DONE, played=Played(words=WORDS), follows=FOLLOWS, spent=(row,))
    effects = concluded(asked(), end, "Sunny.")
    assert [type(one) for one in effects] == [
        RecordUsage,
        ChangeSession,
        AppendEntries,
        AddDelivery,
        EndRun,
        QueueRun,
    ]
    assert said_in_chat(effects) == [(DeliveryKind.REPLY, "Sunny.")]


@pytest.mark.parametrize(
    ("kind", "reply"),
    [(RunKind.TURN, "NO_REPLY"), (RunKind.TURN, None), (RunKind.EXCHANGE, "Sunny."), (RunKind.FLUSH, "x")],
)
def test_who_has_nothing_to_say_to_people_says_nothing(kind: RunKind, reply: str | None) -> None:
    effects = concluded(asked(kind), End(outcome=DONE, played=Played(words=WORDS)), reply)
    assert said_in_chat(effects) == []
    assert any(isinstance(one, AppendEntries) for one in effects)


def test_a_run_that_answers_to_no_chat_tells_none() -> None:
    nobody = samples.run(request=Request())
    assert said_in_chat(concluded(nobody, End(outcome=DONE, played=Played(words=WORDS)), "Sunny.")) == []
    assert said_in_chat(concluded(nobody, End(outcome=BROKEN))) == []


@pytest.mark.parametrize(
    ("kind", "outcome", "told"),
    [
        (RunKind.TURN, BROKEN, [(DeliveryKind.NOTICE, "No answer: no key.")]),
        (RunKind.TURN, LOST, [(DeliveryKind.NOTICE, "No answer: timeout.")]),
        (
            RunKind.GREETING,
            BROKEN,
            [(DeliveryKind.NOTICE, "A new conversation has begun. No answer: no key.")],
        ),
        (RunKind.COMPACTION, BROKEN, [(DeliveryKind.COMMAND, "No answer: no key.")]),
        (RunKind.EXCHANGE, BROKEN, []),
        (RunKind.TURN, replace(BROKEN, state=RunState.KILLED), []),
    ],
)
def test_who_asked_is_told_that_no_answer_comes(
    kind: RunKind, outcome: Outcome, told: list[tuple[DeliveryKind, str]]
) -> None:
    effects = concluded(asked(kind), End(outcome=outcome, follows=FOLLOWS))
    assert said_in_chat(effects) == told
    assert not any(isinstance(one, ChangeSession) for one in effects)


def test_what_came_of_a_command_is_told_beside_what_it_wrote() -> None:
    end = End(outcome=DONE, played=Played(bodies=(WORDS, WORDS), told="Condensed."))
    effects = concluded(asked(RunKind.COMPACTION), end)
    assert said_in_chat(effects) == [(DeliveryKind.COMMAND, "Condensed.")]
    (written,) = (one for one in effects if isinstance(one, AppendEntries))
    assert len({draft.id for draft in written.drafts}) == 2


def test_the_words_of_a_conversation_that_is_over_are_kept_by_none() -> None:
    end = End(outcome=DONE, played=Played(words=WORDS, told="Condensed."))
    effects = concluded(asked(RunKind.COMPACTION, began_in="an earlier one"), end)
    assert [type(one) for one in effects] == [EndRun]
