"""The rules in force. Whoever decides something asks for them then; a run goes by those it began with to its end."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import anyio

from roost.core.guests import LetIn
from roost.engine.rules import Rules


class Rulebook:
    """One edition after another; an old one is in use until the last run that began with it ended."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._edition = 0
        self._readers: Counter[int] = Counter()
        self._left = anyio.Event()
        self._replaced = anyio.Event()

    @property
    def current(self) -> Rules:
        return self._rules

    def replace(self, rules: Rules) -> int:
        """The rules change, but for who was let in by pairing; answers the number of the edition before."""
        self._put(rules, self._rules.let_in)
        self._edition += 1
        return self._edition - 1

    def let_in(self, people: LetIn) -> None:
        """Others are let in by pairing. That is no new edition: no run has to end first."""
        if people != self._rules.let_in:
            self._put(self._rules, people)

    def _put(self, rules: Rules, people: LetIn) -> None:
        self._rules = rules if rules.let_in == people else replace(rules, let_in=people)
        self._replaced.set()
        self._replaced = anyio.Event()

    async def replaced(self, rules: Rules) -> None:
        """Return once others than these are in force."""
        while self._rules is rules:
            await self._replaced.wait()

    @contextmanager
    def reading(self) -> Iterator[Rules]:
        """Around a run: the rules it goes by."""
        edition = self._edition
        self._readers[edition] += 1
        try:
            yield self._rules
        finally:
            self._readers[edition] -= 1
            self._left.set()
            self._left = anyio.Event()

    async def out_of_use(self, edition: int) -> None:
        """Return once no run goes by an edition, or an earlier one."""
        while any(runs for number, runs in self._readers.items() if number <= edition):
            await self._left.wait()
