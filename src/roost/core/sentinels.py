"""The words a model answers to say nothing, and how they are recognised.

The two SKIP words count only as the exact text of a reply. The other two are forgiven their case and the
punctuation around them, but only while nothing else is said. Behind other text a word merely falls away.
"""

import re
import unicodedata
from enum import StrEnum


class Sentinel(StrEnum):
    REPLY_SKIP = "REPLY_SKIP"
    ANNOUNCE_SKIP = "ANNOUNCE_SKIP"
    NO_REPLY = "NO_REPLY"
    HEARTBEAT_OK = "HEARTBEAT_OK"


_EXACT = (Sentinel.REPLY_SKIP, Sentinel.ANNOUNCE_SKIP)
_LAST_WORD = re.compile(rf"(?:^|(?<=\s))(?:{'|'.join(Sentinel)})\Z")
_LAST_LETTERS = frozenset(word[-1] for word in Sentinel)
_BEGINNINGS = frozenset(word[:end] for word in Sentinel for end in range(len(word) + 1))
_REACH = max(map(len, Sentinel)) + 1
_LONGEST = 64  # what is longer says something else, if only by its punctuation


def sentinel_of(text: str) -> Sentinel | None:
    """Which sentinel this text is as a whole, if any."""
    exact = text.strip()
    if len(exact) > _LONGEST:
        return None
    tolerant = _bare(exact).upper()
    return next((s for s in Sentinel if s == (exact if s in _EXACT else tolerant)), None)


def is_silent(text: str) -> bool:
    """Whether this text asks for silence. Empty text does not: it is merely empty."""
    return sentinel_of(text) is not None


def strip_trailing(text: str) -> str:
    """The text without the sentinels that end it; a text that ends otherwise comes back unchanged."""
    kept = len(text)
    end = _unspaced(text, kept)
    if text[end - 1 : end] not in _LAST_LETTERS:
        return text
    while word := _LAST_WORD.search(text, max(0, end - _REACH), end):
        kept = end = _unspaced(text, word.start())
    return text[:kept]


def could_become_silent(prefix: str) -> bool:
    """Whether more text could still make this a sentinel: what a stream holds back instead of showing."""
    if len(prefix.strip()) > _LONGEST:
        return False
    if is_silent(prefix):
        return True
    exact, tolerant = prefix.lstrip(), prefix[_edge(prefix) :].upper()
    return any(s.startswith(exact if s in _EXACT else tolerant) for s in Sentinel)


def held_from(text: str) -> int:
    """Where the end begins of a text that goes on which could still fall away as a sentinel, the space before it
    included; its length if there is no such end. Only words behind space are looked at."""
    start = len(text)
    while start > max(0, len(text) - _REACH) and not text[start - 1].isspace():
        start -= 1
    if not start or not text[start - 1].isspace() or text[start:] not in _BEGINNINGS:
        return len(text)
    held = start - 1
    while word := _LAST_WORD.search(text, max(0, (end := _unspaced(text, held)) - _REACH), end):
        held = max(word.start() - 1, 0)
    return held


def _unspaced(text: str, end: int) -> int:
    """Where the text before `end` ends, space behind it left out."""
    while end and text[end - 1].isspace():
        end -= 1
    return end


def _bare(text: str) -> str:
    """The text without what may surround a word: space, punctuation and markup."""
    start = _edge(text)
    return text[start : len(text) - _edge(text[:start:-1])]


def _edge(characters: str) -> int:
    """How many characters from the start surround a word."""
    for index, character in enumerate(characters):
        if not (character.isspace() or character in "`~" or unicodedata.category(character)[0] == "P"):
            return index
    return len(characters)
