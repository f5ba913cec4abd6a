from dataclasses import replace

import pytest

from roost.core.keys import SessionKey
from roost.core.principals import Principal
from roost.core.runs import Claim, Lane, Parked, Progress, Request, Run, RunState, Step, StepKind
from roost.core.sessions import SessionStatus
from roost.core.turntaking import Backlog, Limits, asker, choose, next_in_line, standing
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON
from tests.samples import ALICE, BOB

SIDE = SessionKey.named("main", "side")
OPS = SessionKey.named("ops", "main")
PARKED = Parked(at=NOON, setting="budgets.perDay.tokens", reason="used up")


def of(who: Principal, name: str, ready_at: int = NOON) -> Run:
    run = builders.run(name, ready_at=ready_at)
    return replace(run, cause=replace(run.cause, principal=who))


ASIDE = replace(of(ALICE, "a", NOON + 1), parked=replace(PARKED, personal=True))


def child(number: int, requester: SessionKey = MAIN, *, lane: Lane = Lane.SUBAGENT) -> Run:
    key = SessionKey.parse(f"agent:main:subagent:{requester.name}-{number}")
    request = Request(requester=requester, lane=lane)
    return builders.run(f"{requester.name}-{number}", key, request=request)


def turn(name: str, agent: str = "main", lane: Lane = Lane.MAIN) -> Run:
    return builders.run(name, SessionKey.named(agent, name), request=Request(lane=lane))


def chosen(*ready: Run, limits: Limits, running: tuple[Run, ...] = ()) -> list[str]:
    return list(choose(Backlog(ready=ready, running=running), limits))


def test_a_child_takes_the_turn_of_the_session_that_spawned_it() -> None:
    assert asker(child(1)) == str(MAIN)
    assert asker(turn("one")) == "agent:main:one"


def test_without_limits_everything_starts_oldest_first() -> None:
    assert chosen(turn("a"), turn("b"), turn("c"), limits=Limits(ceiling=9)) == ["a", "b", "c"]


def test_nothing_is_chosen_from_nothing() -> None:
    assert chosen(limits=Limits(ceiling=9)) == []


def test_what_other_gateways_run_takes_no_place_in_a_lane_of_this_one() -> None:
    def held(name: str, gateway: str) -> Run:
        return replace(turn(name), claim=Claim(id=name, gateway=gateway, epoch=1, fence=1))

    running = (held("x", "here"), held("y", "there"), held("z", "there"), turn("lost"))
    limits = Limits(ceiling=9, lanes={Lane.MAIN: 2}, gateway="here")
    assert chosen(turn("a"), turn("b"), limits=limits, running=running) == ["a"]
    assert chosen(turn("a"), limits=replace(limits, gateway=None), running=running) == []


@pytest.mark.parametrize("ceiling", range(4))
def test_no_more_start_than_the_process_may_take(ceiling: int) -> None:
    ready = (turn("a"), turn("b"), turn("c"))
    assert chosen(*ready, limits=Limits(ceiling=ceiling)) == ["a", "b", "c"][:ceiling]


def test_the_ceiling_holds_in_the_middle_of_a_round() -> None:
    ready = (child(1), child(1, SIDE), child(2), child(2, SIDE))
    assert chosen(*ready, limits=Limits(ceiling=3)) == ["main-1", "side-1", "main-2"]


@pytest.mark.requirement("P23")
def test_whoever_asked_for_many_waits_a_round_for_whoever_asked_for_one() -> None:
    many = [child(number) for number in range(1, 501)]
    order = chosen(*many, child(1, SIDE), turn("late"), limits=Limits(ceiling=6))
    assert order == ["main-1", "side-1", "late", "main-2", "main-3", "main-4"]


def test_a_lane_takes_no_more_than_it_has_room_for() -> None:
    limits = Limits(ceiling=9, lanes={Lane.CRON: 2})
    ready = [turn(name, lane=Lane.CRON) for name in "abc"]
    assert chosen(*ready, turn("d"), limits=limits) == ["a", "b", "d"]
    running = (turn("x", lane=Lane.CRON), turn("y"))
    assert chosen(*ready, turn("d"), limits=limits, running=running) == ["a", "d"]


def test_a_lane_without_a_limit_is_bounded_by_the_ceiling_only() -> None:
    running = tuple(turn(f"x{number}") for number in range(20))
    assert chosen(turn("a"), turn("b"), limits=Limits(ceiling=2), running=running) == ["a", "b"]


def test_a_run_that_does_not_fit_does_not_hold_back_the_next_of_its_asker() -> None:
    limits = Limits(ceiling=9, lanes={Lane.SUBAGENT: 1})
    first, second = child(1), child(2, lane=Lane.CRON)
    running = (turn("x", lane=Lane.SUBAGENT),)
    assert chosen(first, second, limits=limits, running=running) == ["main-2"]


@pytest.mark.requirement("P23")
def test_a_run_that_waits_for_others_leaves_them_its_place() -> None:
    call = Step(kind=StepKind.TOOL, at=1, tool="sessions_send", call_id="c", waits=True)
    limits = Limits(ceiling=1, lanes={Lane.MAIN: 1})
    waiting = replace(turn("x"), progress=Progress(step=call))
    assert chosen(turn("a"), limits=limits, running=(waiting,)) == ["a"]
    back = replace(turn("x"), progress=Progress(step=replace(call, done=True)))
    assert chosen(turn("a"), limits=limits, running=(back,)) == []


@pytest.mark.requirement("P23")
def test_many_children_of_one_session_hold_up_the_first_of_another_for_one_place_only() -> None:
    crowd = tuple(child(number) for number in range(500))
    limits, turns = Limits(ceiling=1), {str(MAIN): 1}
    assert choose(Backlog(ready=(*crowd, child(0, SIDE)), running=()), limits, turns) == ("side-0",)
    assert choose(Backlog(ready=(*crowd, child(0, SIDE)), running=()), limits) == ("main-0",)


@pytest.mark.parametrize(
    ("left", "status"),
    [
        ((builders.run("a"), builders.run("b")), SessionStatus.QUEUED),
        ((replace(builders.run("a"), state=RunState.RUNNING), builders.run("b")), SessionStatus.RUNNING),
        (
            (replace(builders.run("a", ready_at=NOON + 1), parked=PARKED), builders.run("b")),
            SessionStatus.PARKED,
        ),
        ((replace(builders.run("a"), parked=PARKED), builders.run("b")), SessionStatus.QUEUED),
        ((builders.run("a", ready_at=NOON + 1), builders.run("b")), SessionStatus.QUEUED),
        ((ASIDE, of(ALICE, "b")), SessionStatus.PARKED),
        ((ASIDE, of(BOB, "b")), SessionStatus.QUEUED),
    ],
)
def test_a_session_stands_as_the_run_that_the_others_wait_for(
    left: tuple[Run, ...], status: SessionStatus
) -> None:
    assert standing(left, NOON) is status


@pytest.mark.requirement("P20")
@pytest.mark.parametrize(
    ("queued", "now", "name"),
    [
        ((ASIDE,), NOON, None),
        ((ASIDE, of(ALICE, "b"), of(BOB, "c"), of(ALICE, "d")), NOON, "c"),
        ((of(BOB, "b", NOON + 9), ASIDE, of(BOB, "c")), NOON, "b"),
        ((ASIDE, of(BOB, "b")), NOON + 1, "a"),
        ((replace(ASIDE, parked=PARKED), of(BOB, "b")), NOON, "a"),
    ],
)
def test_a_run_parked_for_its_persons_own_budget_keeps_only_that_person_waiting(
    queued: tuple[Run, ...], now: int, name: str | None
) -> None:
    found = next_in_line(queued, now)
    assert (found and found.id) == name
