import pytest

from roost.core.messages import (
    AssistantMessage,
    Body,
    Compaction,
    Image,
    Notice,
    Provenance,
    ProvenanceKind,
    Text,
    ToolResult,
    Usage,
    UserMessage,
)
from roost.core.sessions import Counters, Summary
from roost.core.summaries import PREVIEW_CHARS, TITLE_CHARS, count, summarise
from roost.testing.builders import HUMAN
from roost.testing.clock import NOON


def asked(text: str) -> UserMessage:
    return UserMessage(content=(Text(text),), at=NOON, provenance=HUMAN)


def said(text: str, *, provider: str = "demo", model: str = "demo-1") -> AssistantMessage:
    return AssistantMessage(content=(Text(text),), at=NOON, provider=provider, model=model)


def result(text: str) -> ToolResult:
    return ToolResult(call_id="c", tool="read", content=(Text(text),), at=NOON)


NOTICE = Notice(kind="note", at=NOON, data={})
PICTURE = UserMessage(content=(Image(mime="image/png", data="aGk="),), at=NOON, provenance=HUMAN)


def summary(*bodies: Body) -> Summary:
    return summarise(Summary(), bodies)


# -- what a row shows --------------------------------------------------------------------------------


def test_every_entry_counts() -> None:
    assert summary(asked("a"), said("b"), result("c"), NOTICE).entries == 4
    assert summarise(Summary(entries=7), [NOTICE]).entries == 8
    assert summarise(Summary(entries=7), []).entries == 7


def test_the_title_is_what_was_asked_first() -> None:
    assert summary(said("hello"), asked("first"), asked("second")).title == "first"
    assert summarise(Summary(title="kept"), [asked("later")]).title == "kept"
    assert summary(said("hello"), result("out"), NOTICE).title is None


def test_a_question_without_words_gives_no_title() -> None:
    assert summary(PICTURE, asked("  "), asked("then this")).title == "then this"


def test_the_preview_is_what_was_said_last_by_either_side() -> None:
    assert summary(asked("first"), said("second")).preview == "second"
    assert summary(said("first"), asked("second")).preview == "second"
    assert summary(asked("first"), said(""), result("out"), NOTICE, PICTURE).preview == "first"
    assert summarise(Summary(preview="kept"), [NOTICE, result("out")]).preview == "kept"


@pytest.mark.parametrize("kind", [kind for kind in ProvenanceKind if kind is not ProvenanceKind.HUMAN])
def test_the_preview_is_nothing_that_only_the_agent_was_told(kind: ProvenanceKind) -> None:
    told = UserMessage(
        content=(Text("[Subagent Context] Status: success"),), at=NOON, provenance=Provenance(kind=kind)
    )
    assert summary(asked("first"), told).preview == "first"
    assert summary(told, said("done"), told).preview == "done"
    assert summary(told).preview is None


@pytest.mark.requirement("D55")
def test_the_preview_is_what_a_model_said_to_people_and_not_its_machinery() -> None:
    assert summary(said("<think>hm</think>It is done.")).preview == "It is done."
    assert summary(asked("first"), said("NO_REPLY")).preview == "first"
    assert summary(asked("<think>hm</think>")).preview == "<think>hm</think>"


def test_texts_are_shown_on_one_line() -> None:
    assert summary(asked("  two\n\n lines\t here ")).title == "two lines here"


@pytest.mark.parametrize(("field", "chars"), [("title", TITLE_CHARS), ("preview", PREVIEW_CHARS)])
def test_a_long_text_is_cut_between_words(field: str, chars: int) -> None:
    fits = ("word " * 100)[:chars].rstrip()
    shown = getattr(summary(asked("word " * 100)), field)
    assert shown == fits
    straddling = "x" * (chars - 3) + " sk-secret-that-goes-on"
    assert getattr(summary(asked(straddling)), field) == "x" * (chars - 3)
    exact = "y" * chars
    assert getattr(summary(asked(exact)), field) == exact
    assert getattr(summary(asked(f"{exact} more")), field) == exact


@pytest.mark.requirement("P24")
def test_half_a_word_is_never_shown() -> None:
    assert summary(asked("k" * 500)).title is None


def test_text_without_spaces_in_other_scripts_is_cut_where_it_must() -> None:
    assert summary(asked("预" * 500)).title == "预" * TITLE_CHARS


@pytest.mark.parametrize(
    ("provider", "model", "shown"),
    [("demo", "demo-1", "demo/demo-1"), ("", "demo-1", "demo-1"), ("demo", "", "demo"), ("", "", "before")],
)
def test_the_model_is_the_one_that_answered_last(provider: str, model: str, shown: str) -> None:
    bodies: list[Body] = [
        said("a", provider="", model="before"),
        said("b", provider=provider, model=model),
        asked("c"),
    ]
    assert summary(*bodies).model == shown


# -- what a row counts -------------------------------------------------------------------------------


def called(**usage: int) -> AssistantMessage:
    return AssistantMessage(content=(), at=NOON, usage=Usage(**usage))


def test_tokens_add_up_and_the_total_is_that_of_the_newest_call() -> None:
    bodies: list[Body] = [
        called(input=10, output=1, cache_read=5, cache_write=2, total=18, cost_micros=7),
        asked("more"),
        called(input=20, output=2, cache_read=6, cache_write=3, total=31, cost_micros=8),
    ]
    expected = Counters(
        input=30, output=3, total=31, cache_read=11, cache_write=5, cost_micros=15, context_window=9
    )
    assert count(Counters(context_window=9), bodies) == expected


def test_a_call_that_was_not_counted_leaves_the_total() -> None:
    assert count(Counters(total=31, compactions=1), [called(output=1)]) == Counters(
        output=1, total=31, compactions=1
    )


def test_a_compaction_is_counted_and_shrinks_the_total_to_what_it_left() -> None:
    compaction = Compaction(summary="s", first_kept_id=None, tokens_before=90, at=NOON, tokens_after=12)
    assert count(Counters(total=90, input=4), [compaction]) == Counters(total=12, input=4, compactions=1)


def test_a_compaction_that_does_not_tell_leaves_the_total() -> None:
    compaction = Compaction(summary="s", first_kept_id=None, tokens_before=90, at=NOON)
    assert count(Counters(total=90), [compaction, compaction]) == Counters(total=90, compactions=2)


def test_what_costs_nothing_changes_no_counter() -> None:
    before = Counters(input=1)
    assert count(before, [asked("a"), result("b"), NOTICE]) == before
