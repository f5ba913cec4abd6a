import pytest

from roost.core.effects import ChangeSession, SettleCompletion
from roost.core.exchanges import CompletionStatus
from roost.core.keys import SessionKey
from roost.core.runs import RunState
from roost.core.sessions import SessionStatus
from roost.testing import builders
from roost.testing.builders import MAIN
from tests.unit.engine.commands.rooms import Room

SECRET = "sk-abcdefghijklmnopqrstuvwxyz0123456789"


async def two(room: Room) -> tuple[SessionKey, SessionKey]:
    await room.accepted("hello")
    first = await room.spawn("one")
    room.scene.clock.advance(1000)
    return first, await room.spawn("two")


async def test_children_are_listed_in_the_order_of_their_birth(room: Room) -> None:
    assert await room.ask("/subagents") == "No sub-agents at work or in the last 30 minutes (0 before)."
    first, second = await two(room)
    assert await room.ask("/subagents list") == (
        f"Sub-agents (2):\n#1 {first}: queued, 1s ago, 0 tokens\n#2 {second}: queued, now, 0 tokens"
    )


async def test_those_that_ended_long_ago_are_only_counted(room: Room) -> None:
    await two(room)
    await room.ask("/stop")
    room.scene.clock.advance(31 * 60_000)
    assert await room.ask("/subagents") == "No sub-agents at work or in the last 30 minutes (2 before)."


async def test_one_that_waits_for_its_budget_is_at_work_however_long(room: Room) -> None:
    first, _ = await two(room)
    parked = ChangeSession(key=first, status=SessionStatus.PARKED)
    await room.store.change_session(first, lambda snapshot: (parked,))
    room.scene.clock.advance(31 * 60_000)
    assert "parked" in await room.ask("/subagents")


async def test_one_that_waits_for_children_of_its_own_is_at_work_however_long(room: Room) -> None:
    first, _ = await two(room)
    paused = ChangeSession(key=first, status=SessionStatus.DONE)
    await room.store.change_session(first, lambda snapshot: (paused,))
    room.scene.clock.advance(31 * 60_000)
    assert f"#1 {first}: waiting, 31m ago" in await room.ask("/subagents")
    assert "Status: waiting" in await room.ask("/subagents info 1")


@pytest.mark.requirement("D27")
async def test_one_whose_task_ended_well_has_done_well_whatever_came_of_what_it_was_asked_after_that(
    room: Room,
) -> None:
    first, _ = await two(room)
    settled = SettleCompletion(child_run="run-one", status=CompletionStatus.OK, at=room.scene.clock.now())
    failed = ChangeSession(key=first, status=SessionStatus.FAILED)
    await room.store.change_session(first, lambda snapshot: (settled, failed))
    assert f"#1 {first}: done, " in await room.ask("/subagents")
    assert "Status: done" in await room.ask("/subagents info 1")


@pytest.mark.parametrize("handle", ["#1", "1", "gen-one", "agent:main:subagent:one"])
async def test_one_child_is_told_of_by_number_key_or_id(room: Room, handle: str) -> None:
    first, _ = await two(room)
    info = await room.ask(f"/subagents info {handle}")
    assert f"Session: {first}, id gen-one" in info
    assert "Status: queued" in info


@pytest.mark.parametrize("handle", ["", "#9", "gen", "zzz"])
async def test_what_names_no_single_child_is_not_found(room: Room, handle: str) -> None:
    await two(room)
    assert "/subagents list shows them." in await room.ask(f"/subagents info {handle}")


async def test_the_log_shows_what_was_said_without_secrets(room: Room) -> None:
    first, _ = await two(room)
    await room.store.append(
        first,
        (
            builders.said("a", f"use {SECRET}"),
            builders.called("b", "c1", "read"),
            builders.returned("c", "c1", "read", "contents"),
            builders.answered("d", "done"),
        ),
    )
    log = await room.ask("/subagents log 1")
    assert log.splitlines()[1:] == ["to it: use sk-abc…6789", "it: done"]
    assert "tool read: contents" in await room.ask("/subagents log #1 10 tools")
    assert len((await room.ask("/subagents log #1 1")).splitlines()) == 2
    assert await room.ask("/subagents log 2") == "It has said nothing yet."


async def test_without_a_scanner_nothing_of_a_transcript_is_shown(room: Room) -> None:
    await two(room)
    room.command_rules(scanner=None)
    assert "nothing masks their secrets" in await room.ask("/subagents log 1")


@pytest.mark.requirement("S16", "S20")
async def test_who_only_takes_part_sees_and_stops_no_children_of_the_owner(room: Room) -> None:
    await two(room)
    assert "0 before" in await room.ask("/subagents", "bob")
    assert "There is no sub-agent 1." in await room.ask("/subagents kill 1", "bob")
    assert await room.ask("/subagents kill all", "bob") == "Nothing of it was running."


async def test_one_child_is_killed_and_its_requester_is_told_when_it_ends(room: Room) -> None:
    await two(room)
    started = {run.id: run for run in await room.claimed()}
    with room.stops.around("run-one") as stop:
        assert await room.ask("/subagents kill #1") == "Stopped 1 sub-agent."
    assert stop.reason is not None
    run = await room.store.run("run-one")
    assert run is not None
    assert run.stop is not None
    other = await room.store.run("run-two")
    assert other is not None
    assert (other.stop, other.state) == (None, RunState.RUNNING)
    pending = {one.child_run: one.status for one in await room.store.completions(MAIN)}
    assert pending == dict.fromkeys(("run-one", "run-two"), CompletionStatus.PENDING)
    assert "run-one" in started


async def test_all_children_are_killed_at_once(room: Room) -> None:
    await two(room)
    assert await room.ask("/subagents kill all") == "Stopped 2 sub-agents."
    for name in ("run-one", "run-two"):
        run = await room.store.run(name)
        assert run is not None
        assert run.stop is not None


async def test_an_action_there_is_not(room: Room) -> None:
    assert await room.ask("/subagents dance") == "/subagents knows no 'dance'. Say list, info, log or kill."
