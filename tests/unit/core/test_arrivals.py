from dataclasses import replace

import pytest

from roost.core.addresses import ChatType, Origin
from roost.core.arrivals import Overtaken, begin
from roost.core.effects import (
    AddDelivery,
    Archive,
    ChangeSession,
    Effect,
    OpenGeneration,
    OpenSession,
    RequestStop,
)
from roost.core.keys import SessionKey
from roost.core.lifecycle import ResetMode, ResetPolicy, ResetSetting
from roost.core.messages import ProvenanceKind
from roost.core.principals import OWNER, Principal, person
from roost.core.resets import Reset
from roost.core.room import Full, Room
from roost.core.runs import Parked
from roost.core.sessions import Facts, Labels, OpenedBy, SessionKind, Summary
from roost.core.snapshots import Snapshot
from roost.core.threads import UseThread
from tests import samples
from tests.samples import HOUR, MAIN, NOON

YESTERDAY = NOON - 24 * HOUR
IDLE = ResetPolicy(base=ResetSetting(mode=ResetMode.IDLE, idle_minutes=60))
OTHERS = [kind for kind in ProvenanceKind if kind is not ProvenanceKind.HUMAN]


def kinds(effects: tuple[Effect, ...]) -> list[type[Effect]]:
    return [type(effect) for effect in effects]


def spoken_in(at: int) -> Snapshot:
    return replace(samples.snapshot(), session=samples.session(interacted=at))


def change(effects: tuple[Effect, ...]) -> ChangeSession:
    (found,) = (effect for effect in effects if isinstance(effect, ChangeSession))
    return found


def test_a_first_message_opens_its_session() -> None:
    (opened,) = begin(Snapshot(key=MAIN), samples.arrival())
    assert isinstance(opened, OpenSession)
    assert (opened.session.session_id, opened.generation.session_id) == ("s2", "s2")
    assert (opened.generation.number, opened.generation.opened_by) == (1, OpenedBy.FIRST)
    assert opened.session.times.interacted == NOON
    assert opened.session.route == samples.CHAT


def test_a_session_opened_by_another_session_has_no_route() -> None:
    message = samples.inbound(kind=ProvenanceKind.INTER_SESSION)
    (opened,) = begin(Snapshot(key=MAIN), samples.arrival(message))
    assert isinstance(opened, OpenSession)
    assert opened.session.route is None


@pytest.mark.requirement("P7")
def test_a_persons_message_moves_route_activity_and_interaction() -> None:
    effects = begin(spoken_in(NOON - HOUR), samples.arrival())
    assert kinds(effects) == [ChangeSession]
    moved = change(effects)
    assert (moved.route, moved.touched, moved.interacted) == (samples.CHAT, NOON, NOON)


@pytest.mark.requirement("P2", "P7")
@pytest.mark.parametrize(
    ("principal", "chat"),
    [(person("telegram", "7"), ChatType.DIRECT), (OWNER, ChatType.GROUP)],
    ids=["a guest", "the owner, in a group"],
)
def test_what_was_not_said_by_the_owner_in_private_does_not_move_the_route(
    principal: Principal, chat: ChatType
) -> None:
    said = samples.arrival(replace(samples.inbound(), principal=principal))
    said = replace(said, opening=replace(said.opening, origin=Origin(chat_type=chat)))
    assert change(begin(spoken_in(NOON - HOUR), said)).route is None
    (opened,) = begin(Snapshot(key=MAIN), said)
    assert isinstance(opened, OpenSession)
    assert opened.session.route is None


@pytest.mark.requirement("P2")
def test_who_was_overtaken_by_another_of_his_name_writes_nothing() -> None:
    key = SessionKey.parse("agent:main:direct:123")
    facts = samples.DIRECT_FACTS._replace(channel="discord", peer="123")
    session = samples.session(key, facts=facts)._replace(owner=person("discord", "123"))
    theirs = Snapshot(key=key, session=session)
    with pytest.raises(Overtaken):
        begin(theirs, samples.arrival())


@pytest.mark.requirement("P7")
def test_a_group_is_met_in_its_room_whoever_speaks() -> None:
    said = samples.arrival(replace(samples.inbound(), principal=person("telegram", "7")))
    group = Snapshot(key=samples.GROUP, session=samples.session(samples.GROUP, facts=samples.GROUP_FACTS))
    assert change(begin(group, said)).route == samples.CHAT


@pytest.mark.requirement("D53")
@pytest.mark.requirement("D38")
def test_a_group_is_called_what_it_is_called_now_and_a_direct_chat_stays_as_it_is() -> None:
    named = Labels(label="ours", display_name="Kitchen", subject="Kitchen")
    said = samples.arrival()
    said = replace(
        said, opening=replace(said.opening, labels=Labels(display_name="Garden", subject="Garden"))
    )
    known = samples.session()._replace(labels=named)
    group = known._replace(facts=Facts(kind=SessionKind.GROUP, chat_type=ChatType.GROUP))
    moved = change(begin(replace(samples.snapshot(), session=group), said))
    assert moved.labels == Labels(label="ours", display_name="Garden", subject="Garden")
    again = group._replace(labels=moved.labels)
    assert change(begin(replace(samples.snapshot(), session=again), said)).labels is None
    assert change(begin(replace(samples.snapshot(), session=known), said)).labels is None


def test_the_origin_follows_what_each_message_says_of_it() -> None:
    met = Origin(label="Ann", provider="telegram")
    arrival = samples.arrival()
    arrival = replace(arrival, opening=replace(arrival.opening, origin=met))
    before = samples.snapshot()
    assert change(begin(before, arrival)).origin == met
    known = samples.session()._replace(origin=Origin(label="Bob", provider="telegram", sender="7"))
    assert change(begin(replace(before, session=known), arrival)).origin == replace(met, sender="7")


@pytest.mark.requirement("D42", "P28")
@pytest.mark.parametrize("kind", OTHERS)
def test_what_no_person_sent_neither_resets_nor_refreshes(kind: ProvenanceKind) -> None:
    effects = begin(spoken_in(YESTERDAY), samples.arrival(samples.inbound(kind=kind)))
    assert effects == (ChangeSession(key=MAIN, touched=NOON),)


@pytest.mark.requirement("D43")
@pytest.mark.parametrize(("channel", "afresh"), [("telegram", False), ("discord", True)])
def test_the_channel_that_is_spoken_on_says_when_a_session_of_several_is_stale(
    channel: str, afresh: bool
) -> None:
    """The session was opened elsewhere, as the main one is by the first client that ever spoke in it."""
    facts = samples.DIRECT_FACTS._replace(channel="webchat")
    known = replace(samples.snapshot(), session=samples.session(interacted=YESTERDAY)._replace(facts=facts))
    resets = ResetPolicy(by_channel={"telegram": ResetSetting(mode=ResetMode.NONE)})
    said = samples.arrival(facts=facts._replace(channel=channel))
    assert (OpenGeneration in kinds(begin(known, replace(said, resets=resets)))) is afresh


@pytest.mark.requirement("D42", "P9")
def test_a_stale_session_starts_afresh_and_says_so_before_the_answer() -> None:
    effects = begin(spoken_in(YESTERDAY), samples.arrival())
    assert kinds(effects) == [OpenGeneration, AddDelivery, ChangeSession]
    assert change(effects).interacted == NOON


@pytest.mark.requirement("P9")
@pytest.mark.parametrize(
    "busy",
    [
        replace(spoken_in(YESTERDAY), running=samples.run()),
        replace(spoken_in(YESTERDAY), queued=(samples.queued(),)),
        replace(spoken_in(YESTERDAY), yielded=True),
    ],
)
def test_a_daily_reset_waits_for_the_run_and_is_still_due_after_it(busy: Snapshot) -> None:
    effects = begin(busy, samples.arrival())
    assert kinds(effects) == [ChangeSession]
    assert change(effects).interacted is None


@pytest.mark.requirement("P9", "P20")
def test_a_reset_does_not_wait_for_what_stands_aside() -> None:
    own = Parked(at=YESTERDAY, setting="budgets.perPerson.cost", reason="used up", personal=True)
    parked = replace(
        samples.queued(principal=samples.BOB), parked=own, ready_at=NOON + 1, started_at=YESTERDAY
    )
    behind = samples.queued("q2", principal=samples.BOB)
    effects = begin(replace(spoken_in(YESTERDAY), queued=(parked, behind)), samples.arrival())
    assert kinds(effects) == [RequestStop, OpenGeneration, AddDelivery, ChangeSession]


def test_speaking_during_a_run_ends_the_idle_window() -> None:
    busy = replace(spoken_in(NOON - 2 * HOUR), running=samples.run())
    effects = begin(busy, replace(samples.arrival(), resets=IDLE))
    assert kinds(effects) == [ChangeSession]
    assert change(effects).interacted == NOON


@pytest.mark.requirement("D44")
def test_an_asked_for_reset_happens_at_once_and_without_a_notice() -> None:
    busy = replace(spoken_in(YESTERDAY), running=samples.run())
    asked = Reset(reason=OpenedBy.NEW, session_id="s9", at=NOON, rule="trigger /new")
    effects = begin(busy, replace(samples.arrival(), reset=asked))
    assert kinds(effects) == [OpenGeneration, ChangeSession]
    assert change(effects).interacted == NOON


@pytest.mark.requirement("D45")
def test_a_schedule_that_asks_for_a_fresh_generation_gets_it() -> None:
    asked = Reset(reason=OpenedBy.CRON, session_id="s9", at=NOON, rule="isolated job")
    message = samples.inbound(kind=ProvenanceKind.SCHEDULE)
    effects = begin(spoken_in(YESTERDAY), replace(samples.arrival(message), reset=asked))
    assert kinds(effects) == [OpenGeneration, ChangeSession]
    assert change(effects).interacted is None


def test_a_persons_message_brings_an_archived_session_back() -> None:
    session = samples.session()
    hidden = session._replace(times=session.times._replace(archived=5))
    effects = begin(replace(samples.snapshot(), session=hidden), samples.arrival())
    assert effects[-1] == Archive(key=MAIN, at=None)


def test_a_persons_message_keeps_the_thread_bound_that_it_came_by() -> None:
    arrival = replace(samples.arrival(), thread=samples.CHAT)
    at = arrival.inbound.received_at
    assert begin(samples.snapshot(), arrival)[-1] == UseThread(address=samples.CHAT, key=MAIN, at=at)


@pytest.mark.requirement("S23")
@pytest.mark.parametrize("kind", [ProvenanceKind.HUMAN, ProvenanceKind.HOOK])
def test_a_full_session_takes_no_more_until_it_starts_afresh(kind: ProvenanceKind) -> None:
    full = replace(
        samples.snapshot(), session=samples.session(interacted=NOON)._replace(summary=Summary(entries=3))
    )
    message = samples.inbound(kind=kind)
    arrival = replace(samples.arrival(message), room=Room(entries=3))
    with pytest.raises(Full):
        begin(full, arrival)
    assert begin(full, replace(arrival, room=Room(entries=4)))
    fresh = begin(
        full, replace(arrival, reset=Reset(reason=OpenedBy.RESET, session_id="s2", at=NOON, rule="asked"))
    )
    assert OpenGeneration in kinds(fresh)
