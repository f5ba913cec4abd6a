"""A recorded session is played again: a real engine on a store in memory, with the answers and results that were recorded
and the moments at which they came. Nothing is asked of a network."""

from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC
from pathlib import Path

import anyio
from anyio import to_thread

from roost.core import queueing, toolnames
from roost.core.arrivals import Arrival, Opening
from roost.core.errors import InvalidInput
from roost.core.facts import classify
from roost.core.inbound import Inbound, Source
from roost.core.jsonl import Importer, Malformed, header_from_json, read_entry, read_line
from roost.core.jsonvalue import lines_of
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.lifecycle import ResetMode, ResetPolicy, ResetSetting
from roost.core.messages import Body, Message, ToolResult, UserMessage
from roost.core.models import (
    FailureKind,
    Finished,
    ModelEvent,
    ModelFailed,
    ModelRef,
    ModelRequest,
    ModelSpec,
    ToolSpec,
)
from roost.core.principals import OWNER
from roost.core.queuesettings import QueuePolicy, QueueSettings
from roost.core.recordings import Answer, Difference, RecordedTurn, Recording, first_difference, recorded
from roost.core.runs import Run
from roost.core.sessions import Facts, Session
from roost.core.tools import Invocation, Place, ToolOutcome, ToolTraits
from roost.core.upkeep import ContextSettings
from roost.engine.gateway import Engine
from roost.engine.ids import FreshIds
from roost.engine.rules import Part, Rules
from roost.ports import Report, Tool
from roost.stores.memory import MemoryStore

KEY = SessionKey.named("main", "replay")
SESSION_ID = "replay"
_AT_ONCE = QueuePolicy(base=QueueSettings(debounce_ms=0, settle_ms=0))
_NO_RESET = ResetPolicy(base=ResetSetting(mode=ResetMode.NONE))
# What was said fitted in once.
_WINDOW = 1 << 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What was played, and where it first came out differently."""

    recording: Recording
    difference: Difference | None


async def replay(file: Path, tools: Sequence[Tool] = ()) -> Replayed:
    """Play a transcript that `roost sessions export` wrote. `tools` are asked in place of what theirs gave back then."""
    recording = recorded(await to_thread.run_sync(_bodies, file))
    if not recording.turns:
        raise InvalidInput(f"there is no whole turn in {file}", hint="export a session that was answered")
    return await play(recording, tools)


async def play(recording: Recording, tools: Sequence[Tool] = ()) -> Replayed:
    stage = _Stage(recording, tools)
    for turn in recording.turns:
        await stage.play(turn)
    after = await stage.messages()
    difference = first_difference(recording.messages, after)
    if difference is None and stage.asked_more:
        difference = Difference(
            number=len(after) + 1, recorded=None, replayed="the model was asked once more"
        )
    return Replayed(recording=recording, difference=difference)


def _bodies(file: Path) -> list[Body]:
    bodies: list[Body] = []
    try:
        lines = lines_of(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} cannot be read: {error}", hint="name a transcript file") from None
    for number, text in enumerate(lines):
        line = read_line(text)
        entry = read_entry(text, Importer(principal=OWNER, fallback_id=str(number)))
        if isinstance(line, Malformed) or isinstance(entry, Malformed):
            raise InvalidInput(
                f"line {number + 1} of {file} is no line of a transcript",
                hint="name a file that roost sessions export wrote",
            )
        if header_from_json(line) is None:
            bodies.append(entry.body)
    return bodies


@dataclass(slots=True)
class _Moment:
    """A clock that stands at the moment of what is played; nobody sleeps long enough to see it move."""

    at: int = 0

    def now(self) -> int:
        return self.at

    def come_to(self, at: int) -> None:
        self.at = max(self.at, at)

    async def sleep(self, milliseconds: int) -> None:
        if milliseconds > 0:
            await anyio.sleep_forever()
        await anyio.lowlevel.checkpoint()

    def later(self, milliseconds: int, act: Callable[[], None]) -> Callable[[], None]:
        return lambda: None


@dataclass(slots=True)
class _Script:
    """The answers that are still to come, and the results of the one that is being worked off."""

    answers: deque[Answer] = field(default_factory=deque)
    results: dict[str, ToolResult] = field(default_factory=dict)


class _Stage:
    def __init__(self, recording: Recording, tools: Sequence[Tool]) -> None:
        self._clock, self._script, self._said = _Moment(), _Script(), 0
        self.asked_more = False
        # Leases are judged by a clock of their own: the recording may have lasted for days.
        self._store = MemoryStore(self._clock, _Moment())
        own = {tool.spec.name: tool for tool in tools}
        names = sorted(recording.tools)
        self._tools = tuple(own.get(name) or _RecordedTool(name, self._script, self._clock) for name in names)

    async def play(self, turn: RecordedTurn) -> None:
        self._script.answers.extend(turn.answers)
        # All of it before anything begins: it was there when the turn began.
        for message in turn.opening:
            await self._hear(message)
        rules = Rules(cast=self._cast, doors={}, queue=_AT_ONCE)
        engine = Engine(self._store, self._clock, FreshIds(self._clock), rules, [], jitter=lambda: 0.0)
        async with engine.serving(Gateway(name="replay", holder="replay")):
            await engine.settled()
        self._script.answers.clear()

    async def messages(self) -> tuple[Message, ...]:
        bodies = [entry.body for entry in await self._store.entries(SESSION_ID)]
        return tuple(one for one in bodies if isinstance(one, Message))

    async def _hear(self, message: UserMessage) -> None:
        self._clock.come_to(message.at)
        self._said += 1
        name = f"message-{self._said}"
        inbound = Inbound(
            id=name,
            key=KEY,
            principal=OWNER,
            provenance=message.provenance,
            content=message.content,
            source=Source(channel="replay", idempotency_key=name),
            received_at=self._clock.now(),
            trace=name,
            sender_name=message.sender,
        )
        arrival = Arrival(
            inbound=inbound,
            run_id=f"run-{self._said}",
            opening=Opening(session_id=SESSION_ID, owner=OWNER, facts=Facts(kind=classify(KEY, "main"))),
            zone=UTC,
            queue=_AT_ONCE,
            resets=_NO_RESET,
        )
        await self._store.accept_inbound(inbound, lambda snapshot: queueing.accept(snapshot, arrival))

    def _cast(self, session: Session, run: Run) -> Part:
        ref = ModelRef("recorded", "recorded")
        if self._script.answers:
            said = self._script.answers[0].message
            ref = ModelRef(said.provider or ref.provider, said.model or ref.model)
        return Part(
            model=self,
            spec=ModelSpec(ref=ref, context_window=_WINDOW, max_tokens=_WINDOW, reasoning=True, images=True),
            reason="it answered then",
            system="",
            place=Place(workspace="/nonexistent"),
            tools=self._tools,
            context=ContextSettings(ahead=False, flushes=False),
        )

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        """The next answer of the recording, whatever is asked."""
        if not self._script.answers:
            self.asked_more = True
            raise ModelFailed("nothing more was recorded", kind=FailureKind.PERMANENT)
        yield self._answer(self._script.answers.popleft())

    async def _answer(self, answer: Answer) -> AsyncIterator[ModelEvent]:
        for message in answer.heard:
            await self._hear(message)
        self._script.results = {one.call_id: one for one in answer.results}
        self._clock.come_to(answer.message.at)
        yield Finished(replace(answer.message, at=self._clock.now()))


class _RecordedTool:
    """Gives back what was given back then."""

    def __init__(self, name: str, script: _Script, clock: _Moment) -> None:
        self.spec = ToolSpec(name=name, description="as recorded", parameters={"type": "object"})
        self.traits = ToolTraits(ends_turn=name == toolnames.SESSIONS_YIELD)
        self._script = script
        self._clock = clock

    async def run(self, invocation: Invocation, report: Report) -> ToolOutcome:
        result = self._script.results[invocation.call_id]
        self._clock.come_to(result.at)
        return ToolOutcome(content=result.content, is_error=result.is_error, details=result.details)
