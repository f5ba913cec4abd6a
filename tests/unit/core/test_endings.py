from dataclasses import replace

import pytest

from roost.core.endings import ABANDONED, Ending, completes, continuation, continuations, gone_on
from roost.core.notices import derived_id
from roost.core.runs import Lane, Outcome, Request, RunKind, RunState
from tests import samples

YIELDED = Outcome(state=RunState.DONE, at=1, yielded=True)
PAUSED = replace(samples.run(), state=RunState.DONE, outcome=YIELDED)


def said(reply: str | None, state: RunState = RunState.DONE) -> str | None:
    return Ending(outcome=Outcome(state=state, at=1), announce=lambda _, __: "", reply=reply).said


@pytest.mark.requirement("D17", "D18")
@pytest.mark.parametrize(
    "reply", [None, "", " \n", "REPLY_SKIP", " ANNOUNCE_SKIP\n", "no_reply", "NO_REPLY."]
)
def test_nothing_and_every_sentinel_say_nothing(reply: str | None) -> None:
    assert said(reply) is None


@pytest.mark.requirement("D17", "D18")
@pytest.mark.parametrize("reply", ["x", "announce_skip", "REPLY_SKIP please"])
def test_any_other_text_is_said(reply: str) -> None:
    assert said(f" {reply}\n") == reply


def test_a_sentinel_behind_what_is_said_falls_away() -> None:
    assert said("Done.\nNO_REPLY") == "Done."
    assert said("NO_REPLY NO_REPLY") is None


@pytest.mark.requirement("D56", "P16")
@pytest.mark.parametrize(
    ("reply", "left"),
    [
        ("<think>hm</think>Three.", "Three."),
        ('Three.\n<tool_call>{"name": "exec"}</tool_call>', "Three."),
        ("<|assistant|>Three.", "Three."),
        ("Write:\n```\n<think>hm</think>\n```", "Write:\n```\n<think>hm</think>\n```"),
        ("<think>hm</think>", None),
        ("<think>hm</think>NO_REPLY", None),
    ],
)
def test_what_leaked_into_an_answer_is_not_said(reply: str, left: str | None) -> None:
    assert said(reply) == left


def test_last_words_are_without_leaks_and_a_word_that_asks_for_silence_is_one_of_them() -> None:
    def last(reply: str | None) -> str:
        outcome = Outcome(state=RunState.TIMEOUT, at=1)
        return Ending(outcome=outcome, announce=lambda _, __: "", reply=reply).last_words

    assert last("<think>hm</think>\nANNOUNCE_SKIP ") == "ANNOUNCE_SKIP"
    assert last("half an answer\nNO_REPLY") == "half an answer\nNO_REPLY"
    assert last(None) == ""


@pytest.mark.parametrize("state", [RunState.FAILED, RunState.KILLED, RunState.TIMEOUT, RunState.INTERRUPTED])
def test_a_run_that_did_not_end_well_says_nothing(state: RunState) -> None:
    assert said("half a sentence", state) is None


@pytest.mark.requirement("D63", "P7")
def test_what_goes_on_after_a_yield_answers_the_same_people_in_the_same_place() -> None:
    asked = Request(
        lane=Lane.NESTED, reply_to=samples.CHAT, exchange_id="x1", deadline=9, model="m", prompt="p"
    )
    run = samples.run(request=asked)
    after = continuation(run)
    assert after == replace(asked, kind=RunKind.CONTINUATION, prompt=None, completes="r1")
    assert completes(samples.run("r2", request=after)) == "r1"


@pytest.mark.requirement("D21")
def test_what_goes_on_after_a_yield_has_the_rest_of_the_time() -> None:
    run = replace(samples.run(request=Request(deadline=90, longest_ms=20)), started_at=50)
    after = continuation(run)
    assert (after.deadline, after.longest_ms) == (70, None)
    again = continuation(replace(samples.run("r2", request=after), started_at=65))
    assert (again.deadline, again.longest_ms) == (70, None)


def test_a_run_that_yielded_is_gone_on_with_by_one_of_few() -> None:
    assert derived_id("continuation", "r1") in continuations("r1")
    assert derived_id("after", "r1", "0") in continuations("r1")


def test_a_run_that_yielded_stands_in_the_one_that_goes_on() -> None:
    other, next_run = samples.run("r2"), samples.run("r3", request=continuation(PAUSED))
    assert gone_on(PAUSED, YIELDED, [None, other, next_run], owed=True) == next_run


def test_a_run_that_yielded_is_at_work_while_a_child_is() -> None:
    at_work = gone_on(PAUSED, YIELDED, [None, samples.run("r2")], owed=True)
    assert (at_work.id, at_work.state, at_work.outcome) == (PAUSED.id, RunState.RUNNING, None)


def test_a_run_that_yielded_and_is_not_gone_on_with_was_stopped() -> None:
    left = gone_on(PAUSED, YIELDED, [], owed=False)
    told = Outcome(state=RunState.KILLED, at=1, error=ABANDONED, code="stopped")
    assert (left.state, left.outcome) == (RunState.KILLED, told)
