import pytest

from roost.core.entries import Entry
from roost.core.errors import InvalidInput
from roost.core.fitting import (
    DROPPED,
    IMAGE_DROPPED,
    MIN_BUDGET,
    fit,
    prompt_tokens,
    unit_tokens,
)
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
    tool_calls,
)
from roost.core.transcript import OPENING, Prompt, build_prompt
from roost.testing.providers import violations

PICTURE = Image(mime="image/png", data="aGk=")


def user(text: str, *more: UserBlock) -> UserMessage:
    return UserMessage(content=(Text(text), *more), at=1, provenance=Provenance(kind=ProvenanceKind.HUMAN))


def answer(text: str) -> AssistantMessage:
    return AssistantMessage(content=(Text(text),), at=2)


def step(number: int, given: str, got: str, said: str = "") -> list[Body]:
    call = ToolCall(id=f"c{number}", name="read", arguments={"path": given})
    return [
        AssistantMessage(content=(Text(said), call), at=3),
        ToolResult(call_id=f"c{number}", tool="read", content=(Text(got),), at=4),
    ]


def words(count: int) -> str:
    return "word " * count


def prompt_of(*bodies: Body) -> Prompt:
    return build_prompt(
        [Entry(session_id="s", seq=n, id=f"e{n}", body=body) for n, body in enumerate(bodies)]
    )


def summary(text: str) -> Compaction:
    return Compaction(summary=text, first_kept_id=None, tokens_before=1, at=5)


def checked(prompt: Prompt, budget: int, keep_turns: int = 3) -> Prompt:
    """The fitted prompt, after what holds for every one of them was looked at."""
    fitted = fit(prompt, budget, keep_turns=keep_turns)
    assert prompt_tokens(fitted) <= budget
    ends_with_model = fitted.messages and isinstance(fitted.messages[-1], AssistantMessage)
    assert ends_with_model or violations(fitted) == ()
    return fitted


def texts(messages: tuple[Message, ...]) -> list[str]:
    return [text_of(message) for message in messages]


TAIL: list[Body] = [user("q1"), answer("a1"), user("q2"), answer("a2"), user("q3")]


def test_a_prompt_that_fits_is_returned_as_it_is() -> None:
    prompt = prompt_of(*TAIL)
    fitted = checked(prompt, prompt_tokens(prompt) + MIN_BUDGET)
    assert fitted is prompt


def test_a_budget_too_small_for_any_prompt_is_refused() -> None:
    with pytest.raises(InvalidInput, match="cannot fit 127 tokens"):
        fit(prompt_of(*TAIL), MIN_BUDGET - 1)


@pytest.mark.requirement("P11")
def test_payloads_of_old_turns_go_first_and_every_word_stays() -> None:
    old: list[Body] = [user("see", PICTURE), *step(1, words(200), words(300), "look"), *step(2, "p", "ok")]
    fitted = checked(prompt_of(*old, answer("fine"), *TAIL), 300)
    messages = fitted.messages
    assert texts(messages[:6]) == [f"see\n{IMAGE_DROPPED}", "look", DROPPED, "", "ok", "fine"]
    (call,) = tool_calls(messages[1])
    assert call.arguments == {"omitted": "1011 characters"}
    assert messages[6:] == prompt_of(*TAIL).messages


@pytest.mark.requirement("P11")
def test_then_the_oldest_messages_go_and_a_note_says_so() -> None:
    old: list[Body] = [user(words(300)), answer("long ago"), user("before"), answer("that")]
    fitted = checked(prompt_of(*old, *TAIL), MIN_BUDGET)
    assert texts(fitted.messages) == [
        OPENING,
        "long ago",
        "before",
        "that",
        "q1",
        "a1",
        "q2",
        "a2",
        "q3",
    ]


@pytest.mark.requirement("P11")
def test_a_summary_too_long_for_the_room_is_cut_before_the_last_turns_are_touched() -> None:
    prompt = prompt_of(summary(words(500)), *TAIL)
    fitted = checked(prompt, 150)
    (opening,) = fitted.preface
    assert text_of(opening).startswith("[Conversation summary]")
    assert text_of(opening).endswith("</summary>")
    assert fitted.messages[1:] == prompt_of(*TAIL).messages


def test_without_room_for_the_summary_a_note_stands_for_it_and_without_room_for_that_nothing() -> None:
    turns = [user(words(120)), *TAIL[1:]]
    prompt = prompt_of(summary(words(500)), *turns)
    alone = prompt_tokens(prompt_of(*turns))
    assert texts(checked(prompt, alone + 20).preface) == [OPENING]
    assert checked(prompt, alone + 2).preface == ()


def test_a_head_that_fits_behind_a_shortened_summary_is_kept_whole() -> None:
    prompt = prompt_of(summary(words(500)), user("q0"), answer("a0"), *TAIL)
    fitted = checked(prompt, 300)
    assert [unit.message for unit in fitted.units] == [unit.message for unit in prompt.units][2:]
    assert texts(fitted.preface)[-1] == OPENING


def test_what_stands_before_the_first_question_can_be_left_out() -> None:
    fitted = checked(prompt_of(answer(words(300)), user("q")), MIN_BUDGET)
    assert texts(fitted.messages) == [OPENING, "q"]


def test_what_is_not_answered_yet_is_shortened_and_never_left_out() -> None:
    unread = (user("first " + words(300)), user("then " + words(300)))
    fitted = checked(prompt_of(user("old"), answer("yes"), *unread), MIN_BUDGET, keep_turns=0)
    shown = texts(fitted.messages)[-2:]
    assert [text.split()[0] for text in shown] == ["first", "then"]


def test_what_tools_gave_since_the_last_answer_is_kept_with_what_it_was_asked_for() -> None:
    before = (user("old"), answer(words(300)))
    fitted = checked(prompt_of(*before, user("do it"), *step(1, "a", words(60))), 200, keep_turns=0)
    assert texts(fitted.messages)[-3:] == ["do it", "", words(60)]


def test_no_turn_need_be_kept() -> None:
    fitted = checked(prompt_of(user(words(300)), answer("yes")), MIN_BUDGET, keep_turns=0)
    assert texts(fitted.messages) == [OPENING, "yes"]


@pytest.mark.requirement("P11")
def test_a_turn_too_large_loses_its_older_payloads_and_keeps_the_newest() -> None:
    prompt = prompt_of(
        user("do it"), *step(1, "a", words(200)), *step(2, "b", words(150)), *step(3, "c", words(100))
    )
    fitted = checked(prompt, 250)
    assert texts(fitted.messages) == ["do it", "", DROPPED, "", DROPPED, "", words(100)]
    roomier = checked(prompt, 450).messages
    assert texts(roomier) == ["do it", "", DROPPED, "", words(150), "", words(100)]


@pytest.mark.requirement("P11")
def test_one_huge_message_is_shortened_and_its_neighbours_are_not() -> None:
    prompt = prompt_of(user("start"), answer("go on"), user("first " + words(5_000) + "last"))
    fitted = checked(prompt, 500)
    assert fitted.messages[:2] == prompt.messages[:2]
    cut = text_of(fitted.messages[2])
    assert cut.startswith("first word")
    assert cut.endswith("word last")
    assert prompt_tokens(fitted) > 480


def test_an_answer_too_large_loses_its_reasoning_then_words_and_arguments() -> None:
    call = ToolCall(id="c", name="write", arguments={"text": words(900)})
    talk = AssistantMessage(content=(Thinking(thinking=words(900)), Text(words(900)), call), at=2)
    silent = AssistantMessage(
        content=(Thinking(thinking=words(900)), ToolCall(id="d", name="x", arguments={})), at=2
    )
    fitted = checked(prompt_of(user(words(900)), talk, silent), 300)
    spoken, quiet = (unit.message for unit in fitted.units[1:])
    assert "cut here" in text_of(spoken)
    assert tool_calls(spoken)[0].arguments == {"omitted": "4511 characters"}
    assert quiet.content == (ToolCall(id="d", name="x", arguments={}),)


def test_pictures_in_a_turn_too_large_are_named_only() -> None:
    fitted = checked(prompt_of(user("see", PICTURE)), MIN_BUDGET)
    assert texts(fitted.messages) == [f"see\n{IMAGE_DROPPED}"]


@pytest.mark.requirement("P11")
def test_a_turn_of_too_many_steps_keeps_its_question_and_the_newest_steps() -> None:
    steps = [body for number in range(40) for body in step(number, words(50), words(50))]
    fitted = checked(prompt_of(user("the task"), *steps), 400)
    assert texts(fitted.preface) == [OPENING]
    kept = fitted.units
    assert text_of(kept[0].message) == "the task"
    assert 2 < len(kept) < 10
    assert [unit.first for unit in kept[1:]] == list(range(kept[1].first, 80, 2))


def test_steps_that_follow_a_summary_need_no_second_note() -> None:
    steps = [body for number in range(40) for body in step(number, words(50), words(50))]
    fitted = checked(prompt_of(summary("short"), *steps), 400)
    assert len(fitted.preface) == 1
    assert "short" in text_of(fitted.preface[0])
    assert fitted.units[-1].first == 79


def test_a_step_that_cannot_be_made_small_enough_leaves_the_question_alone() -> None:
    calls = tuple(ToolCall(id=f"c{n}", name="read", arguments={}) for n in range(50))
    fitted = checked(prompt_of(user("the task"), AssistantMessage(content=calls, at=2)), 200)
    assert texts(fitted.messages) == [OPENING, "the task"]
    alone = checked(prompt_of(AssistantMessage(content=calls, at=2)), 200)
    assert texts(alone.messages) == [OPENING]


def test_the_newest_question_is_not_counted_twice() -> None:
    many = [body for n in range(60) for body in (user(f"q{n}"), answer("a"))]
    fitted = checked(prompt_of(*many[:-1]), MIN_BUDGET, keep_turns=60)
    assert text_of(fitted.messages[-1]) == "q59"
    assert sum(unit_tokens(unit) for unit in fitted.units) > MIN_BUDGET // 2
