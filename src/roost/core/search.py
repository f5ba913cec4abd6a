"""Full-text search, the same for every store: how text becomes tokens, and what a query means.

A store indexes `segment(searchable_text(body))` with a tokenizer that only splits at spaces, and finds what
`matches` accepts. Ranking and index syntax are the store's.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from roost.core import toolnames
from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonValue
from roost.core.messages import (
    AssistantMessage,
    Body,
    Compaction,
    Notice,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    lone_text,
)

_UNSPOKEN = (Compaction, Notice)
INDEXED_CHARS = 65_536
"""How much of one entry is searchable, in characters."""

LONGEST_QUERY = 4_096
QUERY_TOKENS = 64

RECALLING = frozenset({toolnames.SESSIONS_LIST, toolnames.SESSIONS_HISTORY, toolnames.SESSIONS_SEARCH})
"""Tools that repeat what is stored elsewhere; if that were found too, every search would find the ones before it."""

_ASCII_TABLE = bytes(
    ord(char.lower()) if (char := chr(byte)).isalnum() or char == "_" else ord(" ") for byte in range(128)
).ljust(256)

# Han, Hiragana, Katakana and Hangul after NFKC, which has folded compatibility forms into these.
_CJK = (
    (0x1100, 0x11FF),
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3038, 0x303B),
    (0x3041, 0x309F),
    (0x30A1, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FB),
    (0xF900, 0xFAFF),
    (0x1AFF0, 0x1B16F),
    (0x20000, 0x3FFFD),
)


@dataclass(frozen=True, slots=True)
class Query:
    """What must be in a text: every phrase, each a run of adjacent tokens."""

    phrases: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if not self.phrases or not all(self.phrases):
            raise InvalidInput("the search text has no word in it", hint="give at least one letter or digit")


def segment(text: str) -> str:
    """The tokens of a text, one space between two: words in folded form, each CJK character alone."""
    if text.isascii():
        words = text.encode().translate(_ASCII_TABLE)
        while b"  " in words:  # halves every run of spaces; three times faster than split and join
            words = words.replace(b"  ", b" ")
        return words.strip().decode()
    tokens = " ".join(_fold(text).translate(_Separators()).split())
    return unicodedata.normalize("NFKC", tokens)  # what a dropped joiner held apart may compose now


def index_text(text: str) -> str:
    """The same tokens in the same order, with spaces enough between them: quicker, for what splits at spaces."""
    if text.isascii():
        return text.encode().translate(_ASCII_TABLE).decode()
    return segment(text)


def parse_query(text: str) -> Query:
    """A query as people type it: words, `"quoted phrases"`, and CJK text as phrases of its characters."""
    chunks = (
        chunk
        for index, part in enumerate(re.split('["“”„]', text))
        for chunk in ((part,) if index % 2 else part.split())
    )
    phrases = tuple(dict.fromkeys(tuple(tokens) for chunk in chunks if (tokens := segment(chunk).split())))
    if sum(map(len, phrases)) > QUERY_TOKENS:
        raise InvalidInput(
            f"the search text has more than {QUERY_TOKENS} words", hint="search for fewer words"
        )
    return Query(phrases)


def matches(query: Query, segmented: str) -> bool:
    """Whether a segmented text holds every phrase of a query: what every store must agree with."""
    padded = f" {segmented} "
    return all(f" {' '.join(phrase)} " in padded for phrase in query.phrases)


def snippet(text: str, query: Query, width: int) -> str:
    """At most `width` characters of a text on one line, around the first phrase of the query it shows."""
    line = " ".join(text.split())
    if len(line) <= width:
        return line
    found = next((span for phrase in query.phrases if (span := _locate(phrase, line))), None)
    middle = sum(found.span()) // 2 if found else 0
    start = min(max(0, middle - width // 2), len(line) - width)
    head = "…" if start else ""
    tail = "…" if start + width < len(line) else ""
    return f"{head}{line[start + len(head) : start + width - len(tail)]}{tail}"


def searchable_text(body: Body) -> str:
    """What of an entry can be found: what was said, what tools were given and what they answered."""
    if isinstance(body, _UNSPOKEN) or (isinstance(body, ToolResult) and body.tool in RECALLING):
        return ""
    if (alone := lone_text(body)) is not None:
        return alone[:INDEXED_CHARS]
    kept: list[str] = []
    room = INDEXED_CHARS
    for piece in _pieces(body):
        kept.append(piece[:room])
        room -= len(piece) + 1
        if room <= 0:
            break
    return "\n".join(kept)


class _Separators(dict[int, str | None]):
    """What each character becomes between tokens, worked out for the characters a text really has."""

    def __missing__(self, code: int) -> str | None:
        self[code] = result = _separated(code)
        return result


@lru_cache(maxsize=8_192)
def _separated(code: int) -> str | None:
    character = chr(code)
    category = unicodedata.category(character)
    if 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF:  # variation selectors
        return None
    if category in {"Me", "Cf"} and code != 0x200B:  # joiners and soft hyphens; only U+200B parts words
        return None
    if character.isalnum() or character == "_" or category in {"Mn", "Mc"}:  # vowel signs belong to words
        return f" {character} " if any(first <= code <= last for first, last in _CJK) else character
    return " "


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def _locate(phrase: tuple[str, ...], line: str) -> re.Match[str] | None:
    words = r"\W*".join(map(re.escape, phrase))
    return re.search(rf"\b{words}\b", line, re.IGNORECASE) or re.search(words, line, re.IGNORECASE)


def _pieces(body: UserMessage | AssistantMessage | ToolResult) -> Iterator[str]:
    for block in body.content:
        if isinstance(block, Text):
            yield block.text
        elif isinstance(block, ToolCall) and block.name not in RECALLING:
            yield from _strings(block.arguments)


def _strings(value: JsonValue) -> Iterator[str]:
    """Every string in a JSON value in reading order, names of fields left out; without recursion."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case Mapping() as fields:
                waiting.extend(reversed(list(fields.values())))
            case Sequence() as items:
                waiting.extend(reversed(items))
