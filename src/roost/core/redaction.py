"""Masking of secrets in text: what a scanner is, what a mask looks like, and how both are applied.

Which texts are secrets is `core.credentials`; the scanners that look for them are adapters.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from json import dumps
from typing import Protocol
from urllib.parse import quote

SHORT = 18
"""Secrets shorter than this show nothing of themselves."""

SHORTEST_EXACT = 6
SHORTEST_COVERED = 12
"""Configured values shorter than this would mask ordinary words, so they are not looked for."""

NOTHING = "***"
_ELLIPSIS = "…"
_HEAD, _TAIL = 6, 4
_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Span:
    """A secret found in a text, and the rule that found it."""

    start: int
    end: int
    rule: str


class SecretScanner(Protocol):
    """Finds credentials in text.

    Every implementation finds exactly the spans that `core.credentials.RULES` describe: scanning from the
    left, the match that starts first counts, then the earlier rule; scanning goes on behind the match, or at
    its secret where the rule's check refused it. Time is linear in the text, whatever the text. What is found in a
    line is there also when other lines stand around it.
    """

    def find(self, text: str) -> Sequence[Span]:
        """The secrets of a text in order, none overlapping; positions count characters."""
        ...


def mask(secret: str) -> str:
    """What is shown instead of a secret. A mask is its own mask."""
    if len(secret) == _HEAD + 1 + _TAIL and secret[_HEAD] == _ELLIPSIS:
        return secret
    return NOTHING if len(secret) < SHORT else f"{secret[:_HEAD]}{_ELLIPSIS}{secret[-_TAIL:]}"


def redact(text: str, scanner: SecretScanner) -> tuple[str, bool]:
    """The text with its secrets masked, and whether that changed it. Redacting again changes nothing.

    Masking one secret can leave another standing free beside it, hence the rounds.
    """
    redacted = text
    for _ in range(_ROUNDS):
        spans = scanner.find(redacted)
        masked = _masked(redacted, spans) if spans else redacted
        if masked == redacted:
            break
        redacted = masked
    return redacted, redacted != text


def redact_all(texts: Sequence[str], scanner: SecretScanner) -> Sequence[str]:
    """Each text with its secrets masked."""
    if not scanner.find("\n".join(texts)):
        return texts
    swept = Prescanned(texts, scanner)
    return [redact(text, swept)[0] for text in texts]


class Prescanned:
    """A scanner that has looked through many texts at once, and looks again only at those where it found something.

    One look at a long text costs a fraction of many at short ones, and most texts have no secret.
    """

    def __init__(self, texts: Sequence[str], around: SecretScanner) -> None:
        spans = around.find("\n".join(texts))
        self._clean = frozenset(_untouched(texts, spans) if spans else texts)
        self._around = around

    def find(self, text: str) -> Sequence[Span]:
        return () if text in self._clean else self._around.find(text)


def _untouched(texts: Iterable[str], spans: Sequence[Span]) -> Iterator[str]:
    """The texts, which stand one behind the other with a line break between, that no span reaches into."""
    start = reached = 0
    for text in texts:
        end = start + len(text)
        while reached < len(spans) and spans[reached].end <= start:
            reached += 1
        if reached == len(spans) or spans[reached].start >= end:
            yield text
        start = end + 1


def _masked(text: str, spans: Sequence[Span]) -> str:
    pieces: list[str] = []
    done = 0
    for span in spans:
        if not _begins_a_mask(text, span):
            pieces += (text[done : span.start], mask(text[span.start : span.end]))
            done = span.end
    return "".join(pieces) + text[done:]


def _begins_a_mask(text: str, span: Span) -> bool:
    """Whether this is what a mask shows of its secret; few patterns take in the ellipsis behind it."""
    return span.end - span.start <= _HEAD and text.startswith(_ELLIPSIS, span.end)


class ExactValues:
    """A scanner that also finds given values, as they are and as JSON or a URL would spell them."""

    def __init__(self, values: Iterable[str], around: SecretScanner) -> None:
        spelled = (spelling for value in values for spelling in spellings(value))
        self._values = tuple(dict.fromkeys(text for text in spelled if len(text) >= SHORTEST_EXACT))
        self._around = around

    def find(self, text: str) -> Sequence[Span]:
        exact = [span for value in self._values for span in _occurrences(value, text)]
        found = self._around.find(text)
        return _merged(sorted([*exact, *found], key=lambda span: span.start)) if exact else found


def covered(text: bytes, hidden: Iterable[bytes]) -> bytes:
    """A text in which given values are covered and nothing else is touched; it is as long as it was."""
    for value in hidden:
        if value in text:
            text = text.replace(value, b"*" * len(value))
    return text


def to_cover(values: Iterable[str]) -> tuple[bytes, ...]:
    """The values that can be covered in any text: a short one may be part of a word that has to stay."""
    spelled = (spelling for value in values for spelling in spellings(value))
    return tuple(dict.fromkeys(text.encode() for text in spelled if len(text) >= SHORTEST_COVERED))


def spellings(value: str) -> tuple[str, ...]:
    """A value as it is, and as JSON or a URL would spell it."""
    return value, dumps(value)[1:-1], dumps(value, ensure_ascii=False)[1:-1], quote(value, safe="")


def _occurrences(value: str, text: str) -> Iterator[Span]:
    start = text.find(value)
    while start >= 0:
        yield Span(start, start + len(value), "configured")
        start = text.find(value, start + len(value))


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Spans that overlap as one, so that no part of either is left."""
    merged: list[Span] = []
    for span in spans:
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = Span(last.start, max(last.end, span.end), last.rule)
        else:
            merged.append(span)
    return merged
