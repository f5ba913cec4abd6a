"""Tables on a terminal. Nothing in them is cut: what was listed is typed again."""

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

LAST = 16
"""As narrow as the last column of a table may be."""
GAP = 2
NAME = "bold cyan"
"""What a thing is called, beside what it is."""
_NOTHING = frozenset({"", "-"})


def draw_table(out: Console, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """The last column takes several lines where it must; rows that are too wide for the terminal stand below each other,
    each cell with its name."""
    widths = [max(map(_wide, column)) for column in zip(heads, *rows, strict=True)]
    if sum(widths[:-1]) + min(widths[-1], LAST) + GAP * (len(widths) - 1) <= out.width:
        _print(out, _columns(heads, rows))
        return
    for row in rows:
        _below(out, heads, row)


def draw_facts(out: Console, pairs: Iterable[tuple[str, str]]) -> None:
    shown = Table(box=None, pad_edge=False, show_header=False)
    shown.add_column(style=NAME, no_wrap=True)
    shown.add_column(overflow="fold")
    for name, value in pairs:
        shown.add_row(name, Text(value))
    _print(out, shown)


def _print(out: Console, shown: Table) -> None:
    """A terminal shows no space at the end of a line; whoever reads lines elsewhere would keep it."""
    with out.capture() as drawn:
        out.print(shown)
    out.file.writelines(f"{line.rstrip()}\n" for line in drawn.get().split("\n")[:-1])
    out.file.flush()


def _columns(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    shown = Table(box=None, pad_edge=False, header_style=NAME)
    for head in heads[:-1]:
        shown.add_column(head, no_wrap=True)
    shown.add_column(heads[-1], overflow="fold")
    for row in rows:
        shown.add_row(*map(Text, row))
    return shown


def _below(out: Console, heads: Sequence[str], row: Sequence[str]) -> None:
    """What it is called, and the rest of it on lines below."""
    first = next((place for place, head in enumerate(heads) if head), 0) + 1
    out.print(Text("  ".join(row[:first])), style=NAME, overflow="fold")
    rest = zip(heads[first:], row[first:], strict=True)
    named = [Text.assemble((head, "dim"), " ", one) for head, one in rest if one not in _NOTHING]
    if named:
        out.print(Padding(Text(" · ").join(named), (0, 0, 0, GAP)), overflow="fold")


def _wide(text: str) -> int:
    return max(map(cell_len, text.splitlines()), default=0)
