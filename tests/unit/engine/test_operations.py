"""What an operator does to a session: through the guard, and never to another one than was seen."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from roost.core.errors import Conflict, Forbidden, NotFound
from roost.core.keys import SessionKey
from roost.core.principals import OWNER, person
from roost.core.queries import SessionQuery
from roost.core.routing import RoutingRules
from roost.core.runs import RunState
from roost.core.scopes import DmScope
from roost.core.sessions import Labels, OpenedBy, Overrides, Session
from roost.core.trees import DecideTree
from roost.core.visibility import PersonCaller
from roost.engine.census import Census
from roost.engine.ids import FreshIds
from roost.engine.operations import Change, Operations, Seen
from roost.engine.rulebook import Rulebook
from roost.engine.rules import Rules
from roost.engine.stops import Stops
from roost.ports import Clock, Store
from roost.stores.memory import MemoryStore
from roost.testing.builders import accept, inbound
from roost.testing.clock import FakeClock
from roost.testing.scripts import Hang
from tests.flows.gateways import BOB, benches
from tests.unit.engine.commands.rooms import Room

ME, ALICE = PersonCaller(principal=OWNER), PersonCaller(principal=person("telegram", "7"))
SIDE = SessionKey.parse("agent:main:side")
OLD = Seen(session_ids=frozenset({"old"}))


def never(*arguments: object) -> object:
    raise AssertionError(f"nothing runs here: {arguments}")


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(FakeClock())


def working(store: Store, clock: Clock, rules: Rules) -> Operations:
    book = Rulebook(rules)
    return Operations(store, clock, FreshIds(clock), book, Stops(), Census(store, clock, book))


@pytest.fixture
def operations(store: MemoryStore) -> Operations:
    clock = FakeClock()
    rules = Rules(cast=never)  # type: ignore[arg-type]
    return working(store, clock, rules)


@pytest.mark.requirement("S7")
async def test_everything_is_refused_to_who_does_not_own_the_session(operations: Operations) -> None:
    await operations.open(ME, SIDE, Labels(), Overrides())
    for attempt in (
        operations.open(ALICE, SIDE, Labels(), Overrides()),
        operations.change(ALICE, SIDE, Change(pinned=True)),
        operations.reset(ALICE, SIDE, OpenedBy.RESET),
        operations.delete(ALICE, SIDE),
        operations.stop(ALICE, SIDE),
        operations.note(ALICE, SIDE, "hi"),
    ):
        with pytest.raises(NotFound):
            await attempt


async def test_a_change_opens_what_is_not_there(operations: Operations) -> None:
    session = await operations.change(ME, SIDE, Change(pinned=True, archived=True))
    assert (session.times.pinned, session.times.archived) == (session.times.created, session.times.created)
    assert (await operations.open(ME, SIDE, Labels(label="x"), Overrides())).session_id == session.session_id


async def test_a_session_that_was_seen_as_another_is_left_alone(operations: Operations) -> None:
    before = await operations.open(ME, SIDE, Labels(), Overrides())
    for attempt in (
        operations.change(ME, SIDE, Change(pinned=True), OLD),
        operations.reset(ME, SIDE, OpenedBy.NEW, OLD),
        operations.delete(ME, SIDE, OLD),
    ):
        with pytest.raises(Conflict, match="another one now"):
            await attempt
    now = frozenset({before.session_id})
    with pytest.raises(Conflict, match="another one now"):
        await operations.reset(ME, SIDE, OpenedBy.NEW, Seen(session_ids=now | OLD.session_ids))
    after = await operations.reset(ME, SIDE, OpenedBy.NEW, Seen(session_ids=now))
    assert after.session_id != before.session_id


async def test_what_waits_in_a_session_that_was_seen_as_another_goes_on_waiting(
    operations: Operations, store: MemoryStore
) -> None:
    message = inbound("m", SIDE)
    await store.accept_inbound(message, accept(message, "run", "now"))
    with pytest.raises(Conflict, match="another one now"):
        await operations.delete(ME, SIDE, OLD)
    assert [run.state for run in await store.active_runs(SIDE)] == [RunState.QUEUED]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_session_is_removed_when_who_waits_there_was_told(kind: str, tmp_path: Path) -> None:
    async with benches(kind, tmp_path) as bench:
        bench.change(routing=RoutingRules(dm_scope=DmScope.PER_CHANNEL_PEER))
        bench.model.add((Hang(),))
        async with bench.serving() as (engine, _):
            await bench.say("think", BOB)
            await bench.model.asked(1)
            await bench.say("and of this", BOB)
            (session,) = (await bench.store.list_sessions(SessionQuery())).rows
            assert await engine.operations.delete(ME, session.key) is not None
            assert any("Not answered" in reply for reply in await bench.replies(BOB))
        assert await bench.store.session(session.key) is None


async def test_what_is_not_there_is_neither_stopped_nor_removed(operations: Operations) -> None:
    assert await operations.stop(ME, SIDE) == ()
    assert await operations.delete(ME, SIDE) is None
    with pytest.raises(NotFound):
        await operations.note(ME, SIDE, "hi")


class Crowded(MemoryStore):
    """Somebody acts between the steps of a removal, once."""

    meanwhile: Callable[[], Awaitable[None]] | None = None

    async def change_tree(self, key: SessionKey, decide: DecideTree) -> None:
        await super().change_tree(key, decide)
        act, self.meanwhile = self.meanwhile, None
        if act is not None:
            await act()


@pytest.mark.parametrize("reopened", [False, True])
async def test_of_two_who_remove_a_session_one_did_and_what_was_opened_then_stays(*, reopened: bool) -> None:
    clock = FakeClock()
    store = Crowded(clock)
    operations = working(store, clock, Rules(cast=never))  # type: ignore[arg-type]
    before, removed = await operations.open(ME, SIDE, Labels(), Overrides()), list[Session | None]()

    async def act() -> None:
        removed.append(await operations.delete(ME, SIDE))
        clock.advance(1)
        if reopened:
            await operations.open(ME, SIDE, Labels(label="new"), Overrides())

    store.meanwhile = act
    removed.append(await operations.delete(ME, SIDE))
    assert [one and one.session_id for one in removed] == [before.session_id, None]
    assert (await store.session(SIDE) is not None) is reopened


class Emptied(MemoryStore):
    """Somebody removes each session at once."""

    async def change_session(self, key: SessionKey, *_: object, **__: object) -> Session | None:
        return None


async def test_a_session_that_vanishes_meanwhile_is_told_of() -> None:
    clock = FakeClock()
    rules = Rules(cast=never)  # type: ignore[arg-type]
    operations = working(Emptied(clock), clock, rules)
    with pytest.raises(Conflict, match="removed meanwhile"):
        await operations.open(ME, SIDE, Labels(), Overrides())


@pytest.mark.requirement("S20")
async def test_who_takes_part_in_a_group_sets_what_it_does_and_not_what_it_is_called() -> None:
    room, bob = Room(), PersonCaller(principal=person("loopback", "bob"))
    group = (await room.accepted("hi", "bob", group="g1")).record.inbound.key
    clock = room.scene.clock
    operations = working(room.store, clock, room.scene.rules)
    await operations.change(bob, group, Change(overrides=lambda before: before))
    with pytest.raises(Forbidden, match="only its owner"):
        await operations.change(bob, group, Change(label="Bank", labels=lambda before: Labels(label="Bank")))
    assert (await room.session(group)).labels.label is None
