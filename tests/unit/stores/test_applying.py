"""That every effect is written and told. What each one means is proven by the contract suite."""

from typing import get_args

import pytest

from roost.core import effects as fx
from roost.core.errors import Conflict
from roost.core.events import EventKind
from roost.core.principals import OWNER
from roost.core.seals import Seals
from roost.core.sessions import Labels, SessionStatus
from roost.core.threads import BindThread, ThreadBinding
from roost.ports import Topic, TopicKind
from roost.stores import applying
from roost.stores.applying import apply
from roost.stores.memory.tables import MemoryTables
from roost.stores.tables import drive
from roost.stores.unit import Unit
from roost.testing import builders
from roost.testing.builders import CHAT, MAIN
from roost.testing.clock import NOON, FakeClock


@pytest.fixture
def tables() -> MemoryTables:
    return MemoryTables(FakeClock())


def applied(tables: MemoryTables, *effects: fx.Effect) -> Unit:
    unit = Unit(tables, FakeClock(), {}, Seals({}))
    drive(apply(unit, effects))
    drive(unit.flush())
    return unit


OPENING = builders.opening(builders.session(), "s-1")


def test_every_effect_there_is_can_be_applied() -> None:
    assert set(applying._APPLY) == set(get_args(fx.Effect))


def test_effects_are_written_in_order_and_told_in_order(tables: MemoryTables) -> None:
    applied(
        tables,
        OPENING,
        fx.ChangeSession(key=MAIN, labels=Labels(label="first")),
        fx.ChangeSession(key=MAIN, labels=Labels(label="second")),
        fx.AppendEntries(key=MAIN, drafts=(builders.said("e-1", "a"), builders.said("e-2", "b"))),
        fx.QueueRun(run=builders.run("r-1")),
    )
    session = drive(tables.session(MAIN))
    assert session is not None
    assert session.labels.label == "second"
    assert [(event.kind, event.ref) for event in drive(tables.events(MAIN, 0, 10))] == [
        (EventKind.SESSION_OPENED, "s-1"),
        (EventKind.SESSION_CHANGED, str(MAIN)),
        (EventKind.SESSION_CHANGED, str(MAIN)),
        (EventKind.ENTRY, "e-1"),
        (EventKind.ENTRY, "e-2"),
        (EventKind.RUN_QUEUED, "r-1"),
    ]


def test_a_silent_effect_is_written_without_an_event(tables: MemoryTables) -> None:
    binding = ThreadBinding(address=CHAT, key=MAIN, bound_by=OWNER, bound_at=NOON, used_at=NOON)
    applied(tables, OPENING, BindThread(binding=binding))
    assert drive(tables.binding(CHAT)) == binding
    assert len(drive(tables.events(MAIN, 0, 10))) == 1


def test_nothing_asked_for_is_nothing_done(tables: MemoryTables) -> None:
    assert applied(tables).waking.topics == set()


@pytest.mark.parametrize(
    ("effect", "topic"),
    [
        (fx.QueueRun(run=builders.run("r-2")), TopicKind.RUNS),
        (fx.DelayRun(run_id="r-1", ready_at=NOON), TopicKind.RUNS),
        (builders.done("r-1"), TopicKind.RUNS),
        (fx.AddDelivery(delivery=builders.delivery("d-1")), TopicKind.DELIVERIES),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, TopicKind) else str(value),
)
def test_work_wakes_who_waits_for_it(tables: MemoryTables, effect: fx.Effect, topic: TopicKind) -> None:
    applied(tables, OPENING, fx.QueueRun(run=builders.run("r-1")))
    assert Topic(topic) in applied(tables, effect).waking.topics


def test_a_queued_run_does_not_hide_that_one_is_running(tables: MemoryTables) -> None:
    running = fx.ChangeSession(key=MAIN, status=SessionStatus.RUNNING)
    applied(tables, OPENING, running, fx.QueueRun(run=builders.run("r-1")))
    session = drive(tables.session(MAIN))
    assert session is not None
    assert session.status is SessionStatus.RUNNING


def test_an_effect_that_cannot_be_written_stops_the_ones_after_it(tables: MemoryTables) -> None:
    with pytest.raises(Conflict):
        applied(tables, OPENING, OPENING, fx.Pin(key=MAIN, at=NOON))
    session = drive(tables.session(MAIN))
    assert session is not None
    assert session.times.pinned is None
