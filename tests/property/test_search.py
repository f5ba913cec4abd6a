"""The laws of search: one form for every text, and nothing that is there is missed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.search import Query, index_text, matches, parse_query, segment, snippet
from tests.scale import examples

HARD = 'aB_9 éßﬁÅ\u0301\u0327\u0345\u200d\u200b\u00ad\ufe0fİıſΣς數数据がカﾞー한ㅎ\u1112\u1161हि्, -"“\n❤①Ⅷǰᾳ'
texts = st.text() | st.text(alphabet=HARD)
han = st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF)


@settings(max_examples=examples(100, 5_000), deadline=None)
@given(texts)
def test_segmenting_twice_is_segmenting_once(text: str) -> None:
    once = segment(text)
    assert segment(once) == once
    assert "  " not in once
    assert once == once.strip()


@settings(max_examples=examples(80, 3_000), deadline=None)
@given(texts)
def test_the_text_for_an_index_has_the_tokens_of_the_text(text: str) -> None:
    assert index_text(text).split() == segment(text).split()


@settings(max_examples=examples(80, 3_000), deadline=None)
@given(texts, st.data())
def test_any_run_of_whole_tokens_finds_its_text(text: str, data: st.DataObject) -> None:
    tokens = segment(text).split()
    if tokens:
        start = data.draw(st.integers(0, len(tokens) - 1))
        end = data.draw(st.integers(start + 1, min(len(tokens), start + 20)))
        query = parse_query(f'"{" ".join(tokens[start:end])}"')
        assert query == Query((tuple(tokens[start:end]),))
        assert matches(query, segment(text))


@pytest.mark.requirement("P26")
@settings(max_examples=examples(80, 3_000), deadline=None)
@given(
    st.text(alphabet=han | st.sampled_from("ab ，。")),
    st.text(alphabet=han, min_size=2, max_size=2),
    st.text(alphabet=han),
)
def test_a_word_of_two_characters_is_found_inside_prose(before: str, word: str, after: str) -> None:
    assert matches(parse_query(word), segment(before + word + after))


@settings(max_examples=examples(80, 3_000), deadline=None)
@given(texts, st.text(min_size=1), st.integers(3, 200))
def test_a_snippet_is_one_line_no_longer_than_asked_for(text: str, word: str, width: int) -> None:
    query = Query(((word,),))
    shown = snippet(text, query, width)
    assert len(shown) <= width
    assert "\n" not in shown
