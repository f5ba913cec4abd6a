"""The scanner without a dependency: finds the anchors of each rule, and tries the rule only there."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from typing import TypeAlias

from roost.core.credentials import RULES, Rule
from roost.core.redaction import Span


@dataclass(frozen=True, slots=True)
class _Cursor:
    """One anchor of one rule. Each search begins behind the last one, so a text is passed once."""

    rule: Rule
    anchor: str | None
    pattern: re.Pattern[str]

    def search(self, text: str, folded: str, position: int) -> re.Match[str] | None:
        if self.anchor is None:
            return self.pattern.search(text, position)
        haystack = folded if self.rule.folded else text
        start = haystack.find(self.anchor, position)
        while start >= 0:
            if match := self.pattern.match(text, start):
                return match
            start = haystack.find(self.anchor, start + 1)
        return None


_Candidate: TypeAlias = tuple[int, int, re.Match[str]]
"""Where a match starts, the number of its cursor (which orders as the rules do), and the match."""


class StdlibScanner:
    """Gives the spans the RE2 scanner gives, at a tenth of its speed."""

    def __init__(self, rules: Sequence[Rule] = RULES) -> None:
        self._cursors = tuple(
            _Cursor(rule, anchor, re.compile(rule.pattern, re.ASCII))
            for rule in rules
            for anchor in rule.anchors or (None,)
        )

    def find(self, text: str) -> Sequence[Span]:
        folded = _fold(text)
        spans: list[Span] = []
        position = 0
        waiting: list[_Candidate] = []
        for number, cursor in enumerate(self._cursors):
            if match := cursor.search(text, folded, 0):
                waiting.append((match.start(), number, match))
        heapify(waiting)
        while waiting:
            start, number, match = waiting[0]
            cursor = self._cursors[number]
            if start >= position:
                position = match.start(1)
                if cursor.rule.accepts(match[1]):
                    spans.append(Span(*match.span(1), cursor.rule.name))
                    position = match.end()
            if following := cursor.search(text, folded, position):
                heapreplace(waiting, (following.start(), number, following))
            else:
                heappop(waiting)
        return spans


def _fold(text: str) -> str:
    """Lower case for ASCII letters only: positions stay the same."""
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")
