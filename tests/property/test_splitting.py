"""The laws of splitting: nothing is lost, nothing is too long, code is whole in every part."""

from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from roost.core.codespans import fences
from roost.core.splitting import split
from tests.scale import examples

LIMIT = examples(80, 5_000)
PIECES = st.sampled_from(
    [
        "a", "bb", "word ", " ", "\n", "\n\n", "\r\n", ". ", "! ", "。", "e\u0301", "👩\u200d💻", "🇩🇪", "\ud83d", "\ude00",
        "`", "``", "\n```\n", "\n```py\n", "\n````\n", "\n~~~\n", "\n> ```\n", "\n- ```sh\n", "\n``` not closing\n",
        "x" * 30, "word " * 10, "line\n" * 8,
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=200)
LINES = st.text(alphabet="ab .。\u0301", max_size=60)
CLEAN_TEXTS = st.lists(
    LINES
    | st.builds(
        "```{}\n{}\n```".format, st.sampled_from(["", "py", "sh x"]), LINES.map(lambda x: f"{x}\n{x}")
    ),
    max_size=12,
).map("\n".join)


@settings(deadline=None, max_examples=LIMIT)
@given(text=TEXTS, longest=st.integers(1, 120))
@example(text="```\n```````````````\nx", longest=16)
def test_the_bodies_of_the_parts_are_the_text(text: str, longest: int) -> None:
    parts = split(text, longest)
    assert "".join(part.body for part in parts) == text
    assert all(part.body for part in parts)


@settings(deadline=None, max_examples=LIMIT)
@given(text=TEXTS, longest=st.integers(1, 120))
def test_no_part_is_longer_than_the_channel_takes(text: str, longest: int) -> None:
    assert all(len(part.text) <= longest for part in split(text, longest))


@settings(deadline=None, max_examples=LIMIT)
@given(text=TEXTS, longest=st.integers(1, 120))
def test_only_lines_of_fences_are_added_and_always_in_pairs(text: str, longest: int) -> None:
    parts = split(text, longest)
    for part, following in pairwise(parts):
        assert bool(part.tail) == bool(following.head)
        assert part.tail.strip("> \n`~\t") == ""
        assert following.head.count("\n") == bool(following.head)
    assert not parts or (parts[0].head, parts[-1].tail) == ("", "")


@settings(deadline=None, max_examples=LIMIT)
@given(text=CLEAN_TEXTS, longest=st.integers(32, 120))
def test_code_is_closed_in_every_part_and_stays_code(text: str, longest: int) -> None:
    parts = split(text, longest)
    blocks = [fence for part in parts for fence in fences(part.text)]
    assert all(fence.end > fence.outside for fence in blocks)
    reopened = sum(1 for part in parts if part.head)
    assert len(blocks) == len(list(fences(text))) + reopened


@settings(deadline=None, max_examples=LIMIT)
@given(
    words=st.lists(st.text(alphabet="abc", min_size=1, max_size=20), max_size=60), longest=st.integers(21, 60)
)
def test_no_word_is_cut_that_fits_a_part(words: list[str], longest: int) -> None:
    parts = split(" ".join(words), longest)
    assert [word for part in parts for word in part.body.split()] == words


@settings(deadline=None, max_examples=LIMIT)
@given(
    clusters=st.lists(
        st.sampled_from(["a", "e\u0301", "👩\u200d💻", "🇩🇪", "👍🏽", "\ud83d\ude00"]), max_size=60
    ),
    longest=st.integers(3, 12),
)
def test_what_is_seen_as_one_character_is_never_cut(clusters: list[str], longest: int) -> None:
    ends = {0}
    for cluster in clusters:
        ends.add(max(ends) + len(cluster))
    at = 0
    for part in split("".join(clusters), longest):
        at += len(part.body)
        assert at in ends
