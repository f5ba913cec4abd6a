"""What one run says while it goes on, told to whoever listens. Without listeners it costs next to nothing."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from roost.core.events import EventKind
from roost.core.feeds import Anchor
from roost.core.footers import Reasoning
from roost.core.messages import ToolCall
from roost.core.models import ModelRef
from roost.core.previews import (
    ModelAsked,
    Preview,
    RunBegan,
    RunOver,
    SpokenText,
    SpokenThinking,
    ToolBegan,
    ToolOver,
    ToolPrinted,
)
from roost.core.runs import Run
from roost.core.sentinels import could_become_silent, held_from, is_silent, strip_trailing
from roost.core.sessions import Session
from roost.core.tools import ToolOutcome
from roost.engine.ears import Ears

MOST_PRINTED = 64 * 1024
MOST_HELD = 4096
CUT_SHORT = "\n[more output is not shown]\n"

Gather: TypeAlias = Callable[[Session], list[Ears]]


class Holdback:
    """Lets through what can no longer turn out to be a sentinel, or to fall away as one."""

    def __init__(self) -> None:
        self._held = ""
        self._opened = False

    def add(self, text: str) -> str:
        """What may be shown now."""
        self._held += text
        # What is held for so long is left for the end: looking at all of it again and again would be slow.
        if len(self._held) > MOST_HELD and self._opened:
            return ""
        if not self._opened and could_become_silent(self._held):
            return ""
        self._opened = True
        shown, self._held = _cut(self._held, held_from(self._held))
        return shown

    def end(self, shown: str) -> str:
        """What may still be shown of a text that is complete, after what was shown of it."""
        whole, self._held = shown + self._held, ""
        return "" if is_silent(whole) else strip_trailing(whole)[len(shown) :]


def _cut(text: str, at: int) -> tuple[str, str]:
    return text[:at], text[at:]


@dataclass(slots=True)
class _Stream:
    """What was shown of a stream."""

    parts: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, text: str) -> int:
        """Where it begins."""
        offset = self.size
        self.parts.append(text)
        self.size += len(text)
        return offset

    @property
    def whole(self) -> str:
        return "".join(self.parts)


class Voice:
    """`gather` says who may listen to a session; `kept` names the newest entry, after which the next words come."""

    def __init__(self, run: Run, gather: Gather) -> None:
        self.run = run
        self.session: Session | None = None
        self.audience: list[Ears] = []
        self._gather = gather
        self._anchor = Anchor(EventKind.RUN_STARTED, run.id)
        self._answers = 0
        self._asked: ModelAsked | None = None
        self._unheard: list[str] = []
        self._thought_through: list[str] = []
        self._holdback = Holdback()
        self._text, self._thinking = _Stream(), _Stream()
        self._tools: dict[str, tuple[ToolCall, _Stream]] = {}

    @classmethod
    def mute(cls, run: Run) -> "Voice":
        """For what a run says to nobody."""
        return cls(run, lambda session: [])

    def begin(self, session: Session) -> None:
        self.session = session
        self.audience = self._gather(session)
        self._tell(RunBegan(run=self.run))

    def kept(self, entry_id: str) -> None:
        self._anchor = Anchor(EventKind.ENTRY, entry_id)
        self._asked = None
        self._thought_through.clear()
        self._text, self._thinking = _Stream(), _Stream()

    def over(self, end: RunOver) -> None:
        """The run as it was stored when it ended."""
        self._anchor = Anchor(EventKind.RUN_ENDED, end.run_id)
        self._tell(end)

    def going_on(self) -> Iterator[tuple[Preview, Anchor]]:
        """All that was shown and is not stored yet, for a listener who comes late."""
        self._speak()
        for preview in self._replayed():
            yield preview, self._anchor

    # -- a model's answer ----------------------------------------------------------------------------

    def asked(self, model: ModelRef) -> None:
        self._answers += 1
        self._asked = ModelAsked(key=self.run.key, run_id=self.run.id, answer=self._answers, model=model)
        self._unheard.clear()
        self._thought_through.clear()
        self._holdback = Holdback()
        self._text, self._thinking = _Stream(), _Stream()
        self._tell(self._asked)

    def text(self, text: str) -> None:
        self._unheard.append(text)
        if self.audience:
            self._speak()

    def thinking(self, text: str) -> None:
        """Shown only where a person asked for it: as it comes, or whole before the first word of the answer."""
        match self.session and self.session.overrides.reasoning:
            case Reasoning.STREAM:
                self._tell(self._thought(self._thinking.add(text), text))
            case Reasoning.ON:
                self._thought_through.append(text)

    def said(self) -> None:
        """The answer is complete."""
        self._speak()
        if rest := self._holdback.end(self._text.whole):
            self._show(rest)

    # -- tool calls ----------------------------------------------------------------------------------

    def tool_began(self, call: ToolCall) -> None:
        self._tools[call.id] = (call, _Stream())
        self._tell(ToolBegan(key=self.run.key, run_id=self.run.id, call=call))

    def tool_printed(self, call: ToolCall, text: str) -> None:
        """Beyond a measure it is not shown: the result holds what counts."""
        stream = self._tools[call.id][1] if call.id in self._tools else _Stream()
        room = MOST_PRINTED - stream.size
        if room >= 0 and text:
            shown = text if len(text) <= room else text[:room] + CUT_SHORT
            self._tell(self._printed(call.id, stream.add(shown), shown))

    def tool_over(self, call: ToolCall, outcome: ToolOutcome) -> None:
        self._tools.pop(call.id, None)
        self._tell(ToolOver(key=self.run.key, run_id=self.run.id, call=call, outcome=outcome))

    # ------------------------------------------------------------------------------------------------

    def _tell(self, preview: Preview) -> None:
        for ears in self.audience:
            ears.hear(preview, self._anchor)

    def _speak(self) -> None:
        if not self._unheard:
            return
        shown = self._holdback.add("".join(self._unheard))
        self._unheard.clear()
        if shown:
            self._show(shown)

    def _show(self, text: str) -> None:
        if thoughts := "".join(self._thought_through):
            self._thought_through.clear()
            self._tell(self._thought(self._thinking.add(thoughts), thoughts))
        self._tell(self._spoken(self._text.add(text), text))

    def _replayed(self) -> Iterator[Preview]:
        yield RunBegan(run=self.run)
        if self._asked is not None:
            yield self._asked
        if self._thinking.size:
            yield self._thought(0, self._thinking.whole)
        if self._text.size:
            yield self._spoken(0, self._text.whole)
        for call, stream in self._tools.values():
            yield ToolBegan(key=self.run.key, run_id=self.run.id, call=call)
            if stream.size:
                yield self._printed(call.id, 0, stream.whole)

    def _spoken(self, offset: int, text: str) -> SpokenText:
        run = self.run
        return SpokenText(key=run.key, run_id=run.id, answer=self._answers, offset=offset, text=text)

    def _thought(self, offset: int, text: str) -> SpokenThinking:
        run = self.run
        return SpokenThinking(key=run.key, run_id=run.id, answer=self._answers, offset=offset, text=text)

    def _printed(self, call_id: str, offset: int, text: str) -> ToolPrinted:
        run = self.run
        return ToolPrinted(key=run.key, run_id=run.id, call_id=call_id, offset=offset, text=text)
