from dataclasses import replace

from roost.core.contextsize import context_chars, known_tokens, overhead_tokens, shown
from roost.core.cutnotes import cut_note
from roost.core.entries import Entry
from roost.core.fitting import prompt_tokens
from roost.core.messages import (
    AssistantMessage,
    Body,
    Compaction,
    Notice,
    StopReason,
    Text,
    Usage,
    UserMessage,
)
from roost.core.models import ToolSpec
from roost.core.pruning import Cut, Projection
from roost.core.tokens import estimate_message
from roost.testing.builders import HUMAN


def entries(*bodies: Body) -> tuple[Entry, ...]:
    return tuple(Entry(session_id="s", seq=n, id=f"e{n}", body=body) for n, body in enumerate(bodies, 1))


def said(text: str) -> UserMessage:
    return UserMessage(content=(Text(text),), at=1, provenance=HUMAN)


def answered(total: int = 0, stop: StopReason = StopReason.STOP) -> AssistantMessage:
    return AssistantMessage(content=(Text("yes"),), at=2, usage=Usage(total=total), stop=stop)


CONDENSED = Compaction(summary="so far", first_kept_id="e1", tokens_before=9, at=3)


def test_what_a_provider_counted_is_taken_and_what_came_since_is_estimated() -> None:
    later, label = said("and now?"), Notice(kind="label", at=3, data={})
    assert known_tokens(entries(said("hi"), answered(500), label, later)) == 500 + estimate_message(later)


def test_an_answer_that_broke_off_counts_as_what_came_since() -> None:
    broken = answered(900, StopReason.ABORTED)
    assert known_tokens(entries(answered(500), broken)) == 500 + estimate_message(broken)


def test_nothing_is_known_where_nothing_was_counted_or_the_view_has_changed() -> None:
    cut = cut_note(Projection(), Projection(cuts=(Cut(entry_id="e1", note="n"),)), 3)
    assert cut is not None
    assert known_tokens(()) is None
    assert known_tokens(entries(said("hi"))) is None
    assert known_tokens(entries(said("hi"), answered(0))) is None
    assert known_tokens(entries(said("hi"), answered(500), cut)) is None
    assert known_tokens(entries(said("hi"), answered(500), CONDENSED)) is None


def test_an_estimate_counts_what_would_be_shown() -> None:
    long = entries(said("word " * 500), said("short"))
    assert prompt_tokens(shown(long)) > 500
    condensed = entries(*(entry.body for entry in long), replace(CONDENSED, first_kept_id="e2"))
    assert prompt_tokens(shown(condensed)) < 100
    assert context_chars(condensed) == len("short")


def test_tools_and_the_system_text_come_on_top() -> None:
    tool = ToolSpec(name="read", description="Reads a file.", parameters={"type": "object"})
    assert overhead_tokens("You are.", ()) < overhead_tokens("You are.", (tool,))
