from dataclasses import replace

import pytest

from roost.core.a2a import (
    HOP_LIMIT,
    HopReason,
    advance,
    announce_address,
    announce_run,
    attend,
    check_hops,
    check_late,
    leave,
    listens,
    one_way,
    turns,
)
from roost.core.addresses import Address
from roost.core.deliveries import DeliveryKind
from roost.core.effects import AcceptInput, AddDelivery, AppendEntries, Effects, PutExchange, QueueRun
from roost.core.endings import Ending
from roost.core.errors import Forbidden
from roost.core.exchanges import Exchange, ExchangeState, Phase, Sent
from roost.core.inbound import Inbound, InputMode
from roost.core.keys import SessionKey
from roost.core.messages import ProvenanceKind, Text, UserMessage
from roost.core.principals import OWNER
from roost.core.remotes import BEYOND, RemoteSession
from roost.core.runs import Lane, Outcome, Run, RunKind, RunState, StopRequest
from roost.core.sessions import Session
from roost.core.snapshots import ExchangeSnapshot, RunSnapshot, Snapshot
from roost.core.whereabouts import nowhere
from tests import samples
from tests.samples import CHAT, CHILD, CRON, MAIN, NOON, OPS

SENT_ON = ProvenanceKind.INTER_SESSION


def ended(exchange: Exchange, at: SessionKey) -> RunSnapshot:
    """A run of the exchange ends in one of its two sessions."""
    other = exchange.requester if at == exchange.target else exchange.target
    return RunSnapshot(
        run=samples.run(key=at, kind=SENT_ON),
        session=samples.snapshot(at),
        exchange=exchange,
        partner=samples.snapshot(other),
    )


def ending(reply: str | None = "x", state: RunState = RunState.DONE) -> Ending:
    outcome = Outcome(state=state, at=NOON, error=None if state is RunState.DONE else "boom")
    return Ending(outcome=outcome, announce=lambda _, __: "", reply=reply, met=lambda session: session.route)


def row(effects: Effects) -> Exchange:
    (put,) = (effect for effect in effects if isinstance(effect, PutExchange))
    return put.exchange


def message(effects: Effects) -> Inbound:
    (accepted,) = (effect for effect in effects if isinstance(effect, AcceptInput))
    return accepted.inbound


def next_run(effects: Effects) -> Run | None:
    return next((effect.run for effect in effects if isinstance(effect, QueueRun)), None)


@pytest.mark.requirement("D17", "D61")
def test_replies_go_back_and_forth_and_then_the_target_announces() -> None:
    exchange, at, steps = samples.exchange(max_turns=2), OPS, []
    for reply in ("x", "y", "z"):
        effects = advance(ended(exchange, at), ending(reply))
        run = next_run(effects)
        assert run is not None
        exchange, at = row(effects), run.key
        steps.append((run.key, run.request.kind, exchange.phase, exchange.turn, exchange.latest_reply))
    assert steps == [
        (MAIN, RunKind.EXCHANGE, Phase.LOOP, 1, "x"),
        (OPS, RunKind.EXCHANGE, Phase.LOOP, 2, "y"),
        (OPS, RunKind.ANNOUNCE, Phase.ANNOUNCE, 2, "z"),
    ]
    assert (exchange.first_reply, exchange.state) == ("x", ExchangeState.REPLIED)
    assert row(advance(ended(exchange, OPS), ending("bye"))).phase is Phase.DONE


@pytest.mark.requirement("D60")
def test_a_reply_reaches_the_other_side_as_a_marked_message() -> None:
    effects = advance(ended(samples.exchange(), OPS), ending("x"))
    (accepted,) = (effect for effect in effects if isinstance(effect, AcceptInput))
    run, message = next_run(effects), accepted.inbound
    assert run is not None
    assert (accepted.run_id, accepted.mode, message.content) == (run.id, InputMode.OPEN, (Text("x"),))
    assert (message.provenance.kind, message.provenance.source_session) == (SENT_ON, str(OPS))
    assert (message.provenance.source_tool, message.provenance.source_channel) == (
        "sessions_send",
        "telegram",
    )
    assert message.reply_to is None
    assert (run.request.lane, run.request.reply_to, run.cause.kind) == (Lane.NESTED, None, SENT_ON)


def test_the_same_end_gives_the_same_next_step_twice() -> None:
    snapshot = ended(samples.exchange(), OPS)
    assert advance(snapshot, ending()) == advance(snapshot, ending())


@pytest.mark.requirement("D17")
@pytest.mark.parametrize(
    ("reply", "state"),
    [
        ("REPLY_SKIP", RunState.DONE),
        (None, RunState.DONE),
        ("half", RunState.FAILED),
        ("x", RunState.TIMEOUT),
    ],
)
def test_a_skipped_or_missing_reply_ends_the_loop_with_the_latest_one(
    reply: str | None, state: RunState
) -> None:
    turning = replace(samples.exchange(Phase.LOOP, turn=1), first_reply="x", latest_reply="x")
    effects = advance(ended(turning, MAIN), ending(reply, state))
    run = next_run(effects)
    assert run is not None
    assert (run.key, run.request.kind, row(effects).latest_reply) == (OPS, RunKind.ANNOUNCE, "x")
    assert "Latest reply:\n> x" in (run.request.prompt or "")


@pytest.mark.requirement("D61")
def test_without_turns_there_is_only_the_announce() -> None:
    run = next_run(advance(ended(samples.exchange(max_turns=0), OPS), ending("x")))
    assert run is not None
    assert run.request.kind is RunKind.ANNOUNCE


@pytest.mark.parametrize("reply", ["", "NO_REPLY", "ANNOUNCE_SKIP"])
def test_a_target_that_says_nothing_ends_the_exchange(reply: str) -> None:
    effects = advance(ended(samples.exchange(), OPS), ending(reply))
    assert [row(effects).phase, row(effects).state] == [Phase.DONE, ExchangeState.REPLIED]
    assert next_run(effects) is None


@pytest.mark.requirement("P6")
@pytest.mark.parametrize("state", [RunState.FAILED, RunState.TIMEOUT, RunState.INTERRUPTED])
def test_a_failed_first_run_is_recorded_for_the_sender(state: RunState) -> None:
    taken = replace(samples.exchange(), state=ExchangeState.DELIVERED)
    effects = advance(ended(taken, OPS), ending("half", state))
    assert (row(effects).state, row(effects).error, row(effects).phase) == (
        ExchangeState.FAILED,
        "boom",
        Phase.DONE,
    )
    told = next_run(effects)
    assert told is not None
    assert (told.key, told.request.exchange_id, told.cause.hops) == (MAIN, None, (OPS,))
    assert message(effects).content == (Text("There is no reply to the message x1: failed, boom."),)


@pytest.mark.requirement("P6")
@pytest.mark.parametrize("stopped", [True, False])
def test_what_others_stopped_is_a_line_for_its_sender_unless_that_was_stopped_too(stopped: bool) -> None:
    sender = samples.run("r1", key=MAIN)
    stop = StopRequest(reason="enough", by=OWNER, at=NOON)
    seen = replace(ended(samples.exchange(), OPS), sender=replace(sender, stop=stop) if stopped else sender)
    effects = advance(seen, ending(None, RunState.KILLED))
    assert (row(effects).state, next_run(effects)) == (ExchangeState.FAILED, None)
    lines = [one for one in effects if isinstance(one, AppendEntries)]
    if stopped:
        assert lines == []
        return
    (line,) = lines
    (draft,) = line.drafts
    assert isinstance(draft.body, UserMessage)
    assert (line.key, draft.body.provenance.kind) == (MAIN, SENT_ON)
    assert draft.body.provenance.source_session == str(OPS)
    assert draft.body.content == (Text("There is no reply to the message x1: failed, boom."),)


@pytest.mark.requirement("P6")
@pytest.mark.parametrize(
    ("state", "error", "expected"),
    [
        (ExchangeState.ACCEPTED, RunState.TIMEOUT, ExchangeState.EXPIRED),
        (ExchangeState.DELIVERED, RunState.TIMEOUT, ExchangeState.FAILED),
        (ExchangeState.ACCEPTED, RunState.FAILED, ExchangeState.FAILED),
    ],
)
def test_a_message_expires_only_if_its_time_was_over_before_it_was_read(
    state: ExchangeState, error: RunState, expected: ExchangeState
) -> None:
    exchange = replace(samples.exchange(), state=state)
    assert row(advance(ended(exchange, OPS), ending(None, error))).state is expected


@pytest.mark.parametrize(
    ("awaited", "alive", "told"), [(True, True, False), (True, False, True), (False, True, True)]
)
def test_a_requester_is_told_late_unless_the_call_that_asked_still_waits(
    awaited: bool, alive: bool, told: bool
) -> None:
    exchange = replace(samples.exchange(), target=CHILD, sent=Sent(awaited=awaited, by="r1"))
    asking = samples.run("r1", key=MAIN)
    ends = ended(exchange, CHILD)
    assert ends.partner is not None
    for partner in (replace(ends.partner, running=asking), replace(ends.partner, queued=(asking,))):
        seen = replace(ends, partner=partner if alive else ends.partner)
        assert (next_run(advance(seen, ending("x"))) is not None) is told


def test_a_session_that_failed_itself_is_not_told_of_it() -> None:
    exchange = replace(samples.exchange(), requester=OPS)
    assert next_run(advance(ended(exchange, OPS), ending(None, RunState.FAILED))) is None


def test_a_turn_takes_no_longer_than_its_sender_waits() -> None:
    run = next_run(advance(ended(replace(samples.exchange(), sent=Sent(step_ms=7_000)), OPS), ending("x")))
    assert run is not None
    assert run.request.longest_ms == 7_000


def test_a_stopped_turn_stops_the_exchange() -> None:
    effects = advance(ended(samples.exchange(Phase.LOOP, turn=1), MAIN), ending("x", RunState.KILLED))
    assert (row(effects).phase, next_run(effects)) == (Phase.DONE, None)


@pytest.mark.parametrize(("requester", "target"), [(CHILD, OPS), (MAIN, CHILD)])
def test_with_a_sub_agent_there_is_one_reply_and_no_more(requester: SessionKey, target: SessionKey) -> None:
    exchange = replace(samples.exchange(), requester=requester, target=target)
    effects = advance(ended(exchange, target), ending("x"))
    assert (row(effects).phase, row(effects).first_reply) == (Phase.DONE, "x")
    late = next_run(effects)
    assert late is not None
    assert (late.key, late.request.exchange_id, late.request.reply_to) == (requester, None, None)
    assert (message(effects).content, message(effects).provenance.kind) == ((Text("x"),), SENT_ON)


def test_without_a_requester_to_turn_to_the_target_announces() -> None:
    alone = replace(ended(samples.exchange(), OPS), partner=Snapshot(key=MAIN))
    run = next_run(advance(alone, ending("x")))
    assert run is not None
    assert run.request.kind is RunKind.ANNOUNCE
    gone = replace(ended(samples.exchange(Phase.LOOP, turn=1), MAIN), partner=None)
    assert row(advance(gone, ending("x"))).phase is Phase.DONE


def test_a_run_that_yielded_has_not_answered() -> None:
    waiting = ending("I will wait")
    waiting = replace(waiting, outcome=replace(waiting.outcome, yielded=True))
    assert advance(ended(samples.exchange(), OPS), waiting) == ()


def test_other_runs_and_finished_exchanges_advance_nothing() -> None:
    plain = RunSnapshot(run=samples.run(), session=samples.snapshot())
    assert advance(plain, ending()) == ()
    assert advance(ended(samples.exchange(Phase.DONE), OPS), ending()) == ()


@pytest.mark.parametrize(
    "answered",
    [samples.exchange(max_turns=0), samples.exchange(Phase.LOOP, turn=5)],
    ids=["at once", "after turns"],
)
def test_the_run_that_was_asked_for_the_last_word_is_known_when_all_is_over(answered: Exchange) -> None:
    effects = advance(ended(answered, OPS), ending("x"))
    (asked,) = (effect.run for effect in effects if isinstance(effect, QueueRun))
    assert asked.request.kind is RunKind.ANNOUNCE
    assert announce_run(replace(row(effects), phase=Phase.DONE)) == asked.id


@pytest.mark.requirement("D18")
def test_the_last_word_goes_to_the_targets_channel() -> None:
    effects = advance(ended(samples.exchange(Phase.ANNOUNCE), OPS), ending(" bye "))
    (sent,) = (effect.delivery for effect in effects if isinstance(effect, AddDelivery))
    assert (sent.kind, sent.address, sent.text, sent.key) == (DeliveryKind.ANNOUNCE, samples.CHAT, "bye", OPS)


@pytest.mark.requirement("D18", "D19")
@pytest.mark.parametrize("reply", [" ANNOUNCE_SKIP\n", ""])
def test_a_silent_announce_sends_nothing(reply: str) -> None:
    effects = advance(ended(samples.exchange(Phase.ANNOUNCE), OPS), ending(reply))
    assert [type(effect) for effect in effects] == [PutExchange]


@pytest.mark.parametrize("session", [None, samples.session(OPS)._replace(route=None)])
def test_without_a_way_to_the_channel_nothing_is_sent(session: Session | None) -> None:
    announcing = ended(samples.exchange(Phase.ANNOUNCE), OPS)
    lost = replace(announcing, session=replace(announcing.session, session=session))
    assert [type(one) for one in advance(lost, ending("bye"))] == [PutExchange]


def test_a_group_speaks_in_its_room_and_a_person_where_they_were_last_met() -> None:
    group = samples.session(samples.GROUP, facts=samples.GROUP_FACTS._replace(thread="7"))
    assert announce_address(group, nowhere) == Address(channel="telegram", to="-100", thread="7")
    assert announce_address(samples.session(), lambda session: session.route) == samples.CHAT
    assert announce_address(samples.session(), nowhere) is None


def test_who_leaves_an_exchange_that_is_awaited_has_it_written() -> None:
    awaited = replace(samples.exchange(), sent=Sent(awaited=True))
    seen = ExchangeSnapshot(exchange=awaited, target=Snapshot(key=OPS))
    assert leave(seen) == (PutExchange(exchange=replace(awaited, sent=Sent())),)
    assert leave(replace(seen, exchange=samples.exchange())) == ()


@pytest.mark.requirement("P6")
def test_who_waits_again_in_a_later_run_is_told_in_that_call_until_it_leaves() -> None:
    sent = replace(samples.exchange(), sent=Sent(by="first"))
    (put,) = attend(ExchangeSnapshot(exchange=sent, target=Snapshot(key=OPS)), "later", "c")
    assert isinstance(put, PutExchange)
    seen = ExchangeSnapshot(exchange=put.exchange, target=Snapshot(key=OPS))
    assert [listens(_at_work(run), put.exchange) for run in ("first", "later")] == [False, True]
    assert attend(seen, "later", "c") == ()
    assert leave(seen) == (PutExchange(exchange=sent),)
    over = replace(sent, state=ExchangeState.REPLIED)
    assert attend(replace(seen, exchange=over), "later", "c") == ()


def _at_work(run_id: str) -> Snapshot:
    return replace(samples.snapshot(MAIN), running=samples.run(run_id))


@pytest.mark.requirement("F6")
def test_a_message_to_another_gateway_has_one_reply() -> None:
    office = RemoteSession(gateway="office", session="main")
    assert one_way(replace(samples.exchange(), sent=Sent(remote=office)))
    assert not one_way(samples.exchange())


@pytest.mark.requirement("P15")
def test_a_send_to_a_session_that_waits_for_the_answer_is_a_cycle() -> None:
    refusal = check_hops((CRON, MAIN, OPS), MAIN)
    assert refusal is not None
    assert refusal.reason is HopReason.CYCLE
    assert f"{MAIN} → {OPS} → {MAIN}" in refusal.message
    assert isinstance(refusal.error(), Forbidden)
    assert "answer instead, your reply goes back" in str(refusal.error())
    assert check_hops((MAIN, OPS), CRON) is None


@pytest.mark.requirement("P15")
def test_who_hears_that_an_exchange_is_over_asks_nobody_in_it_again() -> None:
    late = next_run(advance(ended(replace(samples.exchange(), target=CHILD), CHILD), ending("x")))
    assert late is not None
    assert late.hears_late
    late = replace(late, cause=replace(late.cause, hops=(CRON, OPS)))
    refusals = [check_late(late, side) for side in (CRON, OPS)]
    assert [one and one.reason for one in refusals] == [HopReason.OVER] * 2
    assert refusals[1] is not None
    assert f"({OPS} → {late.key} → {OPS})" in refusals[1].message
    assert "wait for a person's next word" in refusals[1].hint
    assert check_late(late, CHILD) is None
    far = check_late(replace(late, cause=replace(late.cause, hops=(BEYOND,))), BEYOND)
    assert far is not None
    assert "another gateway took part in it" in far.message
    worn = replace(late, cause=replace(late.cause, hops=(OPS,) * HOP_LIMIT))
    further = check_late(worn, CHILD)
    assert further is not None
    assert further.reason is HopReason.LIMIT


@pytest.mark.requirement("P15")
def test_a_message_goes_through_a_limited_number_of_sessions() -> None:
    ring = tuple(SessionKey(agent=f"a{number}", kind=MAIN.kind, name="main") for number in range(17))
    refusals = [check_hops(ring[:number], ring[number]) for number in range(17)]
    assert [refusal.reason for refusal in refusals if refusal] == [HopReason.LIMIT]
    assert check_hops(ring[:2], ring[2], limit=2) is not None


@pytest.mark.requirement("P15")
def test_turns_are_no_hops_but_neither_side_may_send_to_the_other_meanwhile() -> None:
    exchange = replace(samples.exchange(), hops=(CRON, MAIN))
    to_requester = next_run(advance(ended(exchange, OPS), ending("x")))
    assert to_requester is not None
    assert to_requester.cause.hops == (CRON, OPS)
    turning = replace(exchange, phase=Phase.LOOP, turn=1)
    to_target = next_run(advance(ended(turning, MAIN), ending("y")))
    assert to_target is not None
    assert to_target.cause.hops == (CRON, MAIN)


@pytest.mark.parametrize(("requester", "expected"), [(MAIN, 5), (OPS, 0), (CRON, 0)])
def test_a_timer_and_a_session_talking_to_itself_get_no_turns(requester: SessionKey, expected: int) -> None:
    assert turns(requester, OPS, 5) == expected


@pytest.mark.parametrize(
    ("route", "phase", "told"), [(CHAT, Phase.ANNOUNCE, {OPS, MAIN}), (None, Phase.DONE, {MAIN})]
)
def test_a_person_in_no_chat_is_told_the_reply_and_the_target_announces_where_it_is_heard(
    route: Address | None, phase: Phase, told: set[SessionKey]
) -> None:
    ends = ended(replace(samples.exchange(max_turns=0), sent=Sent(internal=True)), OPS)
    assert ends.session.session is not None
    row_of_target = ends.session.session._replace(route=route)
    effects = advance(replace(ends, session=replace(ends.session, session=row_of_target)), ending("x"))
    assert row(effects).phase is phase
    assert {effect.run.key for effect in effects if isinstance(effect, QueueRun)} == told
