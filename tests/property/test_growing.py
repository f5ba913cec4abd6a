"""The laws of a text that is shown while it grows."""

from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.growing import Growing, Growth
from roost.core.redaction import redact
from roost.scanners.stdlib import StdlibScanner
from tests.credentials import bare, in_context, mixed
from tests.scale import examples

SCANNER = StdlibScanner()
PIECES = st.sampled_from(
    [
        "a", "word ", " ", "\n", ", ", ".", '"', "\u4f60\u597d\u3002", "\ud83d", "\U0001f469", "--password ", "is: ", "x" * 900, "-" * 5_000,
        "line of it\n" * 90, mixed(30), *bare().values(), *(planted.text for planted in in_context()),
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=30).map("".join)


@settings(deadline=None, max_examples=examples(40, 2_000))
@given(text=TEXTS, steps=st.lists(st.integers(1, 3_000), min_size=1, max_size=20))
def test_who_follows_what_is_added_has_in_the_end_what_the_whole_text_shows(
    text: str, steps: list[int]
) -> None:
    growing, view, start, turn = Growing(SCANNER), "", 0, 0
    while start < len(text):
        growth = growing.add(text[start : start + steps[turn % len(steps)]])
        start, turn = start + steps[turn % len(steps)], turn + 1
        view = _after(view, growth)
        assert view == growing.shown
    assert _after(view, growing.end()) == redact(text, SCANNER)[0]


def _after(view: str, growth: Growth | None) -> str:
    if growth is None:
        return view
    return growth.added if growth.replaces else view + growth.added
