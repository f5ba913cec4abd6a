"""What an import did: one item for each conversation or file, and why something was left out."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

from roost.core.imports import ImportOutcome
from roost.core.keys import SessionKey

SHOWN_CHARS = 200
REMARKS = 20


class Result(StrEnum):
    """In words. `FORKED`: the key was in use, so the conversation is under one of its own; `TAKEN`: a part of it is another
    session's; `SKIPPED`: left out on purpose."""

    IMPORTED = "imported"
    RESUMED = "resumed"
    PRESENT = "already there"
    FORKED = "forked"
    TAKEN = "not imported"
    SKIPPED = "skipped"
    FAILED = "failed"

    @classmethod
    def of(cls, outcome: ImportOutcome) -> "Result":
        return cls[outcome.name]


_WOULD = MappingProxyType(
    {
        Result.IMPORTED: "would import",
        Result.RESUMED: "would go on with",
        Result.FORKED: "would import beside",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """What became of one conversation or file. `source` is what the folder calls it, safe to print."""

    source: str
    result: Result
    key: SessionKey | None = None
    entries: int = 0
    reason: str = ""
    remarks: tuple[str, ...] = ()


Progress: TypeAlias = Callable[[Item], None]


@dataclass(frozen=True, slots=True)
class ImportReport:
    """Every item, in the order in which it was dealt with."""

    items: tuple[Item, ...]

    def count(self, result: Result) -> int:
        return sum(item.result is result for item in self.items)

    @property
    def entries(self) -> int:
        """Entries of the conversations that are in the store now."""
        return sum(item.entries for item in self.items)

    @property
    def complete(self) -> bool:
        """Whether trying again would change nothing."""
        return not self.count(Result.FAILED)

    def lines(self) -> tuple[str, ...]:
        """The report for people: a line an item, its remarks below it, the counts last."""
        counts = [f"{self.count(result)} {result}" for result in self._results()]
        return (*self._lines_of_items({}), ", ".join(counts) or "nothing to import")

    def dry_lines(self) -> tuple[str, ...]:
        """The same of an import that kept nothing."""
        counts = [
            f"{_WOULD[result]} {self.count(result)}" if result in _WOULD else f"{self.count(result)} {result}"
            for result in self._results()
        ]
        return (*self._lines_of_items(_WOULD), ", ".join(counts) or "nothing to import")

    def _results(self) -> Iterable[Result]:
        return (result for result in Result if self.count(result))

    def _lines_of_items(self, words: Mapping[Result, str]) -> Iterable[str]:
        return (line for item in self.items for line in _lines(item, words.get(item.result, item.result)))


class Remarks:
    """Gathers remarks on one item: the first few in full, the others as a number."""

    def __init__(self, remarks: Iterable[str] = ()) -> None:
        self._kept: list[str] = []
        self._more = 0
        for remark in remarks:
            self.add(remark)

    def add(self, remark: str) -> None:
        if remark in self._kept:
            return
        if len(self._kept) < REMARKS:
            self._kept.append(remark)
        else:
            self._more += 1

    def all(self) -> tuple[str, ...]:
        return (*self._kept, *((f"and {self._more} more",) if self._more else ()))


def left_out(text: str, reason: str) -> Item:
    return Item(source=shown(text), result=Result.SKIPPED, reason=reason)


def shown(text: str) -> str:
    """A text from outside as one short line: control characters and halves of characters escaped."""
    line = text[: SHOWN_CHARS + 1].encode("unicode_escape" if not text.isprintable() else "utf-8").decode()
    return line if len(line) <= SHOWN_CHARS else f"{line[:SHOWN_CHARS]}…"


def _lines(item: Item, became: str) -> Iterable[str]:
    where = f" → {item.key}" if item.key is not None and str(item.key) != item.source else ""
    why = f": {item.reason}" if item.reason else ""
    yield f"{became} {item.source}{where}{why}"
    yield from (f"  {remark}" for remark in item.remarks)
