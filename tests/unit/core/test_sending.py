from dataclasses import replace

import pytest

from roost.core.effects import AcceptInput, Effects, OpenSession, PutExchange, QueueRun
from roost.core.errors import Conflict, Forbidden, InvalidInput, NotFound
from roost.core.exchanges import Exchange, ExchangeState, Phase, Sent
from roost.core.inbound import Inbound
from roost.core.keys import SessionKey
from roost.core.messages import ProvenanceKind, Text
from roost.core.principals import OWNER
from roost.core.runs import Lane, Request, Run, RunKind
from roost.core.sending import MessageId, SendOrder, check_reply_step, check_target, is_reply_step, send
from roost.core.snapshots import Snapshot
from tests import samples
from tests.samples import CHILD, MAIN, NOON, OPS

THIRD = SessionKey.named("third", "main")
SENDER = replace(samples.run("r1"), request=Request(deadline=NOON + 9_000, reply_to=samples.CHAT))


def order(target: SessionKey = OPS, wait_ms: int = 5_000) -> SendOrder:
    return SendOrder(
        id=MessageId.of_call("r1", "c1"),
        sender=SENDER,
        target=target,
        text="look",
        at=NOON,
        wait_ms=wait_ms,
        max_turns=3,
        channel="telegram",
    )


def parts(effects: Effects) -> tuple[Inbound, Run, Exchange]:
    (accepted,) = (one for one in effects if isinstance(one, AcceptInput))
    (queued,) = (one for one in effects if isinstance(one, QueueRun))
    (put,) = (one for one in effects if isinstance(one, PutExchange))
    assert accepted.run_id == queued.run.id
    return accepted.inbound, queued.run, put.exchange


@pytest.mark.requirement("D16", "D60")
def test_a_message_is_queued_as_another_sessions_word_and_its_run_learns_who_asks() -> None:
    inbound, run, exchange = parts(send(samples.snapshot(OPS), order()))
    assert (inbound.content, inbound.reply_to, inbound.hops) == ((Text("look"),), None, (MAIN,))
    assert inbound.provenance.kind is ProvenanceKind.INTER_SESSION
    assert (inbound.provenance.source_session, inbound.provenance.source_tool) == (str(MAIN), "sessions_send")
    assert inbound.provenance.source_channel == "telegram"
    assert (run.request.kind, run.request.lane, run.request.exchange_id) == (
        RunKind.EXCHANGE,
        Lane.NESTED,
        exchange.id,
    )
    assert f"Agent 1 (requester): {MAIN} on telegram" in (run.request.prompt or "")
    assert exchange.sent == Sent(awaited=True, step_ms=5_000, by="r1", run_id=run.id, thread="t1")
    assert (exchange.max_turns, exchange.phase, exchange.state) == (3, Phase.PRIMARY, ExchangeState.ACCEPTED)


@pytest.mark.requirement("P6")
def test_the_senders_own_deadline_travels_with_the_message() -> None:
    inbound, run, exchange = parts(send(samples.snapshot(OPS), order()))
    assert {inbound.deadline, run.request.deadline, exchange.deadline} == {NOON + 9_000}


@pytest.mark.requirement("P6")
def test_how_long_the_sender_may_take_travels_as_a_deadline() -> None:
    brief = replace(SENDER, started_at=NOON, request=Request(longest_ms=4_000, deadline=NOON + 9_000))
    inbound, run, exchange = parts(send(samples.snapshot(OPS), replace(order(), sender=brief)))
    assert {inbound.deadline, run.request.deadline, exchange.deadline} == {NOON + 4_000}


def test_without_a_wait_nobody_waits_and_turns_take_half_a_minute() -> None:
    _, _, exchange = parts(send(samples.snapshot(OPS), order(wait_ms=0)))
    assert (exchange.sent.awaited, exchange.sent.step_ms) == (False, 30_000)


def test_a_child_is_not_told_of_roles() -> None:
    _, run, _ = parts(send(samples.snapshot(CHILD), order(CHILD)))
    assert run.request.prompt is None


@pytest.mark.requirement("P6")
def test_the_same_call_makes_the_same_message_and_another_one_does_not() -> None:
    again = MessageId.of_call("r1", "c1")
    assert order().id == again
    others = {MessageId.of_call(*call) for call in (("r2", "c1"), ("r1", "c2"))}
    assert again not in others
    assert len(others) == 2


def test_a_message_opens_an_agents_main_session_and_no_other() -> None:
    effects = send(Snapshot(key=OPS), order())
    (opened,) = (one for one in effects if isinstance(one, OpenSession))
    assert (opened.session.key, opened.session.owner, opened.session.route) == (OPS, OWNER, None)
    nowhere = SessionKey.named("ops", "nowhere")
    with pytest.raises(NotFound):
        send(Snapshot(key=nowhere), order(nowhere))


def test_an_archived_session_is_not_sent_to() -> None:
    known = samples.snapshot(OPS)
    assert known.session is not None
    archived = known.session._replace(times=known.session.times._replace(archived=NOON))
    with pytest.raises(Conflict, match="archived"):
        send(replace(known, session=archived), order())


@pytest.mark.requirement("D59")
@pytest.mark.parametrize("rest", ["telegram:group:-100:topic:42", "slack:channel:c1:thread:17"])
def test_a_thread_is_refused_and_its_chat_named(rest: str) -> None:
    key = SessionKey.parse(f"agent:main:{rest}")
    with pytest.raises(InvalidInput) as refused:
        check_target(MAIN, key, 0)
    assert str(key.parent) in refused.value.hint


def test_only_who_does_not_wait_may_send_to_itself() -> None:
    check_target(MAIN, MAIN, 0)
    check_target(MAIN, OPS, 5_000)
    with pytest.raises(InvalidInput, match="own reply"):
        check_target(MAIN, MAIN, 1)


@pytest.mark.requirement("P15")
def test_a_turn_of_an_exchange_asks_others_once_and_not_the_other_side() -> None:
    serves = replace(samples.exchange(Phase.LOOP), state=ExchangeState.REPLIED)
    assert is_reply_step(serves)
    assert not is_reply_step(samples.exchange())
    assert not is_reply_step(None)
    for side in (serves.requester, serves.target):
        with pytest.raises(Forbidden, match="gets your reply"):
            check_reply_step(serves, SENDER, side, ())
    way = (*SENDER.cause.hops, SENDER.key)
    asked = replace(serves, id="x2", requester=SENDER.key, target=THIRD, hops=way)
    with pytest.raises(Forbidden, match="asked in this exchange already"):
        check_reply_step(serves, SENDER, THIRD, (asked,))
    earlier = replace(asked, created_at=serves.created_at - 1)
    check_reply_step(serves, SENDER, THIRD, (earlier, replace(asked, hops=())))


def test_who_is_in_no_chat_gets_one_reply_and_no_turns() -> None:
    on_a_page = replace(SENDER, request=Request())
    found = replace(order(), sender=on_a_page).exchange()
    assert (found.max_turns, found.sent.internal) == (0, True)
    by_an_agent = replace(on_a_page, cause=replace(SENDER.cause, kind=ProvenanceKind.INTER_SESSION))
    assert not replace(order(), sender=by_an_agent).exchange().sent.internal
