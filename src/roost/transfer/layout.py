"""How the lines of an imported file lay, kept beside its entries so that the file can be written again.

It travels as the `header` of a generation: the file's first line as it was, and behind a line break, where
there is more to say, one line of JSON. A generation that was not imported has no header and no layout.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from roost.core.jsonl import Malformed, read_object
from roost.core.jsonvalue import JsonValue, as_count, as_optional, compact


@dataclass(frozen=True, slots=True, order=True)
class Stretch:
    """Entries that stood one after the other: the place of the first among all of the file, and how many."""

    start: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """`first` is None if the file has no header line. A branch names the generation whose file it was in
    and the places of its lines there. `open_end` is after how many entries the file stopped without a
    line break."""

    first: str | None = None
    branch_of: str | None = None
    places: tuple[Stretch, ...] = ()
    open_end: int | None = None

    @classmethod
    def parse(cls, header: str | None) -> "Layout | None":
        """The layout a header tells of; what cannot be read is as if it had not been said."""
        if header is None:
            return None
        first, _, rest = header.partition("\n")
        said = read_object(rest) if rest else {}
        if isinstance(said, Malformed):
            said = {}
        return cls(
            first=first or None,
            branch_of=as_optional(said.get("branchOf")),
            places=tuple(_stretches(said.get("places"))),
            open_end=as_count(said["openEnd"]) if "openEnd" in said else None,
        )

    def __str__(self) -> str:
        said: dict[str, JsonValue] = {}
        if self.branch_of is not None:
            said["branchOf"] = self.branch_of
            said["places"] = [[stretch.start, stretch.count] for stretch in self.places]
        if self.open_end is not None:
            said["openEnd"] = self.open_end
        if said or self.first is None:
            return f"{self.first or ''}\n{compact(said)}"
        return self.first


def stretches(places: Iterable[int]) -> tuple[Stretch, ...]:
    """Ascending places, those next to each other joined."""
    joined: list[Stretch] = []
    for place in places:
        if joined and joined[-1].start + joined[-1].count == place:
            joined[-1] = Stretch(joined[-1].start, joined[-1].count + 1)
        else:
            joined.append(Stretch(place, 1))
    return tuple(joined)


def _stretches(value: JsonValue) -> Iterable[Stretch]:
    for pair in value if isinstance(value, list) else ():
        if isinstance(pair, list) and len(pair) == 2:
            yield Stretch(as_count(pair[0]), as_count(pair[1]))
