"""What a search may show of a hit. What may not be read is not found: else a secret could be guessed word by word."""

from dataclasses import dataclass

from roost.core.queries import SearchHit
from roost.core.recall import Recalled, RecallOptions, recall
from roost.core.redaction import SecretScanner
from roost.core.search import INDEXED_CHARS, Query, matches, searchable_text, segment, snippet

SNIPPET_CHARS = 300
_WHOLE = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A hit as it may be read, and the part of it that was sought."""

    hit: SearchHit
    recalled: Recalled
    snippet: str


def finding(hit: SearchHit, query: Query, scanner: SecretScanner) -> Passage | None:
    """None where what is left to be read does not match any more."""
    options = RecallOptions(scanner=scanner, include_tools=True, text_chars=INDEXED_CHARS, page_bytes=_WHOLE)
    for recalled in recall((hit.entry,), options).messages:
        text = searchable_text(recalled.message)
        if matches(query, segment(text)):
            return Passage(hit=hit, recalled=recalled, snippet=snippet(text, query, SNIPPET_CHARS))
    return None
