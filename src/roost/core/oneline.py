"""Texts on one line, as lists and notices show them."""

from functools import lru_cache

from roost.core.redaction import SecretScanner, redact

PREVIEW_CHARS = 160
TITLE_CHARS = 60
# Parts of patterns. A line begins behind whatever ends one for who reads it, as `str.splitlines` knows them; blanks end none.
_ENDS = r"\n\v\f\r\x1c-\x1e\x85\u2028\u2029"
LINE_START, BLANKS = rf"(?<![^{_ENDS}])", rf"[^\S{_ENDS}]*+"


def preview(last_said: str, scanner: SecretScanner) -> str:
    """What was said last, on one short line."""
    return one_line(redact(last_said, scanner)[0], PREVIEW_CHARS)


def one_line(text: str, width: int) -> str:
    """The beginning of a text on one line of this width."""
    return shortened(" ".join(text.split()), width)


def shortened(line: str, width: int) -> str:
    """A line of at most this width, cut between words where that leaves enough of it."""
    return line if len(line) <= width else _cut(line[: width - 1], width)


# Lists show the same titles again and again.
@lru_cache(maxsize=4_096)
def _cut(head: str, width: int) -> str:
    word_end = head.rfind(" ")
    return f"{head[:word_end] if word_end > width // 2 else head}…"
