"""What an import did: one item for each conversation or file, and why something was left out."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from roost.core.imports import ImportOutcome
from roost.core.keys import SessionKey

SHOWN_CHARS = 200
REMARKS = 20


class Result(StrEnum):
    """`FORKED`: the key was in use, so the conversation is under one of its own; `SKIPPED`: left out on purpose."""

    IMPORTED = "imported"
    RESUMED = "resumed"
    PRESENT = "present"
    FORKED = "forked"
    TAKEN = "taken"
    SKIPPED = "skipped"
    FAILED = "failed"

    @classmethod
    def of(cls, outcome: ImportOutcome) -> "Result":
        return cls(outcome.value)


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
        counts = ", ".join(f"{self.count(result)} {result}" for result in Result if self.count(result))
        return (*(line for item in self.items for line in _lines(item)), counts or "nothing to import")


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


def _lines(item: Item) -> Iterable[str]:
    where = f" → {item.key}" if item.key is not None and str(item.key) != item.source else ""
    why = f": {item.reason}" if item.reason else ""
    yield f"{item.result} {item.source}{where}{why}"
    yield from (f"  {remark}" for remark in item.remarks)
