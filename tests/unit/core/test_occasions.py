from dataclasses import replace
from typing import Any, TypeVar

import pytest

from roost.core.addresses import Address
from roost.core.effects import AcceptInput, OpenGeneration, OpenSession, QueueRun
from roost.core.firings import Firing, FiringState, PutFiring
from roost.core.heartbeats import Beat
from roost.core.inbound import InputMode
from roost.core.jobs import (
    AgentTurn,
    Announce,
    Fired,
    Job,
    JobPlace,
    Missed,
    Occasion,
    Overlap,
    SystemEvent,
    Webhook,
    hastened,
)
from roost.core.messages import ProvenanceKind, Text
from roost.core.occasions import GRACE_MS, fire
from roost.core.principals import OWNER, person
from roost.core.runs import Lane, Outcome, Run, RunState
from roost.core.schedules import At
from roost.core.sessions import OpenedBy
from roost.core.snapshots import Snapshot
from roost.testing.builders import CHAT, MAIN, generation, run, session
from roost.testing.clock import NOON
from tests.jobs import STEP, at_home, job, moment

Kind = TypeVar("Kind")
DAY = 86_400_000


def occasion(one: Job, *, home: Snapshot | None = None, work: Snapshot | None = None) -> Occasion:
    where = at_home(one)
    work = work or Snapshot(key=where.work)
    same = where.home == where.work
    return Occasion(job=one, work=work, home=work if same else home or Snapshot(key=where.home))


def only(fired: Fired, kind: type[Kind]) -> Kind:
    (found,) = (effect for effect in fired.effects if isinstance(effect, kind))
    return found


def at_main() -> Snapshot:
    return Snapshot(
        key=MAIN, session=session()._replace(route=CHAT, session_id="g1"), generation=generation(MAIN, "g1")
    )


def unsettled(state: RunState) -> tuple[Firing, Run]:
    outcome = Outcome(state=state, at=NOON) if state.ended else None
    one = replace(run("r0"), state=state, outcome=outcome)
    firing = Firing(id="f0", job_id="j1", due_at=1, at=1, state=FiringState.STARTED, key=MAIN, run_id="r0")
    return firing, one


def test_a_job_that_is_due_queues_its_turn_and_is_due_again() -> None:
    fired = fire(occasion(job()), moment())
    assert fired.job == replace(job(), next_at=NOON + STEP)
    queued, accepted = only(fired, QueueRun).run, only(fired, AcceptInput)
    firing = only(fired, PutFiring).firing
    assert (queued.request.lane, queued.request.firing, queued.request.reply_to) == (
        Lane.CRON,
        firing.id,
        None,
    )
    assert (accepted.run_id, accepted.mode) == (queued.id, InputMode.OPEN)
    assert queued.cause.kind is ProvenanceKind.SCHEDULE
    assert (firing.run_id, firing.due_at, firing.state) == (queued.id, NOON, FiringState.STARTED)
    assert firing.session_id == only(fired, OpenSession).generation.session_id


def test_the_same_time_is_the_same_firing_and_another_is_another() -> None:
    names = [only(fire(occasion(job()), moment(now)), PutFiring).firing.id for now in (NOON, NOON + 1)]
    other = only(fire(occasion(job(next_at=NOON + 1)), moment(NOON + 1)), PutFiring).firing.id
    assert names[0] == names[1] != other


@pytest.mark.requirement("D45")
def test_an_isolated_session_begins_anew_each_time() -> None:
    key = at_home(job()).work
    work = Snapshot(key=key, session=session(key), generation=generation(key, "g1"))
    opened = only(fire(occasion(job(), work=work), moment()), OpenGeneration).generation
    assert (opened.session_id, opened.opened_by) == (f"generation-{NOON}", OpenedBy.CRON)


def test_a_turn_in_a_session_that_people_use_goes_on_in_it() -> None:
    fired = fire(occasion(job(place=JobPlace.MAIN), work=at_main()), moment())
    assert not any(isinstance(one, OpenGeneration) for one in fired.effects)
    assert only(fired, PutFiring).firing.session_id == "g1"


def test_a_session_that_a_job_opens_belongs_to_who_configured_it() -> None:
    ada = person("telegram", "7")
    assert only(fire(occasion(job(owner=ada)), moment()), OpenSession).session.owner == ada
    main = occasion(job(owner=ada, place=JobPlace.MAIN))
    assert only(fire(main, moment()), OpenSession).session.owner == OWNER


def test_how_the_turn_is_played_is_the_jobs() -> None:
    work = AgentTurn(message="go", model="a/b", thinking="high", timeout_ms=5)
    request = only(fire(occasion(job(work=work)), moment()), QueueRun).run.request
    assert (request.model, request.thinking, request.longest_ms) == ("a/b", "high", 5)


def test_an_event_waits_and_its_time_is_over() -> None:
    one = job(work=SystemEvent(text="tea"), place=JobPlace.MAIN)
    fired = fire(occasion(one, work=at_main()), moment())
    accepted, firing = only(fired, AcceptInput), only(fired, PutFiring).firing
    assert (accepted.mode, accepted.run_id, accepted.inbound.content) == (
        InputMode.WAIT,
        None,
        (Text("tea"),),
    )
    assert (firing.state, firing.run_id) == (FiringState.OK, None)
    assert not any(isinstance(effect, QueueRun) for effect in fired.effects)


ELSEWHERE = Address(channel="telegram", to="9")


@pytest.mark.parametrize(
    ("telling", "told", "posts"),
    [
        (Announce(), CHAT, MAIN),
        (Announce(channel="loopback"), CHAT, MAIN),
        (Announce(channel="telegram"), None, MAIN),
        (Announce(to=ELSEWHERE), ELSEWHERE, None),
        (Webhook(url="https://example.org/x"), Address(channel="webhook", to="https://example.org/x"), None),
    ],
)
def test_what_is_said_goes_where_the_job_tells(telling: object, told: Address | None, posts: object) -> None:
    request = only(fire(occasion(job(telling=telling), home=at_main()), moment()), QueueRun).run.request
    assert (request.reply_to, request.posts_to) == (told, posts)


def test_where_nobody_was_met_nothing_is_told() -> None:
    request = only(fire(occasion(job(telling=Announce())), moment()), QueueRun).run.request
    assert (request.reply_to, request.posts_to) == (None, None)


def test_a_turn_in_the_session_itself_is_not_posted_there_again() -> None:
    one = job(place=JobPlace.MAIN, telling=Announce())
    request = only(fire(occasion(one, work=at_main()), moment()), QueueRun).run.request
    assert (request.reply_to, request.posts_to) == (CHAT, None)


def test_many_missed_times_are_made_up_for_by_one() -> None:
    late = NOON + 1_000 * STEP + 1
    fired = fire(occasion(job()), moment(late))
    assert fired.job.next_at == NOON + 1_001 * STEP
    firing = only(fired, PutFiring).firing
    assert (firing.due_at, firing.at, firing.state) == (NOON, late, FiringState.STARTED)


@pytest.mark.parametrize(
    ("late", "state"), [(GRACE_MS, FiringState.STARTED), (GRACE_MS + 1, FiringState.SKIPPED)]
)
def test_missed_times_are_left_out_where_the_job_says_so(late: int, state: FiringState) -> None:
    fired = fire(occasion(job(missed=Missed.SKIP)), moment(NOON + late))
    assert only(fired, PutFiring).firing.state is state
    assert fired.job.next_at is not None
    assert fired.job.next_at > NOON + late


def test_a_time_at_which_the_last_has_not_ended_is_left_out_or_waits() -> None:
    busy = replace(occasion(job()), unsettled=(unsettled(RunState.RUNNING),))
    skipped = fire(busy, moment())
    firing = only(skipped, PutFiring).firing
    assert (firing.state, firing.error) == (FiringState.SKIPPED, "the last one has not ended")
    assert skipped.job.next_at == NOON + STEP
    waits = job(overlap=Overlap.WAIT)
    assert fire(replace(busy, job=waits), moment()) == Fired(job=waits)


def test_an_isolated_session_somebody_talks_in_is_not_begun_anew_under_them() -> None:
    key = at_home(job()).work
    work = Snapshot(key=key, session=session(key), generation=generation(key, "g1"), running=run("r", key))
    assert only(fire(occasion(job(), work=work), moment()), PutFiring).firing.state is FiringState.SKIPPED


def test_a_time_whose_run_is_over_is_settled_and_holds_up_nothing() -> None:
    over = replace(occasion(job()), unsettled=(unsettled(RunState.KILLED),))
    healed, started = (
        effect.firing for effect in fire(over, moment()).effects if isinstance(effect, PutFiring)
    )
    assert (healed.id, healed.state, started.state) == ("f0", FiringState.ERROR, FiringState.STARTED)


def test_a_job_run_by_hand_keeps_its_times() -> None:
    one = job(next_at=NOON + 5)
    first = fire(occasion(one), moment(by_hand="a"))
    assert first.job == one
    other = fire(occasion(one), moment(by_hand="b"))
    assert only(first, PutFiring).firing.id != only(other, PutFiring).firing.id
    paused = job(next_at=None, enabled=False)
    assert fire(occasion(paused), moment(by_hand="a")).job.next_at is None
    assert fire(occasion(hastened(paused, "b", NOON)), moment()).job.next_at is None
    due = fire(occasion(job(missed=Missed.SKIP)), moment(NOON + DAY, by_hand="a"))
    assert due.job.next_at == NOON + DAY + STEP
    assert only(due, PutFiring).firing.state is FiringState.STARTED


def test_a_job_for_one_time_is_never_due_again_and_may_be_forgotten() -> None:
    once: dict[str, Any] = {"schedule": At(at=NOON)}
    fired = fire(occasion(job(**once, forget=True)), moment())
    assert fired.job.next_at is None
    assert only(fired, PutFiring).firing.forgets
    assert not only(fire(occasion(job(**once)), moment()), PutFiring).firing.forgets
    assert not only(fire(occasion(job(forget=True)), moment()), PutFiring).firing.forgets


BEAT = Beat(pause_ms=DAY)


def beat(**changes: object) -> Occasion:
    one = job(place=JobPlace.BESIDE, key=MAIN, telling=Announce())
    return replace(occasion(one, home=at_main()), **changes)  # type: ignore[arg-type]


def test_a_look_around_is_played_beside_the_session_and_can_post_into_it() -> None:
    fired = fire(beat(), moment(beat=BEAT))
    queued = only(fired, QueueRun).run
    assert (queued.key, queued.request.posts_to, queued.request.reply_to) == (MAIN.beat, MAIN, CHAT)


@pytest.mark.requirement("P28")
def test_a_look_around_rests_without_a_trace() -> None:
    idle = fire(beat(), moment(NOON + 14 * DAY, beat=BEAT))
    assert idle.effects == ()
    assert idle.job.next_at is not None
    assert idle.job.next_at > NOON + 14 * DAY
    assert fire(beat(), moment()).effects == ()
