from dataclasses import replace

import pytest

from roost.core import carrying
from roost.core.effects import AcceptInput, Effects, PutExchange, QueueRun
from roost.core.exchanges import Exchange, ExchangeState, Phase, Sent
from roost.core.keys import SessionKey
from roost.core.messages import ProvenanceKind, Text
from roost.core.principals import OWNER
from roost.core.remotes import BEYOND, RemoteSession, Taken
from roost.core.runs import Lane, Request, RunState, StopRequest
from roost.core.sending import MessageId, SendOrder
from roost.core.snapshots import ExchangeSnapshot, Snapshot
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON

pytestmark = pytest.mark.requirement("F6")

OTHER = SessionKey.named("main", "other")
OFFICE = RemoteSession(gateway="office", session="main")
SENDER = builders.run("r-1", MAIN)
KEPT = SendOrder(
    id=MessageId.of_call("r-1", "c-1"), sender=SENDER, target=MAIN, text="hi", at=NOON, wait_ms=5
)
LETTER = carrying.letter(KEPT, OFFICE)
WAITING = Snapshot(key=MAIN, session=builders.session(MAIN), running=SENDER)
GONE = replace(WAITING, running=None)


def seen(letter: Exchange, requester: Snapshot) -> ExchangeSnapshot:
    return ExchangeSnapshot(exchange=letter, target=requester, sender=SENDER)


def one(effects: Effects) -> Exchange:
    (effect,) = effects
    assert isinstance(effect, PutExchange)
    return effect.exchange


def test_a_letter_is_an_exchange_of_its_sender_with_the_name_of_its_run_there() -> None:
    assert (LETTER.requester, LETTER.target, LETTER.max_turns) == (MAIN, MAIN, 0)
    assert (LETTER.sent.remote, LETTER.sent.run_id, LETTER.sent.awaited) == (OFFICE, LETTER.id, True)
    assert LETTER.addressee == "office/main"


@pytest.mark.parametrize(
    ("due", "deadline"),
    [
        (None, NOON + carrying.LONGEST_MS),
        (NOON + 7, NOON + 7),
        (NOON + 10 * carrying.LONGEST_MS, NOON + carrying.LONGEST_MS),
    ],
)
def test_it_has_as_long_as_its_sender_and_an_hour_at_most(due: int | None, deadline: int) -> None:
    sender = replace(SENDER, request=Request(deadline=due))
    assert carrying.letter(replace(KEPT, sender=sender), OFFICE).deadline == deadline


def test_what_the_other_gateway_says_of_it_is_kept_and_never_goes_back() -> None:
    delivered = one(carrying.taken(seen(LETTER, WAITING), by=Taken(key="agent:main:main")))
    assert delivered.state is ExchangeState.DELIVERED
    assert delivered.sent.remote == replace(OFFICE, key="agent:main:main")
    running = one(carrying.taken(seen(delivered, WAITING), by=Taken(key="agent:main:main", begun=True)))
    assert running.state is ExchangeState.RUNNING
    assert carrying.taken(seen(running, WAITING), by=Taken(key="agent:main:main")) == ()


def test_who_waits_for_it_finds_how_it_ended_in_the_row() -> None:
    replied = one(carrying.answered(seen(LETTER, WAITING), reply="three", at=NOON))
    assert (replied.state, replied.phase) == (ExchangeState.REPLIED, Phase.DONE)
    assert (replied.first_reply, replied.latest_reply) == ("three", "three")
    leaky = one(carrying.answered(seen(LETTER, WAITING), reply="<think>hm</think>three", at=NOON))
    assert leaky.first_reply == "three"
    failed = one(carrying.failed(seen(LETTER, WAITING), error="no", at=NOON))
    assert (failed.state, failed.error) == (ExchangeState.FAILED, "no")
    for trouble in ("nobody is there", None):
        expired = one(carrying.expired(seen(LETTER, WAITING), trouble=trouble, at=NOON))
        assert (expired.state, expired.error) == (ExchangeState.EXPIRED, trouble or carrying.UNANSWERED)


@pytest.mark.parametrize(
    ("letter", "requester"),
    [(LETTER, GONE), (replace(LETTER, sent=replace(LETTER.sent, awaited=False)), WAITING)],
)
def test_who_waits_no_longer_is_told_in_a_run_of_its_own(letter: Exchange, requester: Snapshot) -> None:
    _, queued, said = carrying.answered(seen(letter, requester), reply="three", at=NOON)
    assert isinstance(queued, QueueRun)
    assert isinstance(said, AcceptInput)
    run, heard = queued.run, said.inbound
    assert (run.key, run.request.lane, run.request.exchange_id) == (MAIN, Lane.NESTED, None)
    assert (said.run_id, heard.content) == (run.id, (Text("three"),))
    assert (heard.provenance.kind, heard.provenance.source_session) == (
        ProvenanceKind.INTER_SESSION,
        "office/main",
    )
    assert f"your {letter.id} to office/main" in (run.request.prompt or "")


def test_what_comes_of_it_later_is_told_the_same_way() -> None:
    _, _, said = carrying.failed(seen(LETTER, GONE), error="no", at=NOON)
    assert isinstance(said, AcceptInput)
    assert said.inbound.content == (Text(f"There is no reply to the message {LETTER.id}: failed, no."),)


def test_an_answer_without_words_is_told_to_nobody() -> None:
    silent = one(carrying.answered(seen(LETTER, GONE), reply=None, at=NOON))
    assert (silent.state, silent.first_reply) == (ExchangeState.REPLIED, None)


def test_the_run_that_hears_of_it_goes_on_the_way_of_the_sender_and_comes_from_beyond() -> None:
    sender = replace(SENDER, cause=replace(SENDER.cause, hops=(OTHER,)))
    letter = carrying.letter(replace(KEPT, sender=sender), OFFICE)
    _, queued, _ = carrying.answered(seen(letter, GONE), reply="three", at=NOON)
    assert isinstance(queued, QueueRun)
    assert queued.run.cause.hops == (OTHER, BEYOND)
    untraced = replace(letter, sent=replace(letter.sent, thread=None))
    _, queued, _ = carrying.answered(seen(untraced, GONE), reply="three", at=NOON)
    assert isinstance(queued, QueueRun)
    assert queued.run.cause.trace == letter.id


@pytest.mark.parametrize("sent", [Sent(), Sent(remote=OFFICE)])
def test_what_is_over_or_went_nowhere_stays_as_it_is(sent: Sent) -> None:
    state = ExchangeState.REPLIED if sent.remote else ExchangeState.ACCEPTED
    over = replace(LETTER, sent=sent, state=state)
    assert carrying.taken(seen(over, GONE), by=Taken(key="k")) == ()
    assert carrying.answered(seen(over, GONE), reply="again", at=NOON) == ()
    assert carrying.failed(seen(over, GONE), error="no", at=NOON) == ()
    assert carrying.expired(seen(over, GONE), trouble=None, at=NOON) == ()


@pytest.mark.parametrize(
    ("stop", "told"),
    [
        (StopRequest(reason="/stop", by=OWNER, at=NOON), False),
        (StopRequest(reason="interrupted", by=OWNER, at=NOON, goes_on=True), True),
    ],
)
def test_nobody_goes_on_with_what_comes_of_it_once_its_sender_was_stopped_for_good(
    stop: StopRequest, told: bool
) -> None:
    sender = replace(SENDER, state=RunState.KILLED, stop=stop)
    snapshot = replace(seen(LETTER, GONE), sender=sender)
    heard = carrying.answered(snapshot, reply="three", at=NOON)
    assert isinstance(heard[0], PutExchange)
    assert (heard[0].exchange.state, heard[0].exchange.first_reply) == (ExchangeState.REPLIED, "three")
    assert [type(effect) for effect in heard[1:]] == ([QueueRun, AcceptInput] if told else [])
    assert len(carrying.failed(snapshot, error="no", at=NOON)) == (3 if told else 1)
