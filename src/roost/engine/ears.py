"""What one listener has not heard yet. Bounded: a listener that falls behind misses previews, and knows it.

Nobody who speaks ever waits for it.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

import anyio

from roost.core.feeds import Anchor, Shown
from roost.core.previews import Piece, Preview, stream_of, weight
from roost.ports import Clock

PACE_MS = 50
MOST_WAITING = 256
MOST_CHARACTERS = 256 * 1024


Stream: TypeAlias = tuple[str, ...]


@dataclass(slots=True)
class _Waiting:
    """A preview; the pieces that came to it later; whether something follows that must not overtake it."""

    preview: Preview
    anchor: Anchor
    more: list[str] | None = None
    closed: bool = False


class Ears:
    """Pieces of a stream are joined while they wait, and come `PACE_MS` apart; the last one before something else of
    its run comes with that. `heard` counts the previews."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: deque[_Waiting] = deque()
        self._growing: dict[Stream, _Waiting] = {}
        self._weight = 0
        self._pace: dict[Stream, int] = {}
        self._news: anyio.Event | None = None
        self.missed = False
        self.heard = 0

    # -- the speaker's side --------------------------------------------------------------------------

    def hear(self, preview: Preview, anchor: Anchor) -> None:
        if self.missed:
            return
        self._put(preview, anchor)
        if len(self._waiting) > MOST_WAITING or (self._weight > MOST_CHARACTERS and len(self._waiting) > 1):
            self.forget()

    def forget(self) -> None:
        """Drop what waits, and hear nothing until `listen`."""
        self._waiting.clear()
        self._growing.clear()
        self._weight = 0
        self.missed = True
        self.wake()

    def wake(self) -> None:
        # Nearly always nobody waits, and an event costs more than all else here.
        if self._news is not None:
            self._news.set()
            self._news = None

    # -- the listener's side -------------------------------------------------------------------------

    def listen(self, going_on: Iterable[tuple[Preview, Anchor]]) -> None:
        """Begin, or begin again, with what is going on, however much that is."""
        self.missed = False
        for preview, anchor in going_on:
            self._put(preview, anchor)

    @property
    def anchor(self) -> Anchor | None:
        """That of the next preview."""
        return self._waiting[0].anchor if self._waiting else None

    def take(self, *, hurry: bool = False) -> Shown | None:
        """The next preview whose time has come; in a hurry, the next one."""
        place = (0 if hurry else self._due_now()) if self._waiting else None
        if place is None:
            return None
        waiting = self._waiting[place]
        del self._waiting[place]
        preview = waiting.preview
        if isinstance(preview, Piece):
            self._note_sent(stream_of(preview), waiting)
            preview = _joined(preview, waiting.more)
        self._weight -= weight(preview)
        return Shown(preview=preview, after=waiting.anchor)

    def holds(self, run_id: str) -> bool:
        """Whether something that a run said waits to be taken."""
        return any(waiting.preview.run_id == run_id for waiting in self._waiting)

    async def wait(self) -> None:
        """Return when there may be something to take."""
        news = self._news = self._news or anyio.Event()
        pause = self._pause()
        disarm = None if pause is None else self._clock.later(pause, self.wake)
        try:
            await news.wait()
        finally:
            if disarm is not None:
                disarm()

    # ------------------------------------------------------------------------------------------------

    def _put(self, preview: Preview, anchor: Anchor) -> None:
        if isinstance(preview, Piece):
            self._put_piece(preview, anchor)
        else:
            self._add(_Waiting(preview, anchor, closed=True))
            self._close(preview.run_id)
        self._weight += weight(preview)

    def _close(self, run_id: str) -> None:
        """What waits of this run grows no more: something follows it."""
        ended = [stream for stream, one in self._growing.items() if one.preview.run_id == run_id]
        for stream in ended:
            self._growing.pop(stream).closed = True

    def _put_piece(self, piece: Piece, anchor: Anchor) -> None:
        stream = stream_of(piece)
        waiting = self._growing.get(stream)
        if waiting is None:
            waiting = self._growing[stream] = _Waiting(piece, anchor)
            self._add(waiting)
        elif waiting.more is None:
            waiting.more = [piece.text]
        else:
            waiting.more.append(piece.text)

    def _add(self, waiting: _Waiting) -> None:
        self._waiting.append(waiting)
        self.heard += 1
        self.wake()

    def _note_sent(self, stream: Stream, waiting: _Waiting) -> None:
        now = self._clock.now()
        self._pace = {other: at for other, at in self._pace.items() if at > now}
        self._pace[stream] = now + PACE_MS
        if not waiting.closed:
            del self._growing[stream]

    def _due_now(self) -> int | None:
        """Where the first preview is whose time has come. None overtakes another of its run."""
        now, held = self._clock.now(), set[str]()
        for place, waiting in enumerate(self._waiting):
            run_id = waiting.preview.run_id
            if run_id not in held:
                if self._due(waiting) <= now:
                    return place
                held.add(run_id)
        return None

    def _due(self, waiting: _Waiting) -> int:
        piece = waiting.preview
        if waiting.closed or not isinstance(piece, Piece):
            return 0
        return self._pace.get(stream_of(piece), 0)

    def _pause(self) -> int | None:
        """Until a time comes, if any is waited for."""
        due = [self._due(waiting) for waiting in self._waiting]
        return max(min(due) - self._clock.now(), 0) if due else None


def _joined(piece: Piece, more: list[str] | None) -> Piece:
    return piece if more is None else replace(piece, text="".join((piece.text, *more)))
