"""The laws of compaction: the prompt always fits, the last turns stay, the transcript is untouched."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from roost.core.compaction import (
    MAX_SUMMARY_CALLS,
    SECTIONS,
    CompactionPlan,
    CompactionSettings,
    SummaryAccepted,
    SummaryRetry,
    conversation_text,
    excerpts,
    plan,
    settle,
)
from roost.core.cutnotes import cut_note, projection_of
from roost.core.entries import Entry
from roost.core.fitting import MIN_BUDGET, fit, prompt_tokens, unit_tokens
from roost.core.marking import defused
from roost.core.messages import Message
from roost.core.pruning import Projection, PruningSettings, project, prune
from roost.core.tokens import estimate, truncate
from roost.core.transcript import Prompt, build_prompt, last_turns
from roost.testing.providers import violations
from tests.property.histories import histories, placed, said, working_histories
from tests.scale import examples

GOOD = "\n".join(f"## {section}\nNone." for section in SECTIONS)
SUMMARISERS: dict[str, Callable[[CompactionPlan], str | None]] = {
    "fails": lambda _: None,
    "is silent": lambda _: "",
    "forgets sections": lambda _: "## Decisions\nall well",
    "inflates": lambda planned: GOOD + conversation_text(planned, 10**6) * 3,
    "works": lambda _: GOOD,
}
SETTINGS = CompactionSettings(keep_recent=300)


@dataclass(frozen=True)
class Squeeze:
    """A budget in relation to a history: a share of all of it, or its last turns and a share of the rest."""

    percent: int
    spares_turns: bool

    def budget(self, entries: tuple[Entry, ...]) -> int:
        whole = build_prompt(entries)
        everything = prompt_tokens(whole)
        turns = tail_tokens(whole) if self.spares_turns else 0
        return max(MIN_BUDGET, turns + (everything - turns) * self.percent // 100)


squeezes = st.builds(Squeeze, percent=st.integers(0, 105), spares_turns=st.booleans())


def tail_tokens(prompt: Prompt) -> int:
    units = prompt.units[last_turns(prompt.units, SETTINGS.keep_turns) :]
    return sum(unit_tokens(unit) for unit in units)


def compacted(
    entries: tuple[Entry, ...], budget: int, summarise: Callable[[CompactionPlan], str | None]
) -> tuple[Entry, ...]:
    """The entries after a compaction was tried, in at most two calls of the summariser."""
    planned = plan(entries, budget, SETTINGS)
    if planned is None:
        event("nothing to compact")
        return entries
    for attempt in range(1, MAX_SUMMARY_CALLS + 1):
        verdict = settle(planned, summarise(planned), attempt=attempt, at=9)
        if isinstance(verdict, SummaryAccepted):
            event("compacted")
            return placed([*(entry.body for entry in entries), verdict.compaction])
        assert isinstance(verdict, SummaryRetry) == (attempt < MAX_SUMMARY_CALLS)
    event("excerpts")
    return placed([*(entry.body for entry in entries), excerpts(planned, 9)])


def last_messages(prompt: Prompt) -> tuple[Message, ...]:
    units = prompt.units[last_turns(prompt.units, SETTINGS.keep_turns) :]
    return tuple(message for unit in units for message in unit.messages)


@pytest.mark.requirement("P11")
@settings(max_examples=examples(60, 2000), deadline=None)
@given(working_histories(), squeezes, st.sampled_from(sorted(SUMMARISERS)))
def test_whatever_the_summariser_does_the_prompt_fits_and_the_last_turns_stay(
    entries: tuple[Entry, ...], squeeze: Squeeze, summariser: str
) -> None:
    before, budget = repr(entries), squeeze.budget(entries)
    whole = build_prompt(entries)

    fitted = fit(build_prompt(compacted(entries, budget, SUMMARISERS[summariser])), budget)

    assert prompt_tokens(fitted) <= budget
    if tail_tokens(whole) <= budget:
        assert last_messages(fitted) == last_messages(whole)
    assert repr(entries) == before


@pytest.mark.requirement("P11", "P12")
@settings(max_examples=examples(50, 1000), deadline=None)
@given(working_histories(), squeezes, st.sampled_from(sorted(SUMMARISERS)))
def test_a_pruned_condensed_and_fitted_prompt_is_one_that_every_provider_accepts(
    entries: tuple[Entry, ...], squeeze: Squeeze, summariser: str
) -> None:
    budget = squeeze.budget(entries)
    condensed = compacted(entries, budget, SUMMARISERS[summariser])
    asked = placed([*(entry.body for entry in condensed), said("go on")])
    cuts = prune(
        asked,
        Projection(),
        window=budget,
        idle_ms=None,
        settings=PruningSettings(trim_above=100, head=20, tail=20),
    )
    note = cut_note(Projection(), cuts, 9)
    shown = asked if note is None else placed([*(entry.body for entry in asked), note])
    fitted = fit(build_prompt(project(shown, projection_of(shown))), budget)
    assert prompt_tokens(fitted) <= budget
    assert violations(fitted) == ()


@settings(max_examples=examples(50, 1000), deadline=None)
@given(histories, st.integers(MIN_BUDGET, 600))
def test_any_history_fits_any_budget_and_fitting_again_changes_nothing(
    entries: tuple[Entry, ...], budget: int
) -> None:
    fitted = fit(build_prompt(entries), budget)
    assert prompt_tokens(fitted) <= budget
    assert fit(fitted, budget) is fitted


@pytest.mark.requirement("P11")
@settings(max_examples=examples(50, 1000), deadline=None)
@given(working_histories(), squeezes)
def test_a_plan_never_parts_a_call_from_its_result(entries: tuple[Entry, ...], squeeze: Squeeze) -> None:
    planned = plan(entries, squeeze.budget(entries), SETTINGS)
    if planned is None:
        return
    cut = next(place for place, entry in enumerate(entries) if entry.id == planned.first_kept_id)
    assert planned.summarised
    assert all(unit.last < cut for unit in planned.summarised)
    assert all(unit.first >= cut for unit in build_prompt(entries).units[len(planned.summarised) :])


@settings(max_examples=examples(50, 500), deadline=None)
@given(working_histories(), st.integers(0, 5_000))
def test_what_the_summariser_is_given_fits_its_own_window(entries: tuple[Entry, ...], tokens: int) -> None:
    planned = plan(entries, 2_000, SETTINGS)
    if planned is not None:
        assert estimate(conversation_text(planned, tokens)) <= tokens


@pytest.mark.requirement("P16")
@settings(max_examples=examples(80, 2000), deadline=None)
@given(
    st.lists(st.sampled_from(["[Hook event]", "[Sender: x]", "\\", ".", " ", "word", "\n"]), max_size=60),
    st.integers(0, 60),
)
def test_shortening_a_text_never_frees_a_broken_mark(pieces: list[str], tokens: int) -> None:
    shortened = truncate(defused("".join(pieces)), tokens)
    assert defused(shortened) == shortened


@pytest.mark.requirement("P11")
@settings(max_examples=examples(50, 1000), deadline=None)
@given(
    working_histories(), st.lists(st.integers(1, 400), min_size=1, max_size=4), squeezes, st.integers(0, 3)
)
def test_what_nobody_answered_yet_is_never_condensed(
    entries: tuple[Entry, ...], sizes: list[int], squeeze: Squeeze, turns: int
) -> None:
    unread = [said("word " * size) for size in sizes]
    asked = placed([*(entry.body for entry in entries), *unread])
    planned = plan(asked, squeeze.budget(asked), replace(SETTINGS, keep_turns=turns))
    if planned is not None:
        assert all(unit.last < len(entries) for unit in planned.summarised)
