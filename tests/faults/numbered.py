"""Numbered messages: what people say in a storm, what the model makes of it, and what must be true afterwards."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from random import Random

import anyio

from roost.core.compaction import SECTIONS, CompactionSettings
from roost.core.deliveries import Delivery, DeliveryState
from roost.core.effects import Effects
from roost.core.inbound import Inbound, InboundRecord, InboundState, Source
from roost.core.keys import SessionKey
from roost.core.messages import Body, Compaction, ToolCall, UserMessage, text_of
from roost.core.models import FailureKind
from roost.core.queries import HistoryQuery, SessionQuery
from roost.core.queuesettings import DropPolicy, QueueMode, QueueSettings
from roost.core.snapshots import Snapshot
from roost.core.upkeep import ContextSettings
from roost.engine.gateway import Engine
from roost.ports import Store
from roost.testing.builders import inbound
from roost.testing.scripts import CallTool, Fail, Hang, Say, Script, Until
from tests.stops import stop

NUMBER = re.compile(r"number (\d{3})\. (\w+)")
REPLY = re.compile(r"^re( \d{3})+$")
HALF = "half an answer"
STOPPED = "stopped by the storm"
MOST = 100_000
COMPACT = "/compact"
SUMMARY = "\n".join(f"## {section}\nNone." for section in SECTIONS)
# So that there is something to condense from the second turn on.
SHORT = ContextSettings(compaction=CompactionSettings(keep_recent=10, keep_turns=1))
# How a message is to be answered; most plainly. What hangs ends in a timeout, or by a stop or a kill.
MANNERS = {"plainly": 10, "slowly": 6, "with_tools": 5, "never": 2, "badly": 1}

Turn = tuple[bool, str]
"""Whether the agent said it, and its words."""


def words(number: int, chance: Random) -> str:
    """The text of a message; some begin the conversation anew."""
    (manner,) = chance.choices(list(MANNERS), list(MANNERS.values()))
    start = "/new " if chance.random() < 0.06 else ""
    return f"{start}number {number:03}. {manner}"


def external_id(number: int) -> str:
    return f"e{number:03}"


def command_id(number: int) -> str:
    return f"c{number:03}"


def summary(pause: Callable[[], anyio.Event]) -> Script:
    """What is said of a conversation that is being condensed; it names no message."""
    return [Until(pause()), Say(SUMMARY)]


def condenses(system: str) -> bool:
    return system.startswith("Condense the conversation")


def answer(turns: Sequence[Turn], last_is_result: bool, pause: Callable[[], anyio.Event]) -> Script:
    """What is said follows from what was asked: an answer names every number that has none yet."""
    asked: list[tuple[str, str]] = []
    for by_agent, text in turns:
        if by_agent and text:
            asked.clear()
        elif not by_agent:
            # A summary is not asking anything again.
            asked += NUMBER.findall(text.rpartition("</summary>")[2])
    manner = asked[-1][1] if asked else "plainly"
    said = Say(" ".join(["re", *dict.fromkeys(number for number, _ in asked)]))
    if manner == "never":
        return [Say(HALF), Hang()]
    if manner == "badly":
        return [Fail(FailureKind.PERMANENT)]
    if manner == "with_tools" and not last_is_result:
        return [CallTool(ToolCall(id=f"c{len(turns)}", name="no_such_tool", arguments={}))]
    return [said] if manner == "plainly" else [Until(pause()), said]


async def stop_all(store: Store, engine: Engine, at: int) -> None:
    """What a stop does, in every session."""
    for session in (await store.list_sessions(SessionQuery(limit=100))).rows:
        for run_id in await stop(store, session.key, at, STOPPED):
            engine.stops.end(run_id, STOPPED)


def settings(chance: Random) -> QueueSettings:
    """How messages wait for a run, as a configuration may say it."""
    return QueueSettings(
        mode=chance.choice(list(QueueMode)),
        drop=chance.choice(list(DropPolicy)),
        debounce_ms=chance.choice((0, 500)),
        cap=chance.choice((1, 3, 20)),
    )


# -- afterwards --------------------------------------------------------------------------------------


async def judge(store: Store, channel: str, count: int, seen: Sequence[str]) -> Counter[InboundState]:
    """Every message has one end, none is shown twice, and whoever gets no answer was told. `seen` is what people
    were sent; the store's lease must be held."""
    records = [await _record(store, channel, external_id(number)) for number in range(count)]
    by_id = {record.inbound.id: record for record in records}
    shown = "\n".join(await _transcripts(store))
    unsure = "\n".join(one.text for one in await _deliveries(store, DeliveryState.UNCERTAIN))
    told = "\n".join(text for text in seen if not REPLY.match(text))
    for number, record in enumerate(records):
        name, last = f"number {number:03}.", record
        while last.merged_into:
            last = by_id[last.merged_into]
        assert last.state in (InboundState.TAKEN, InboundState.DEAD), record
        assert shown.count(name) == (last.state is InboundState.TAKEN), record
        dead = last.state is InboundState.DEAD
        assert dead == (record.state is InboundState.DEAD), record
        assert told.count(name) <= dead, record
        assert not dead or name in told or name in unsure, record
    _assert_none_answered_twice(seen)
    for state in (DeliveryState.INTENT, DeliveryState.SENDING, DeliveryState.FAILED):
        assert await _deliveries(store, state) == ()
    assert await store.check() == ()
    return Counter(record.state for record in records)


def _assert_none_answered_twice(seen: Iterable[str]) -> None:
    numbers = Counter(number for text in seen if REPLY.match(text) for number in text.split()[1:])
    assert [number for number, times in numbers.items() if times > 1] == []


async def _deliveries(store: Store, state: DeliveryState) -> tuple[Delivery, ...]:
    return await store.deliveries(state, MOST)


async def _record(store: Store, channel: str, name: str) -> InboundRecord:
    """What became of a message: said once more, it is known."""
    again: Inbound = inbound(f"again-{name}", source=Source(channel=channel, external_id=name))

    def unknown(snapshot: Snapshot) -> Effects:
        raise AssertionError(f"message {name} was lost")

    accepted = await store.accept_inbound(again, unknown)
    assert accepted.duplicate
    return accepted.record


async def judge_commands(store: Store, channel: str, count: int) -> int:
    """Every command was answered; how many conversations were condensed."""
    for number in range(count):
        assert (await _record(store, channel, command_id(number))).state is InboundState.ANSWERED
    return sum(isinstance(body, Compaction) for body in await _bodies(store))


async def _transcripts(store: Store) -> list[str]:
    """Every user entry of every session, closed generations included."""
    return [text_of(body) for body in await _bodies(store) if isinstance(body, UserMessage)]


async def _bodies(store: Store) -> list[Body]:
    keys: list[SessionKey] = [row.key for row in (await store.list_sessions(SessionQuery(limit=1000))).rows]
    pages = [await store.history(HistoryQuery(key=key, limit=MOST)) for key in keys]
    return [entry.body for page in pages for entry in page.entries]
