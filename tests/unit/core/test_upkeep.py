from dataclasses import replace
from datetime import UTC

import pytest

from roost.core.compaction import CompactionSettings
from roost.core.effects import ChangeSession, QueueRun, RequestStop
from roost.core.entries import Entry
from roost.core.errors import Conflict, InvalidInput
from roost.core.messages import Body, Compaction, Notice, ProvenanceKind
from roost.core.runs import Lane, Parked, Request, Run, RunKind
from roost.core.sessions import Counters, Overrides, Session, Summary
from roost.core.snapshots import RunSnapshot, Snapshot
from roost.core.tools import Place, WorkspaceAccess
from roost.core.upkeep import (
    ContextSettings,
    Load,
    Upkeep,
    compaction_request,
    condense,
    condensed_line,
    due,
    flush_note,
    flush_prompt,
    follow,
    may_flush,
    sized,
    unflushed,
)
from roost.testing import builders
from roost.testing.builders import CHAT, MAIN
from roost.testing.clock import NOON
from tests import samples
from tests.samples import BOB

FLUSH, COMPACTION = RunKind.FLUSH, RunKind.COMPACTION
ASIDE = replace(
    samples.queued(principal=BOB),
    ready_at=NOON + 1,
    parked=Parked(at=NOON, setting="budgets.perPerson.cost", reason="used up", personal=True),
)
EASY = Load(window=32_768, tokens=1_000, counted=True, chars=4_000, gains=True, unflushed=True)


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [(20_575, ()), (20_576, (FLUSH,)), (24_575, (FLUSH,)), (24_576, (FLUSH, COMPACTION))],
)
def test_notes_are_due_before_the_context_is_condensed(tokens: int, expected: tuple[RunKind, ...]) -> None:
    assert due(replace(EASY, tokens=tokens), ContextSettings()) == expected


def test_what_is_done_switched_off_or_of_no_use_is_not_due() -> None:
    full = replace(EASY, tokens=30_000)
    assert due(replace(full, unflushed=False), ContextSettings()) == (COMPACTION,)
    assert due(replace(full, gains=False), ContextSettings()) == (FLUSH,)
    assert due(full, ContextSettings(flushes=False, ahead=False)) == ()


def test_a_long_transcript_is_due_whatever_its_tokens() -> None:
    long = replace(EASY, chars=2 << 20)
    assert due(long, ContextSettings()) == (FLUSH,)
    assert due(replace(EASY, chars=9_000), ContextSettings(compact_from_chars=9_000)) == (FLUSH, COMPACTION)


def test_notes_are_saved_only_where_the_agent_can_write_and_not_of_a_look_around() -> None:
    place, session = Place(workspace="/w"), builders.session()
    assert may_flush(session, place, ("read", "write"))
    assert not may_flush(session, place, ("read",))
    assert not may_flush(session, replace(place, access=WorkspaceAccess.READ), ("write",))
    assert not may_flush(session, replace(place, access=WorkspaceAccess.NONE), ("write",))
    assert not may_flush(builders.session(MAIN.beat), place, ("write",))


def entries(*bodies: Body) -> tuple[Entry, ...]:
    return tuple(Entry(session_id="s", seq=n, id=f"e{n}", body=body) for n, body in enumerate(bodies, 1))


def test_notes_are_saved_once_until_the_next_compaction_and_given_up_after_three_failures() -> None:
    failed, saved = flush_note(1, "the disk is full"), flush_note(1)
    other = Notice(kind="custom", at=1, data={"customType": "other"})
    condensed = Compaction(summary="s", first_kept_id=None, tokens_before=1, at=2)
    assert unflushed(entries(other))
    assert unflushed(entries(failed, failed))
    assert not unflushed(entries(failed, failed, failed))
    assert not unflushed(entries(failed, saved))
    assert unflushed(entries(saved, condensed))


def test_the_agent_is_told_where_notes_go_and_how_to_be_silent() -> None:
    prompt = flush_prompt("memory/2025-06-15.md")
    assert "`memory/2025-06-15.md`" in prompt
    assert "NO_REPLY" in prompt


def snapshot(session: Session | None = None, *queued: Run) -> RunSnapshot:
    row = (session or builders.session())._replace(session_id="gen-1")
    run = builders.run("r1", request=Request(reply_to=CHAT, lane=Lane.CRON))
    return RunSnapshot(
        run=replace(run, session_id="gen-1"), session=Snapshot(key=MAIN, session=row, queued=queued)
    )


FULL = Upkeep(load=replace(EASY, tokens=30_000), settings=ContextSettings(), zone=UTC)


def queued(seen: RunSnapshot, upkeep: Upkeep = FULL) -> list[Run]:
    return [effect.run for effect in follow(seen, upkeep, NOON) if isinstance(effect, QueueRun)]


def test_what_is_due_is_queued_in_order_as_the_gateways_own_doing() -> None:
    flush, compaction = queued(snapshot())
    assert (flush.request.kind, compaction.request.kind) == (FLUSH, COMPACTION)
    assert "memory/2025-06-15.md" in (flush.request.prompt or "")
    assert {run.cause.kind for run in (flush, compaction)} == {ProvenanceKind.SYSTEM}
    assert {run.request.lane for run in (flush, compaction)} == {Lane.CRON}
    assert {run.request.reply_to for run in (flush, compaction)} == {None}


def test_the_chat_hears_of_it_where_a_person_or_the_configuration_says_so() -> None:
    loud = builders.session()._replace(overrides=Overrides(verbose="on"))
    assert queued(snapshot(loud))[1].request.reply_to == CHAT
    notifies = replace(FULL, settings=ContextSettings(notifies=True))
    assert queued(snapshot(), notifies)[1].request.reply_to == CHAT


def test_what_waits_already_is_not_queued_again() -> None:
    waiting = builders.run("c", request=compaction_request())
    assert [run.request.kind for run in queued(snapshot(None, waiting))] == [FLUSH]


def test_what_stands_aside_does_not_keep_the_others_context_from_being_seen_to() -> None:
    kinds = [run.request.kind for run in queued(snapshot(None, replace(ASIDE, request=compaction_request())))]
    assert kinds == [FLUSH, COMPACTION]


def test_nothing_follows_in_a_session_that_is_gone_reset_or_a_child() -> None:
    seen = snapshot()
    assert queued(snapshot(builders.session(parent=MAIN))) == []
    assert queued(replace(seen, session=replace(seen.session, session=None))) == []
    assert queued(replace(seen, run=replace(seen.run, session_id="gen-0"))) == []


def test_the_row_says_how_large_the_context_is_unless_it_says_so_already() -> None:
    estimated = replace(EASY, counted=False)
    (effect,) = sized(snapshot(), estimated)
    assert isinstance(effect, ChangeSession)
    assert effect.counters == Counters(context_window=32_768, total=1_000)
    known = builders.session()._replace(counters=Counters(context_window=32_768, total=7))
    assert sized(snapshot(known), EASY) == ()


def test_a_session_that_is_gone_or_reset_has_no_size() -> None:
    seen = snapshot()
    assert sized(replace(seen, session=replace(seen.session, session=None)), EASY) == ()
    assert sized(replace(seen, run=replace(seen.run, session_id="gen-0")), EASY) == ()


def test_a_person_is_told_how_much_smaller_the_context_is() -> None:
    condensed = Compaction(summary="s", first_kept_id=None, tokens_before=900, tokens_after=90, at=1)
    assert condensed_line(condensed, 1_000) == "Condensed: 900 → 90 tokens, 9 % of the window of 1000."
    assert "→ 0 tokens" in condensed_line(replace(condensed, tokens_after=None), 1_000)


def test_the_settings_reach_the_thresholds() -> None:
    small = ContextSettings(compaction=CompactionSettings(reserve=0, reserve_floor=0, flush_margin=0))
    assert due(replace(EASY, tokens=32_768), small) == (FLUSH, COMPACTION)


WISH = replace(builders.run("wish"), request=compaction_request())
BOBS_WISH = replace(WISH, cause=replace(WISH.cause, principal=BOB))
SPOKEN = Snapshot(key=MAIN, session=builders.session()._replace(summary=Summary(entries=1)))


def test_nothing_said_is_nothing_to_condense() -> None:
    for empty in (replace(SPOKEN, session=None), replace(SPOKEN, session=builders.session())):
        with pytest.raises(InvalidInput, match="nothing to condense"):
            condense(empty, WISH)


def test_one_wish_at_a_time() -> None:
    for waiting in (replace(SPOKEN, running=WISH), replace(SPOKEN, queued=(WISH,))):
        with pytest.raises(Conflict, match="already"):
            condense(waiting, WISH)


@pytest.mark.requirement("P20")
def test_a_wish_that_stands_aside_keeps_only_its_own_person_from_another() -> None:
    parked = replace(SPOKEN, queued=(replace(ASIDE, request=compaction_request()),))
    assert condense(parked, WISH).effects == (QueueRun(run=WISH),)
    with pytest.raises(Conflict, match="already"):
        condense(parked, BOBS_WISH)


@pytest.mark.requirement("P20")
def test_who_waits_for_their_budget_ends_nobodys_answer_and_is_told_that_the_wish_waits() -> None:
    wish = condense(replace(SPOKEN, running=builders.run("turn"), queued=(ASIDE,)), BOBS_WISH)
    assert (wish.effects, wish.ends) == ((QueueRun(run=BOBS_WISH),), ())
    assert "kept for its budget" in wish.words


def test_an_answer_under_way_ends_for_it_and_what_answers_nobody_is_waited_for() -> None:
    queued = QueueRun(run=WISH)
    assert condense(SPOKEN, WISH).effects == (queued,)
    turn = builders.run("turn")
    flush = replace(turn, request=Request(kind=FLUSH))
    after = condense(replace(SPOKEN, running=flush), WISH)
    assert (after.effects, after.ends) == ((queued,), ())
    stopping = condense(replace(SPOKEN, running=turn), WISH)
    assert stopping.ends == ("turn",)
    assert [type(effect) for effect in stopping.effects] == [RequestStop, QueueRun]
