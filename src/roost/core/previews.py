"""What is shown of a run while it goes on. None of it is stored, and what counts is what is stored.

A piece says where in its stream it belongs: one that does not begin where the last one ended, or that begins at 0,
stands in the place of all that was shown of its stream.
"""

from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from roost.core.keys import SessionKey
from roost.core.ledger import Counted
from roost.core.messages import AssistantMessage, Text, ToolCall, text_of
from roost.core.models import ModelRef
from roost.core.runs import Run
from roost.core.sessions import Overrides
from roost.core.tools import ToolOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBegan:
    run: Run

    @property
    def key(self) -> SessionKey:
        return self.run.key

    @property
    def run_id(self) -> str:
        return self.run.id


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOver:
    """How a run ended, after that was stored; `words` are its last, `took` is what they did, and `overrides` say what is
    shown with them."""

    run: Run
    words: AssistantMessage | None = None
    took: Counted = field(default_factory=Counted)
    overrides: Overrides = field(default_factory=Overrides)

    @property
    def key(self) -> SessionKey:
        return self.run.key

    @property
    def run_id(self) -> str:
        return self.run.id


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAsked:
    """A model begins to answer. `answer` counts the answers of a run; all of an earlier one was said or is void."""

    key: SessionKey
    run_id: str
    answer: int
    model: ModelRef


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenText:
    key: SessionKey
    run_id: str
    answer: int
    offset: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenThinking:
    key: SessionKey
    run_id: str
    answer: int
    offset: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolBegan:
    key: SessionKey
    run_id: str
    call: ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPrinted:
    """Output of a tool that is still running."""

    key: SessionKey
    run_id: str
    call_id: str
    offset: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOver:
    key: SessionKey
    run_id: str
    call: ToolCall
    outcome: ToolOutcome


Piece: TypeAlias = SpokenText | SpokenThinking | ToolPrinted
Mark: TypeAlias = RunBegan | RunOver | ModelAsked | ToolBegan | ToolOver
Preview: TypeAlias = Piece | Mark


def stream_of(piece: Piece) -> tuple[str, ...]:
    """What tells the streams of pieces apart."""
    match piece:
        case ToolPrinted():
            return ("tool", piece.run_id, piece.call_id)
        case SpokenText():
            return ("text", piece.run_id, str(piece.answer))
        case SpokenThinking():
            return ("thinking", piece.run_id, str(piece.answer))
        case _:
            assert_never(piece)


def weight(preview: Preview) -> int:
    """About how many characters a preview holds on to."""
    match preview:
        case SpokenText() | SpokenThinking() | ToolPrinted():
            return len(preview.text)
        case ToolOver():
            return sum(len(block.text) for block in preview.outcome.content if isinstance(block, Text))
        case RunOver():
            return len(text_of(preview.words)) if preview.words else 0
        case RunBegan() | ModelAsked() | ToolBegan():
            return 0
        case _:
            assert_never(preview)
