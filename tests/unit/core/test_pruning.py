import pytest

from roost.core.entries import Entry
from roost.core.messages import (
    AssistantMessage,
    Body,
    Compaction,
    Image,
    Message,
    Provenance,
    ProvenanceKind,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserBlock,
    UserMessage,
    text_of,
)
from roost.core.pruning import IMAGE_NOTE, Cut, Projection, PruningSettings, project, prune

SETTINGS = PruningSettings()
PICTURE = Image(mime="image/png", data="aGk=")
NOTHING = Projection()
LONG = "a" * 5_000


def entries(*bodies: Body) -> tuple[Entry, ...]:
    return tuple(Entry(session_id="s", seq=n, id=f"e{n}", body=body) for n, body in enumerate(bodies))


def user(*content: UserBlock) -> UserMessage:
    return UserMessage(content=content, at=1, provenance=Provenance(kind=ProvenanceKind.HUMAN))


def step(text: str, tool: str = "read", *more: UserBlock) -> tuple[AssistantMessage, ToolResult]:
    call = ToolCall(id="c", name=tool, arguments={})
    return (
        AssistantMessage(content=(Thinking(thinking="hm"), call), at=2),
        ToolResult(call_id="c", tool=tool, content=(Text(text), *more), at=3),
    )


def answer(text: str = "done") -> AssistantMessage:
    return AssistantMessage(content=(Text(text),), at=4)


RECENT = (answer(), user(Text("and?")), answer(), user(Text("so?")), answer())


def cuts(
    stored: tuple[Entry, ...],
    *,
    window: int = 1_000,
    idle_ms: int | None = None,
    settings: PruningSettings = SETTINGS,
    projection: Projection = NOTHING,
) -> dict[str, Cut]:
    made = prune(stored, projection, window=window, idle_ms=idle_ms, settings=settings).cuts
    return {cut.entry_id: cut for cut in made}


def body(stored: tuple[Entry, ...], projection: Projection, entry_id: str) -> Message:
    (shown,) = [entry.body for entry in project(stored, projection) if entry.id == entry_id]
    assert isinstance(shown, UserMessage | AssistantMessage | ToolResult)
    return shown


@pytest.mark.requirement("D39")
def test_an_old_long_result_is_trimmed_by_default_to_its_ends_and_the_transcript_stays() -> None:
    stored = entries(user(Text("go")), *step("h" * 2_000 + "m" * 3_000 + "t" * 2_000), *RECENT)
    before = repr(stored)
    projection = prune(stored, NOTHING, window=4_000, idle_ms=None, settings=SETTINGS)
    text = text_of(body(stored, projection, "e2"))
    assert text == (
        "h" * 1_500
        + "\n...\n"
        + "t" * 1_500
        + "\n[Tool result trimmed: 1500 first and 1500 last of 7000 characters]"
    )
    assert repr(stored) == before
    shown = project(stored, projection)
    assert all(shown[n] is stored[n] for n in range(len(stored)) if n != 2)


def test_a_context_under_three_tenths_of_the_window_is_left_alone() -> None:
    stored = entries(user(Text("go")), *step(LONG), *RECENT)
    assert cuts(stored, window=4_300) == {}
    assert list(cuts(stored, window=4_100)) == ["e2"]


def test_results_of_up_to_four_thousand_characters_are_left_alone() -> None:
    stored = entries(user(Text("go")), *step("a" * 4_000), *step("a" * 4_001), *RECENT)
    assert list(cuts(stored)) == ["e4"]


def test_pictures_in_old_results_are_taken_out_of_a_crowded_context() -> None:
    stored = entries(user(Text("go")), *step("short", "read", PICTURE), *RECENT)
    projection = prune(stored, NOTHING, window=1_000, idle_ms=None, settings=SETTINGS)
    assert body(stored, projection, "e2").content == (Text("short"), Text(IMAGE_NOTE))


def test_nothing_is_touched_before_the_first_user_message_or_from_the_third_last_answer_on() -> None:
    stored = entries(*step(LONG), user(Text("go")), *step(LONG), *step(LONG), *step(LONG), answer())
    assert list(cuts(stored)) == ["e4"]


def test_without_three_answers_or_without_a_user_nothing_is_touched() -> None:
    assert cuts(entries(user(Text("go")), *step(LONG), answer())) == {}
    assert cuts(entries(*step(LONG), answer(), answer(), answer())) == {}


def test_tools_can_be_spared_and_chosen() -> None:
    stored = entries(user(Text("go")), *step(LONG, "fs_read"), *step(LONG, "web"), *RECENT)
    assert list(cuts(stored, settings=PruningSettings(deny=("web*",)))) == ["e2"]
    assert list(cuts(stored, settings=PruningSettings(allow=("web",)))) == ["e4"]


def test_while_the_last_prompt_may_be_cached_nothing_is_cut() -> None:
    stored = entries(user(Text("go")), *step(LONG), *RECENT)
    assert cuts(stored, idle_ms=299_999) == {}
    assert list(cuts(stored, idle_ms=300_000)) == ["e2"]


def test_a_context_over_half_the_window_loses_its_oldest_results_until_it_is_under() -> None:
    stored = entries(user(Text("go")), *(part for _ in range(20) for part in step("a" * 4_000)), *RECENT)
    made = cuts(stored, window=30_000)
    assert [entry_id for entry_id, cut in made.items() if cut.note == SETTINGS.placeholder] == [
        "e2",
        "e4",
        "e6",
        "e8",
        "e10",
        "e12",
    ]
    projection = Projection(cuts=tuple(made.values()))
    assert body(stored, projection, "e2").content == (Text(SETTINGS.placeholder),)


def test_results_are_not_cleared_when_there_is_little_to_gain_or_when_switched_off() -> None:
    little = entries(
        user(Text("x" * 40_000)), *(part for _ in range(12) for part in step("a" * 4_000)), *RECENT
    )
    assert cuts(little, window=10_000) == {}
    much = entries(user(Text("go")), *(part for _ in range(20) for part in step("a" * 4_000)), *RECENT)
    assert cuts(much, window=10_000, settings=PruningSettings(clear=False)) == {}
    assert cuts(much, window=10_000, settings=PruningSettings(enabled=False)) == {}


def test_clearing_stops_at_the_last_old_result() -> None:
    stored = entries(
        user(Text("x" * 90_000)), *(part for _ in range(15) for part in step("a" * 4_000)), *RECENT
    )
    assert len(cuts(stored, window=10_000)) == 15


@pytest.mark.requirement("D39")
def test_a_cut_stays_as_it_was_made_and_gives_the_same_bytes_again() -> None:
    stored = entries(user(Text("go")), *step(LONG), *RECENT)
    first = prune(stored, NOTHING, window=1_000, idle_ms=None, settings=SETTINGS)
    later: tuple[Body, ...] = (*step(LONG), *RECENT)
    assert prune(stored, first, window=1_000, idle_ms=None, settings=SETTINGS) == first
    longer = stored + tuple(
        Entry(session_id="s", seq=50 + n, id=f"x{n}", body=part) for n, part in enumerate(later)
    )
    other = PruningSettings(trim_above=10, head=5, tail=0)
    second = prune(longer, first, window=1_000, idle_ms=None, settings=other)
    assert second.cuts[0] == first.cuts[0]
    assert body(longer, second, "e2") == body(stored, first, "e2")
    assert text_of(body(longer, second, "x1")).startswith("aaaaa\n...\n\n[Tool result trimmed")


@pytest.mark.requirement("D39")
def test_pictures_older_than_three_completed_turns_are_replaced_even_in_a_small_context() -> None:
    turns: list[Body] = [user(Text("look"), PICTURE), answer()] * 4
    made = prune(entries(*turns), NOTHING, window=100_000, idle_ms=0, settings=SETTINGS)
    assert [cut.entry_id for cut in made.cuts] == ["e0"]
    assert body(entries(*turns), made, "e0").content == (Text("look"), Text(IMAGE_NOTE))
    assert prune(entries(*turns[:6]), NOTHING, window=100_000, idle_ms=0, settings=SETTINGS) == NOTHING


def test_a_picture_taken_out_first_can_be_trimmed_later() -> None:
    stored = entries(user(Text("go")), *step(LONG, "read", PICTURE), *RECENT)
    early = Projection(cuts=(Cut(entry_id="e2", note=IMAGE_NOTE, text=True),))
    assert cuts(stored, projection=early)["e2"].head == SETTINGS.head


def test_what_a_compaction_left_behind_is_forgotten_and_its_summary_counts() -> None:
    compaction = Compaction(summary="s" * 90_000, first_kept_id="e3", tokens_before=1, at=5)
    stored = entries(user(Text("go")), *step(LONG), user(Text("on")), *step(LONG), *RECENT, compaction)
    old = Projection(cuts=(Cut(entry_id="e2", note="x"),))
    assert list(cuts(stored, projection=old, window=40_000)) == ["e5"]


def test_only_messages_that_bring_content_in_are_ever_shown_shorter() -> None:
    stored = entries(answer("mine"))
    wrong = Projection(cuts=(Cut(entry_id="e0", note="x"),))
    assert project(stored, wrong) == stored
    assert project(stored, prune(stored, wrong, window=1, idle_ms=None, settings=SETTINGS)) == stored


def test_a_message_without_text_counts_a_little() -> None:
    empty = tuple(AssistantMessage(content=(), at=1) for _ in range(10))
    stored = entries(user(Text("go")), *step(LONG), *empty)
    assert list(cuts(stored, window=6_300)) == ["e2"]
    assert cuts(stored, window=6_400) == {}
