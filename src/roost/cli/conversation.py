"""One session as a terminal shows it: what is typed is sent at once, and what is said there is shown as it comes.

What is said is heard from the session, whoever began it. A connection that was lost leaves a gap: what was stored
meanwhile is read, and of what was sent before it is asked how it ended.
"""

import uuid
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import anyio

from roost.cli.rows import message_line
from roost.cli.sources import source_of
from roost.cli.speech import Speech, Write, shows_steps
from roost.client import Answer, Client, Delta, Event, Gap, Piece, TurnFailed
from roost.client.turns import Turn, message_text, waited
from roost.core.endings import visible
from roost.core.errors import RoostError
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.protocol.events import AGENT, CHAT, MESSAGE, META, NO_MODEL
from roost.protocol.families.agents import WAIT
from roost.protocol.families.chat import HISTORY, SEND, History
from roost.protocol.families.sessions import LISTEN

SHOWN, MISSED = 6, 200
MOST_LINES = 100
INJECTED_RUN = "inject-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """What was typed, and the name it is sent under."""

    name: str
    text: str


class Conversation:
    def __init__(self, client: Client, session: str, write: Write) -> None:
        self.session = session
        self.entered = anyio.Event()
        self._client = client
        self._speech = Speech(write)
        self._key = session
        self._lines_in, self._lines = anyio.create_memory_object_stream[Typed](MOST_LINES)
        self._sending: anyio.CancelScope | None = None
        self._all_sent = anyio.Event()
        self._over: RoostError | None = None
        self._awaited: dict[str, Typed] = {}
        self._unsure: set[str] = set()
        self._unheard: list[Typed] = []
        self._turn: Turn | None = None
        self._read: tuple[JsonValue, int] = (None, 0)
        # No more is ever read again.
        self._notes: deque[str] = deque(maxlen=MISSED)
        self._caught_up: dict[str, list[str]] = {}

    def is_busy(self) -> bool:
        """Whether an answer is under way."""
        return bool(self._awaited) or self._turn is not None

    async def follow(self) -> None:
        """Until cancelled, or until nothing more can be heard, which is told."""
        try:
            with self._lines_in, self._lines:
                await self._follow()
        except RoostError as error:
            self._over = error
            self.tell(f"nothing can be heard: {error}")
        finally:
            self.entered.set()

    async def _follow(self) -> None:
        with self._client.events(_is_of_a_session) as heard:
            await self._client.call(LISTEN, {"key": self.session})
            await self._enter()
            async with anyio.create_task_group() as group:
                group.start_soon(self._send_lines)
                async for item in heard:
                    if isinstance(item, Gap):
                        await self._catch_up()
                    elif item.payload.get("sessionKey") == self._key:
                        await self._hear(item)
                group.cancel_scope.cancel()
        # Who asks is told why.
        await self._history(SHOWN)

    async def say(self, text: str) -> None:
        if self._over is not None:
            self.tell(f"no answer: {self._over}")
            return
        line = Typed(name=str(uuid.uuid4()), text=text)
        self._awaited[line.name] = line
        self._unheard.append(line)
        self._all_sent = anyio.Event()
        await self._lines_in.send(line)

    async def all_sent(self) -> None:
        """Until everything that was typed was taken in."""
        if self._awaited:
            await self._all_sent.wait()

    def leave(self) -> None:
        """Wait for nothing more; what was not sent yet is not."""
        while self._lines.statistics().current_buffer_used:
            self._forget(self._lines.receive_nowait().name)
        if self._sending is not None:
            self._sending.cancel()
        self._awaited.clear()
        self._unsure.clear()
        self._turn = None
        self._speech.break_off()

    def tell(self, text: str) -> None:
        """A line between what is said."""
        self._speech.line(text)

    # -- what is sent --------------------------------------------------------------------------------

    async def _send_lines(self) -> None:
        async for line in self._lines:
            with anyio.CancelScope() as self._sending:
                await self._send(line)
            if self._sending.cancelled_caught:
                self._forget(line.name)
            if not self._lines.statistics().current_buffer_used:
                self._all_sent.set()

    async def _send(self, line: Typed) -> None:
        params: JsonObject = {
            "sessionKey": self.session,
            "message": line.text,
            "idempotencyKey": line.name,
        }
        try:
            sent = await self._client.call(SEND, params)
        except RoostError as error:
            self._close(line.name)
            self._forget(line.name)
            self.tell(f"no answer: {error}")
            return
        if sent.get("status") != "started" and line.name in self._awaited:
            # It was sent before, on a connection that was lost.
            self._unsure.add(line.name)
            await self._settle()

    # -- what is heard -------------------------------------------------------------------------------

    async def _hear(self, event: Event) -> None:
        if event.name == MESSAGE:
            self._stored(event.payload)
            return
        name = str(event.payload.get("runId"))
        own = name in self._awaited
        turn = self._turn if self._turn and self._turn.is_told_by(event) else Turn(name)
        try:
            piece = turn.hear(event)
        except TurnFailed as error:
            self._failed(turn, name, str(error))
            ended = True
        else:
            ended = isinstance(piece, Answer)
            if piece is not None:
                self._show(turn, name, piece)
        if ended and not own and self._unsure:
            # After a restart a run goes by another name than the one that its message was sent under.
            await self._settle()

    def _show(self, turn: Turn, name: str, piece: Piece) -> None:
        if isinstance(piece, Answer):
            self._close(name)
            if piece.aside:
                self._aside(name, piece.text)
                return
        if turn is not self._turn:
            if self._was_caught_up(name, piece) or piece == Answer(text=None):
                # What joined another turn is answered there.
                return
            self._speech.break_off()
            self._turn = turn
        if piece == Answer(text=None):
            self._speech.break_off()
        else:
            self._speech.show(piece)
        if isinstance(piece, Answer):
            self._turn = None
            if self._unsure:
                self._remember(name, piece.text)

    def _failed(self, turn: Turn, name: str, reason: str) -> None:
        self._close(name)
        self._forget(name)
        if turn is self._turn:
            self._turn = None
            self._speech.break_off()
        self.tell(f"no answer: {reason}")
        if self._unsure:
            self._remember(name, reason)

    def _aside(self, name: str, text: str | None) -> None:
        """A command's answer. A line that was put into the session is stored too, and is shown as that, with where it
        comes from; what a command within a message gives is not."""
        self._forget(name)
        put = name.startswith(INJECTED_RUN)
        if text and (not put or any("/" in line.text for line in self._unheard)):
            self._notes.append(name.removeprefix(INJECTED_RUN))
            self.tell(text)

    def _stored(self, payload: JsonObject) -> None:
        row, session = _object(payload.get("message")), _object(payload.get("session"))
        place = (session.get("sessionId"), _number(_meta(row, "seq")))
        if place[0] == self._read[0] and place[1] <= self._read[1]:
            return
        self._read = place
        self._speech.verbose = shows_steps(session)
        self._show_input(row)

    def _show_input(self, row: JsonObject) -> None:
        """What was not typed here."""
        entry, text = str(_meta(row, "id")), message_text(row).strip()
        if not _is_input(row) or self._was_typed(row, text) or entry in self._notes:
            return
        self._notes.append(entry)
        self.tell(f"{source_of(row)}: {text}")

    def _was_typed(self, row: JsonObject, text: str) -> bool:
        for line in self._unheard:
            if row.get("idempotencyKey") == f"{line.name}:user" or line.text == text:
                self._unheard.remove(line)
                return True
        return False

    def _forget(self, name: str) -> None:
        """What was typed under this name is not heard of again; the same words are somebody else's."""
        self._unheard = [line for line in self._unheard if line.name != name]

    # -- what was not heard --------------------------------------------------------------------------

    async def _enter(self) -> None:
        read = await self._history(SHOWN)
        self._key = read["sessionKey"]
        if "sessionId" not in read:
            self.tell(f"a new session {self.session} begins with the first message")
        for row in read["messages"]:
            self.tell(message_line(row))
        self._reached(read)
        self.entered.set()

    async def _history(self, most: int) -> History:
        return await self._client.call(HISTORY, {"sessionKey": self.session, "limit": most})

    def _reached(self, read: History) -> None:
        places = [_number(_meta(row, "seq")) for row in read["messages"]]
        self._read = (read.get("sessionId"), max(places, default=0))
        self._speech.verbose = shows_steps(read.get("sessionInfo", {}))

    async def _catch_up(self) -> None:
        """Show what was stored since something was heard last, and ask what became of the rest."""
        self._unsure |= self._awaited.keys()
        self._caught_up = {}
        read = await self._history(MISSED)
        for row in _after(self._read, read):
            self._show_input(row)
            text = visible(message_text(row)) if row.get("role") == "assistant" else None
            if text and str(_meta(row, "id")) not in self._notes:
                self._speech.show(Answer(text=text))
                self._remember(str(_meta(row, "runId")), text)
        self._reached(read)
        if self._turn and _object(read.get("inFlightRun")).get("runId") != self._turn.name:
            self._turn = None
            self._speech.break_off()
        await self._settle()

    async def _settle(self) -> None:
        """Ask how that ended of which nothing may have been heard. What has not is heard when it does."""
        for name in [name for name in self._awaited if name in self._unsure]:
            answer = await self._client.call(WAIT, {"runId": name, "timeoutMs": 0})
            if name not in self._awaited:
                continue
            try:
                ended = waited(answer)
            except TurnFailed as error:
                self._close(name)
                self._forget(name)
                if not self._has_shown(str(error)):
                    self.tell(f"no answer: {error}")
                continue
            if ended is not None:
                self._close(name)
                if ended.text and not self._has_shown(ended.text):
                    self.tell(ended.text)

    def _close(self, name: str) -> None:
        self._awaited.pop(name, None)
        self._unsure.discard(name)

    def _remember(self, name: str, text: str | None) -> None:
        self._caught_up.setdefault(name, []).append((text or "").strip())

    def _has_shown(self, text: str) -> bool:
        return any(text.strip() in texts for texts in self._caught_up.values())

    def _was_caught_up(self, name: str, piece: Piece) -> bool:
        """Whether this waited to be heard while the same was read."""
        if not isinstance(piece, Delta | Answer):
            return False
        text = (piece.text or "").strip()
        return any(whole.startswith(text) for whole in self._caught_up.get(name, ()))


def _is_of_a_session(event: Event) -> bool:
    return event.name in (CHAT, AGENT, MESSAGE)


def _is_input(row: JsonObject) -> bool:
    """Whether no model said it."""
    return row.get("role") == "user" or row.get("model") == NO_MODEL


def _after(place: tuple[JsonValue, int], read: History) -> Iterator[JsonObject]:
    """The rows that were stored after a place; all of them, if the session was started afresh since."""
    for row in read["messages"]:
        if read.get("sessionId") != place[0] or _number(_meta(row, "seq")) > place[1]:
            yield row


def _meta(row: JsonObject, name: str) -> JsonValue:
    return _object(row.get(META)).get(name)


def _number(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}
