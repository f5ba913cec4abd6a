"""How text becomes tokens, and what a query finds."""

import pytest

from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonValue
from roost.core.messages import (
    AssistantMessage,
    Body,
    Compaction,
    Image,
    Notice,
    Provenance,
    ProvenanceKind,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from roost.core.search import (
    INDEXED_CHARS,
    RECALLING,
    Query,
    index_text,
    matches,
    parse_query,
    searchable_text,
    segment,
    snippet,
)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", ""),
        ("  Hello,   World! ", "hello world"),
        ("foo_bar-baz.qux", "foo_bar baz qux"),
        ("tabs\tand\nlines\r\n", "tabs and lines"),
        ("a" + " " * 100 + "b", "a b"),
        ("v1.2 (2024)", "v1 2 2024"),
        ("Straße ÉCOLE", "strasse école"),
        ("ﬁne ＡＢＣ ①", "fine abc 1"),
        ("e\u0301cole", "école"),
        ("soft\u00adhyphen zero\u200bwidth", "softhyphen zero width"),
        ("हिन्दी भाषा", "हिन्दी भाषा"),
        ("I ❤\ufe0f tea 1\ufe0f\u20e3", "i tea 1"),
        ("a\u200d\u0301b", "áb"),
        ("\ud800x", "x"),
    ],
)
def test_words_are_folded_and_stand_one_space_apart(text: str, tokens: str) -> None:
    assert segment(text) == tokens


@pytest.mark.requirement("P26")
@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("我们讨论数据库。", "我 们 讨 论 数 据 库"),
        ("用SQL查询", "用 sql 查 询"),
        ("ひらがなカタカナー", "ひ ら か\u3099 な カ タ カ ナ ー".replace("か\u3099", "が")),
        ("한국어 검색", "한 국 어 검 색"),
        ("ｶﾀｶﾅ・テスト", "カ タ カ ナ テ ス ト"),
        ("𠮷野家", "𠮷 野 家"),
        ("人々〇", "人 々 〇"),
    ],
)
def test_each_cjk_character_is_a_token(text: str, tokens: str) -> None:
    assert segment(text) == tokens


@pytest.mark.parametrize("text", ["Two  Words!", " a_b\n\nc ", "Ünï 数据", ""])
def test_text_for_an_index_has_the_same_tokens(text: str) -> None:
    assert index_text(text).split() == segment(text).split()


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("Garden plan", (("garden",), ("plan",))),
        ('"garden plan" tea', (("garden", "plan"), ("tea",))),
        ("“garden plan”", (("garden", "plan"),)),
        ('tea "never closed', (("tea",), ("never", "closed"))),
        ("well-known", (("well", "known"),)),
        ("数据库", (("数", "据", "库"),)),
        ("用 sql查询", (("用",), ("sql", "查", "询"))),
        ("tea Tea TEA", (("tea",),)),
        ('"" ... tea', (("tea",),)),
    ],
)
def test_a_query_is_phrases_of_adjacent_tokens(text: str, phrases: tuple[tuple[str, ...], ...]) -> None:
    assert parse_query(text) == Query(phrases)


@pytest.mark.parametrize("text", ["", "   ", '""', "...!?"])
def test_a_query_without_a_word_is_refused_with_advice(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"no word in it .*letter or digit"):
        parse_query(text)


@pytest.mark.parametrize("phrases", [(), ((),), (("zebra",), ())])
def test_a_query_is_never_made_without_a_word(phrases: tuple[tuple[str, ...], ...]) -> None:
    with pytest.raises(InvalidInput, match="no word"):
        Query(phrases)


def test_a_query_of_too_many_words_is_refused_with_advice() -> None:
    assert len(parse_query(" ".join(f"w{number}" for number in range(64))).phrases) == 64
    with pytest.raises(InvalidInput, match=r"more than 64 words .*fewer"):
        parse_query(" ".join(f"w{number}" for number in range(65)))


@pytest.mark.requirement("P26")
@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        ("数据", "我们今天讨论数据库的性能", True),
        ("据数", "我们今天讨论数据库的性能", False),
        ("性能 数据库", "我们今天讨论数据库的性能", True),
        ("garden", "The Gardens", False),
        ("GARDEN", "my garden.", True),
        ("garden plan", "a plan for the garden", True),
        ('"garden plan"', "a plan for the garden", False),
        ('"garden plan"', "garden, plan", True),
        ("foo_bar", "foo_bar()", True),
        ("foo", "foo_bar()", False),
        ("well-known", "a well known fact", True),
    ],
)
def test_a_text_is_found_when_it_holds_every_phrase(query: str, text: str, found: bool) -> None:
    assert matches(parse_query(query), segment(text)) is found


@pytest.mark.parametrize(
    ("text", "query", "width", "shown"),
    [
        ("short\n text", "text", 40, "short text"),
        ("a " * 30 + "Needle" + " b" * 30, "needle", 20, "…a a a Needle b b b…"),
        ("needle" + " b" * 30, "needle", 20, "needle b b b b b b …"),
        ("a " * 30 + "needle", "needle", 20, "… a a a a a a needle"),
        ("main " * 20 + "in" + " b" * 30, "in", 12, "…ain in b b…"),
        ("天" * 30 + "数据" + "地" * 30, "数据", 10, "…天天天数据地地地…"),
        ("x " * 30 + "well, known", '"well known"', 15, "… x well, known"),
        ("ﬁne " + "x " * 30, "fine", 10, "ﬁne x x x…"),
    ],
)
def test_a_snippet_shows_the_first_phrase_in_its_surroundings(
    text: str, query: str, width: int, shown: str
) -> None:
    result = snippet(text, parse_query(query), width)
    assert len(result) <= width
    assert result == shown


PROVENANCE = Provenance(kind=ProvenanceKind.HUMAN)


@pytest.mark.requirement("P26")
@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            UserMessage(
                content=(Text("a"), Image(mime="m", data="d"), Text("b")), at=1, provenance=PROVENANCE
            ),
            "a\nb",
        ),
        (
            ToolResult(call_id="c", tool="t", content=(Text("output"),), at=1, details={"x": "hidden"}),
            "output",
        ),
        (
            AssistantMessage(
                content=(
                    Text("said"),
                    Thinking(thinking="hidden"),
                    ToolCall(id="c", name="t", arguments={"a": ["x", 1, None, {"b": "y"}], "c": "z"}),
                ),
                at=1,
            ),
            "said\nx\ny\nz",
        ),
        (Notice(kind="k", at=1, data={"a": "b"}), ""),
        (Compaction(summary="s", first_kept_id=None, tokens_before=1, at=1), ""),
    ],
)
def test_what_was_said_and_what_tools_got_and_gave_is_searchable(body: Body, text: str) -> None:
    assert searchable_text(body) == text


@pytest.mark.requirement("P26")
@pytest.mark.parametrize("tool", sorted(RECALLING))
def test_what_was_only_recalled_is_not_found_a_second_time(tool: str) -> None:
    call = ToolCall(id="c", name=tool, arguments={"query": "zebra"})
    assert searchable_text(AssistantMessage(content=(Text("Looking."), call), at=1)) == "Looking."
    assert searchable_text(AssistantMessage(content=(call,), at=1)) == ""
    assert searchable_text(ToolResult(call_id="c", tool=tool, content=(Text("zebra"),), at=1)) == ""


def test_only_the_beginning_of_a_large_entry_is_searchable() -> None:
    def found(*texts: str) -> str:
        return searchable_text(ToolResult(call_id="c", tool="t", content=tuple(map(Text, texts)), at=1))

    assert found("x" * (INDEXED_CHARS + 5)) == "x" * INDEXED_CHARS
    assert len(found(*["x" * 50_000] * 4)) == INDEXED_CHARS
    assert found("x" * INDEXED_CHARS, "y") == "x" * INDEXED_CHARS


def test_arguments_nested_without_end_are_searchable() -> None:
    deep: JsonValue = "bottom"
    for _ in range(5_000):
        deep = [deep]
    call = ToolCall(id="c", name="t", arguments={"a": deep})
    assert searchable_text(AssistantMessage(content=(call,), at=1)) == "bottom"
