"""A message from the door to its answer: which session it opens, what it resets, and what waits for what."""

from dataclasses import replace
from random import Random

import pytest

from roost.core.addresses import Address, ChatType, Origin
from roost.core.deliveries import DeliveryKind
from roost.core.effects import ChangeSession
from roost.core.envelopes import Envelope
from roost.core.errors import Fenced
from roost.core.inbound import InboundState
from roost.core.inputs import entries_of
from roost.core.keys import SessionKey
from roost.core.lifecycle import ResetPolicy
from roost.core.principals import OWNER, Principal, person
from roost.core.queuesettings import DropPolicy, QueueMode, QueuePolicy, QueueSettings
from roost.core.queuetext import TITLE
from roost.core.routing import RoutingRules
from roost.core.runs import RunKind, RunState
from roost.core.scopes import DmScope
from roost.core.sessions import Facts, OpenedBy, SessionKind, SessionStatus
from roost.testing.builders import MAIN
from roost.testing.clock import FakeClock
from tests.flows.driver import NO_RESET, Driver, House, Said, claim_of, dm, in_group
from tests.samples import HOUR
from tests.scale import seeds

GROUP = SessionKey.parse("agent:main:telegram:group:-100")
TOPIC = SessionKey.parse("agent:main:telegram:group:-100:topic:42")
PEER = SessionKey.parse("agent:main:telegram:direct:7")
OWNER_CHAT = Address(channel="telegram", to="1")
BOB = person("telegram", "7")
DAY = 24 * HOUR


def queue(mode: QueueMode, cap: int = 20, drop: DropPolicy = DropPolicy.SUMMARIZE) -> House:
    return House(queue=QueuePolicy(base=QueueSettings(mode=mode, cap=cap, drop=drop, debounce_ms=0)))


def answer(text: str = "hi") -> Said:
    return Said(text=text)


@pytest.mark.requirement("D31", "D32", "D38", "D41", "D53", "P2", "P29")
@pytest.mark.parametrize(
    ("envelope", "key", "owner", "kind", "to"),
    [
        (dm("hello", "1"), MAIN, OWNER, SessionKind.MAIN, Address(channel="telegram", to="1")),
        (dm("hello", "7"), PEER, BOB, SessionKind.OTHER, Address(channel="telegram", to="7")),
        (in_group("hello", "7"), GROUP, OWNER, SessionKind.GROUP, Address(channel="telegram", to="-100")),
        (
            in_group("hello", "7", topic="42"),
            TOPIC,
            OWNER,
            SessionKind.GROUP,
            Address(channel="telegram", to="-100", thread="42"),
        ),
    ],
)
async def test_a_first_message_opens_the_session_it_belongs_to(
    driver: Driver, envelope: Envelope, key: SessionKey, owner: Principal, kind: SessionKind, to: Address
) -> None:
    driver.house = House(rules=RoutingRules(dm_scope=DmScope.OWNER_MAIN))
    record = (await driver.hear(envelope)).record
    session = await driver.session(key)
    chat = envelope.conversation
    rule = (
        f"the default agent and a {chat.chat_type} chat"
        if chat.chat_type is ChatType.GROUP
        else "the default agent and session.dmScope=owner-main"
    )
    assert session.facts == Facts(
        kind=kind,
        channel="telegram",
        chat_type=chat.chat_type,
        account="default",
        peer=chat.peer,
        thread=chat.topic,
        rule=rule,
    )
    assert (session.owner, session.status, session.route) == (owner, SessionStatus.QUEUED, to)
    assert session.origin == Origin(
        label=chat.subject,
        provider="telegram",
        chat_type=chat.chat_type,
        sender=envelope.sender.id,
        to=chat.peer,
        account="default",
        thread=chat.topic,
    )
    assert (session.labels.subject, session.labels.display_name) == (chat.subject, chat.subject)
    run = await driver.started()
    assert (record.run_id, record.inbound.reply_to, run.request.reply_to) == (run.id, to, to)
    assert (run.cause.principal, run.session_id) == (record.inbound.principal, session.session_id)


@pytest.mark.requirement("P3")
async def test_half_a_character_stops_no_message(driver: Driver) -> None:
    await driver.hear(dm("half \ud83d of it", name="\ud83d"))
    await driver.play(lambda run: answer())
    assert await driver.history(MAIN) == ["half \N{REPLACEMENT CHARACTER} of it", "hi"]


@pytest.mark.requirement("D42")
async def test_a_second_message_goes_on_in_the_same_generation(driver: Driver) -> None:
    for text in ("one", "two"):
        await driver.hear(dm(text))
        await driver.play(lambda run: answer())
    (generation,) = await driver.store.generations(MAIN)
    assert (generation.opened_by, generation.entries) == (OpenedBy.FIRST, 4)
    assert await driver.history(MAIN) == ["one", "hi", "two", "hi"]
    assert (await driver.session(MAIN)).status is SessionStatus.DONE


@pytest.mark.requirement("D53")
async def test_the_origin_is_where_a_person_was_last_met_and_nothing_else_moves_it(driver: Driver) -> None:
    await driver.hear(in_group("hello", "7", topic="42"))
    await driver.play(lambda run: answer())
    await driver.hear(in_group("hello again", "8", topic="42"))
    met = (await driver.session(TOPIC)).origin
    assert (met.provider, met.sender, met.thread) == ("telegram", "8", "42")
    moved = ChangeSession(key=TOPIC, route=Address(channel="discord", to="1"))
    await driver.store.change_session(TOPIC, lambda _: (moved,))
    assert (await driver.session(TOPIC)).origin == met


@pytest.mark.requirement("P14")
async def test_a_message_that_comes_again_is_answered_once(driver: Driver) -> None:
    message = replace(dm("hello"), external_id="update-1")
    first = await driver.hear(message)
    await driver.play(lambda run: answer())
    again = await driver.hear(message)
    assert (again.duplicate, again.record.inbound.id) == (True, first.record.inbound.id)
    assert await driver.play(lambda run: answer()) == []
    assert len(await driver.deliveries(DeliveryKind.REPLY)) == 1


@pytest.mark.requirement("D42", "P9")
async def test_the_first_message_after_the_daily_hour_starts_afresh_and_says_so(
    driver: Driver, clock: FakeClock
) -> None:
    driver.house = House(resets=ResetPolicy())
    await driver.hear(dm("yesterday"))
    await driver.play(lambda run: answer("bye"))
    before = await driver.session(MAIN)
    clock.advance(DAY)
    await driver.hear(dm("today"))
    (told,) = await driver.deliveries(DeliveryKind.NOTICE)
    assert (told.address, "/back" in told.text) == (OWNER_CHAT, True)
    await driver.play(lambda run: answer("morning"))
    first, second = await driver.store.generations(MAIN)
    assert (first.session_id, first.entries) == (before.session_id, 2)
    assert (second.previous, second.opened_by) == (first.session_id, OpenedBy.DAILY)
    assert second.rule == "default: daily at 04:00"
    assert await driver.history(MAIN) == ["yesterday", "bye", "today", "morning"]
    own = await driver.store.entries(second.session_id)
    assert [entry.seq for entry in own] == [1, 2]
    assert len(await driver.deliveries(DeliveryKind.NOTICE)) == 1


@pytest.mark.requirement("D42", "P9")
async def test_a_daily_reset_waits_for_the_run_and_comes_with_the_next_message(
    driver: Driver, clock: FakeClock
) -> None:
    driver.house = replace(queue(QueueMode.FOLLOWUP), resets=ResetPolicy())
    await driver.hear(dm("late"))
    run = await driver.started()
    clock.advance(DAY)
    await driver.hear(dm("during the run"))
    await driver.take(run)
    await driver.finish(run, answer())
    assert len(await driver.store.generations(MAIN)) == 1
    await driver.play(lambda run: answer())
    await driver.hear(dm("after it"))
    assert len(await driver.store.generations(MAIN)) == 2


@pytest.mark.requirement("D44")
async def test_new_opens_a_generation_and_passes_the_rest_on(driver: Driver) -> None:
    await driver.hear(dm("hello"))
    await driver.play(lambda run: answer())
    await driver.hear(dm("/new and now\nsomething else"))
    (turn,) = await driver.play(lambda run: answer("sure"))
    assert turn.request.kind is RunKind.TURN
    assert await driver.history(MAIN) == ["hello", "hi", "and now\nsomething else", "sure"]
    assert [one.rule for one in await driver.store.generations(MAIN)] == [None, "trigger /new"]
    await driver.hear(dm("/reset"))
    (greeting,) = await driver.play(lambda run: answer("hello there"))
    assert greeting.request.kind is RunKind.GREETING
    assert await driver.deliveries(DeliveryKind.NOTICE) == []


@pytest.mark.requirement("P3")
async def test_a_run_that_was_reset_away_ends_without_a_word_in_the_new_generation(driver: Driver) -> None:
    await driver.hear(dm("first"))
    run = await driver.started()
    await driver.take(run)
    await driver.hear(dm("and this"))
    await driver.hear(dm("/new fresh"))
    with pytest.raises(Fenced):
        await driver.store.take_inputs(claim_of(run), entries_of)
    ended = await driver.store.run(run.id)
    assert ended is not None
    assert ended.state is RunState.KILLED
    await driver.play(lambda run: answer())
    (_, second) = await driver.store.generations(MAIN)
    texts = await driver.history(MAIN)
    assert texts == ["first", "fresh", "hi", "and this", "hi"]
    assert second.entries == 4


async def test_a_message_during_a_run_steers_it(driver: Driver) -> None:
    driver.house = queue(QueueMode.STEER)
    await driver.hear(dm("go"))
    run = await driver.started()
    await driver.take(run)
    steered = await driver.hear(dm("left"))
    assert steered.record.run_id == run.id
    assert len(await driver.take(run)) == 1
    await driver.hear(dm("too late"))
    await driver.finish(run, answer("gone"))
    await driver.play(lambda run: answer("next"))
    assert await driver.history(MAIN) == ["go", "left", "gone", "too late", "next"]


async def test_followups_get_a_turn_each_and_in_order(driver: Driver) -> None:
    driver.house = queue(QueueMode.FOLLOWUP)
    await driver.hear(dm("go"))
    run = await driver.started()
    for text in ("a", "b"):
        await driver.hear(dm(text))
    await driver.take(run)
    await driver.finish(run, answer())
    await driver.play(lambda run: answer())
    assert await driver.history(MAIN) == ["go", "hi", "a", "hi", "b", "hi"]


async def test_what_waits_is_collected_into_one_turn_for_each_chat(driver: Driver) -> None:
    driver.house = queue(QueueMode.COLLECT)
    await driver.hear(dm("go"))
    run = await driver.started()
    await driver.take(run)
    for text in ("a", "b", "c"):
        await driver.hear(dm(text))
    await driver.hear(dm("elsewhere", channel="discord"))
    await driver.finish(run, answer())
    here, there = await driver.play(lambda run: answer())
    assert (here.request.reply_to, there.request.reply_to) == (
        OWNER_CHAT,
        Address(channel="discord", to="1"),
    )
    _, _, together, _, apart, _ = await driver.history(MAIN)
    assert together.startswith(TITLE)
    assert [f"Queued #{number} (from owner)\n{text}" in together for number, text in enumerate("abc", 1)]
    assert apart == "elsewhere"


async def test_an_interrupting_message_ends_the_run_and_comes_next(driver: Driver) -> None:
    driver.house = queue(QueueMode.INTERRUPT)
    await driver.hear(dm("go"))
    run = await driver.started()
    await driver.take(run)
    await driver.hear(dm("no, this"))
    ended = await driver.store.run(run.id)
    assert ended is not None
    assert ended.state is RunState.KILLED
    await driver.play(lambda run: answer())
    assert await driver.history(MAIN) == ["go", "no, this", "hi"]


@pytest.mark.requirement("P3")
@pytest.mark.parametrize("mode", [QueueMode.STEER, QueueMode.COLLECT, QueueMode.FOLLOWUP])
@pytest.mark.parametrize("drop", list(DropPolicy))
async def test_in_a_full_queue_each_message_has_one_known_end(
    driver: Driver, mode: QueueMode, drop: DropPolicy
) -> None:
    driver.house = queue(mode, cap=2, drop=drop)
    await driver.hear(dm("go"))
    run = await driver.started()
    await driver.take(run)
    records = [(await driver.hear(dm(f"number {number}."))).record for number in range(5)]
    await driver.take(run)
    await driver.finish(run, answer())
    await driver.play(lambda run: answer())
    states = []
    for record in records:
        found = await driver.store.inbound(record.inbound.id)
        assert found is not None
        states.append(found.state)
    taken, gone = (
        InboundState.TAKEN,
        InboundState.MERGED if drop is DropPolicy.SUMMARIZE else InboundState.DEAD,
    )
    assert states == ([taken] * 2 + [gone] * 3 if drop is DropPolicy.NEW else [gone] * 3 + [taken] * 2)
    shown = "\n".join(await driver.history(MAIN))
    told = [notice.text for notice in await driver.deliveries(DeliveryKind.NOTICE)]
    for number, state in enumerate(states):
        assert shown.count(f"number {number}.") == (state is not InboundState.DEAD)
        assert sum(f"number {number}." in line for line in told) == (state is InboundState.DEAD)


@pytest.mark.requirement("P7")
@pytest.mark.parametrize("seed", seeds(3, 60))
async def test_every_answer_goes_where_its_messages_came_from(driver: Driver, seed: int) -> None:
    chance = Random(seed)
    chats = [
        lambda text: dm(text, "1"),
        lambda text: dm(text, "1", channel="discord"),
        lambda text: dm(text, "7"),
        lambda text: dm(text, "8", channel="discord"),
        lambda text: in_group(text, "7"),
        lambda text: in_group(text, "8", topic="42"),
    ]
    running = None
    for number in range(80):
        modes = QueuePolicy(base=QueueSettings(mode=chance.choice(list(QueueMode)), debounce_ms=0))
        driver.house = House(queue=modes, resets=NO_RESET)
        match chance.choice(["hear", "hear", "start", "take", "finish"]):
            case "hear":
                await driver.hear(chance.choice(chats)(f"{number}"))
            case "start":
                running = running or await driver.start()
            case _ if running and (now := await driver.store.run(running.id)) and now.state.ended:
                running = None
            case "take" if running:
                await driver.take(running)
            case "finish" if running:
                await driver.finish(running, answer(f"answer {number}"))
                running = None
    if running and (now := await driver.store.run(running.id)) and not now.state.ended:
        await driver.finish(running, answer())
    await driver.play(lambda run: answer())
    replies = {one.run_id: one.address for one in await driver.deliveries(DeliveryKind.REPLY)}
    assert replies
    for number in range(1, 81):
        record = await driver.store.inbound(f"message-{number}")
        if record is not None and record.state is InboundState.TAKEN:
            run = await driver.store.run(record.run_id or "")
            assert run is not None
            assert run.request.reply_to == record.inbound.reply_to
            assert replies.get(run.id, record.inbound.reply_to) == record.inbound.reply_to
