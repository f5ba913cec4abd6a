"""What an agent says, on the output."""

from roost.cli.speech import Speech, shows_steps
from roost.client import Answer, Delta, Figures, Thought, ToolStep


def said(text: str) -> Delta:
    return Delta(text=text, added=text)


def test_a_speech_goes_on_below_a_line_that_is_put_between() -> None:
    written: list[str] = []
    speech = Speech(written.append)
    for piece in (said("Once"), said("Once upon")):
        speech.show(piece)
    speech.line("a line")
    speech.show(Answer(text="Once upon a time"))
    speech.line("another")
    assert "".join(written) == "Once upon\na line\na time\nanother\n"


def test_what_was_whole_before_a_line_was_put_between_ends_without_another() -> None:
    written: list[str] = []
    speech = Speech(written.append)
    speech.show(Thought(text="hm"))
    speech.line("a line")
    speech.show(said("Once"))
    speech.line("another")
    speech.show(Answer(text="Once"))
    assert "".join(written) == "Reasoning:\nhm\na line\n\nOnce\nanother\n"


def test_a_tool_that_begins_or_fails_is_a_line_where_the_session_is_verbose() -> None:
    written: list[str] = []
    speech = Speech(written.append)
    speech.verbose = shows_steps({"verboseLevel": "full"})
    speech.show(said("Well"))
    for running, failed in ((True, False), (False, True), (False, False)):
        speech.show(ToolStep(name="exec", running=running, failed=failed))
    speech.verbose = shows_steps({"verboseLevel": None})
    speech.show(ToolStep(name="exec", running=True))
    assert "".join(written) == "Well\n· exec\n· exec failed\n"


def test_what_is_broken_off_is_not_gone_on_with() -> None:
    written: list[str] = []
    speech = Speech(written.append)
    speech.show(said("Once"))
    speech.break_off()
    speech.show(said("Once upon"))
    assert "".join(written) == "Once\nOnce upon"


def test_what_an_answer_took_stands_below_it_marked_where_nobody_counted() -> None:
    written: list[str] = []
    speech = Speech(written.append)
    speech.show(Answer(text="four", figures=Figures(tokens_in=1_200, tokens_out=3)))
    about = Figures(tokens_in=8, tokens_out=3, model="p/m", cost=0.005, estimated=True)
    speech.show(Answer(text="five", figures=about))
    assert "".join(written) == (
        "four\n\n[1.2k tokens in, 3 out]\nfive\n\n[p/m: ~8 tokens in, ~3 out, ~$0.0050]\n"
    )


def test_of_an_answer_nothing_is_shown_twice_because_something_leaked_into_it() -> None:
    written: list[str] = []
    speech = Speech(written.append)
    speech.show(said("Four.<|im_end|>"))
    speech.show(Answer(text="Four."))
    speech.show(said("Well.\n<think>2 + 2</think>\nIt is"))
    speech.show(Answer(text="Well.\n\nIt is 4."))
    assert "".join(written) == "Four.<|im_end|>\nWell.\n<think>2 + 2</think>\nIt is 4.\n"
