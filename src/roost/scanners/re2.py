"""The fast scanner: every rule in one RE2 automaton, linear by construction."""

from collections.abc import Sequence
from typing import Protocol, cast

import re2

from roost.core.credentials import RULES, Rule
from roost.core.redaction import Span

_AUTOMATON_BYTES = 64 << 20


class _Match(Protocol):
    @property
    def lastindex(self) -> int: ...

    def span(self, group: int = 0) -> tuple[int, int]: ...


class _Automaton(Protocol):
    def search(self, text: bytes, pos: int) -> _Match | None: ...


class Re2Scanner:
    """Scans bytes, so that a match costs no conversion; positions become characters only where they differ."""

    def __init__(self, rules: Sequence[Rule] = RULES) -> None:
        self._rules = tuple(rules)
        self._automaton = _compile(self._rules)

    def find(self, text: str) -> Sequence[Span]:
        data = text.encode("utf-8", "surrogatepass")
        spans: list[Span] = []
        position = 0
        while match := self._automaton.search(data, position):
            group = match.lastindex  # each rule has one group, in the order of the rules
            start, end = match.span(group)
            rule = self._rules[group - 1]
            if rule.accepts(data[start:end].decode("utf-8", "surrogatepass")):
                spans.append(Span(start, end, rule.name))
                position = match.span()[1]
            else:
                position = start
        return spans if len(data) == len(text) else _in_characters(spans, data)


def _compile(rules: Sequence[Rule]) -> _Automaton:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = _AUTOMATON_BYTES
    alternation = "|".join(f"(?:{rule.pattern})" for rule in rules)
    return cast(_Automaton, re2.compile(alternation.encode("ascii"), options))


def _in_characters(spans: Sequence[Span], data: bytes) -> list[Span]:
    converted: list[Span] = []
    bytes_seen = characters_seen = 0
    for span in spans:
        start = characters_seen + _characters(data[bytes_seen : span.start])
        end = start + _characters(data[span.start : span.end])
        converted.append(Span(start, end, span.rule))
        bytes_seen, characters_seen = span.end, end
    return converted


def _characters(data: bytes) -> int:
    return len(data.decode("utf-8", "surrogatepass"))
