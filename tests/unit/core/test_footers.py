import pytest

from roost.core.footers import UsageLevel, figures, framed, reasoning_of, usage_level
from roost.core.ledger import Counted
from roost.core.messages import AssistantMessage, Text, Thinking, Usage
from roost.core.sessions import Overrides

WORDS = AssistantMessage(
    content=(Thinking(thinking=" two and two "), Thinking(thinking=""), Text("four")),
    at=1,
    provider="p",
    model="m",
    usage=Usage(input=1_200, output=3, cost_micros=5_000),
)


@pytest.mark.parametrize(
    ("overrides", "sent"),
    [
        (Overrides(), "four"),
        (Overrides(usage="off", reasoning="off"), "four"),
        (Overrides(usage="tokens"), "four\n\n[1.2k tokens in, 3 out]"),
        (Overrides(usage="on"), "four\n\n[1.2k tokens in, 3 out]"),
        (Overrides(usage="full"), "four\n\n[p/m: 1.2k tokens in, 3 out, $0.0050]"),
        (Overrides(reasoning="on"), "Reasoning:\ntwo and two\n\nfour"),
        (Overrides(reasoning="stream"), "Reasoning:\ntwo and two\n\nfour"),
        (Overrides(usage="nonsense"), "four"),
    ],
)
def test_an_answer_is_framed_as_the_session_wants_it(overrides: Overrides, sent: str) -> None:
    assert framed("four", WORDS, Counted(WORDS.usage), overrides) == sent


def test_words_without_thoughts_or_a_message_stand_as_they_are() -> None:
    plain = AssistantMessage(content=(Text("four"),), at=1, provider="p", model="m")
    assert framed("four", plain, Counted(), Overrides(reasoning="on")) == "four"
    assert framed("four", None, Counted(), Overrides(reasoning="on", usage="full")) == "four"


def test_figures_that_nobody_counted_are_marked() -> None:
    about = Counted(WORDS.usage, estimated=True)
    assert framed("four", WORDS, about, Overrides(usage="tokens")) == "four\n\n[~1.2k tokens in, ~3 out]"
    assert figures(about, "p/m") == "[p/m: ~1.2k tokens in, ~3 out, ~$0.0050]"


def test_levels_are_read_whatever_the_case() -> None:
    assert [UsageLevel.parse(word) for word in ("FULL", " on ", "x")] == [
        UsageLevel.FULL,
        UsageLevel.TOKENS,
        None,
    ]


def test_what_was_thought_is_told_only_where_the_session_shows_it() -> None:
    shown = [reasoning_of(WORDS, Overrides(reasoning=level)) for level in (None, "off", "on", "stream")]
    assert shown == ["", "", "two and two", "two and two"]


def test_figures_name_the_cost_with_the_model_only() -> None:
    assert figures(Counted(WORDS.usage)) == "[1.2k tokens in, 3 out]"
    assert figures(Counted(WORDS.usage), "p/m") == "[p/m: 1.2k tokens in, 3 out, $0.0050]"
    assert [usage_level(Overrides(usage=word)) for word in (None, "on", "nonsense")] == [
        UsageLevel.OFF,
        UsageLevel.TOKENS,
        UsageLevel.OFF,
    ]
