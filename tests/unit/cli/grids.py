"""What a person sees on a terminal: the rows that are left of all that was written to it."""

import re

_SIGNS = re.compile(
    r"\x1b\[(?P<number>[0-9;?]*)(?P<final>[A-Za-z])|\x1b(?P<single>[78DM=>])|(?P<char>.)", re.DOTALL
)


class Grid:
    """As much of a VT100 as a line editor and what writes above it need."""

    def __init__(self, width: int = 80, height: int = 24) -> None:
        self._width, self._height = width, height
        self._rows = [""]
        self._row = self._column = self._top = 0
        self._saved = (0, 0)

    def rows(self, text: str) -> list[str]:
        """After this was written."""
        for found in _SIGNS.finditer(text):
            if char := found["char"]:
                self._write(char)
            elif single := found["single"]:
                self._single(single)
            else:
                number = found["number"].partition(";")[0]
                self._sequence(found["final"], int(number or 0) if "?" not in number else 0)
        return [row.rstrip() for row in self._rows]

    def _write(self, char: str) -> None:
        match char:
            case "\r":
                self._column = 0
            case "\n":
                self._down()
            case "\b":
                self._column -= 1
            case "\x07":
                pass
            case _:
                if self._column == self._width:
                    self._column = 0
                    self._down()
                row = self._rows[self._row].ljust(self._column)
                self._rows[self._row] = row[: self._column] + char + row[self._column + 1 :]
                self._column += 1

    def _single(self, sign: str) -> None:
        if sign == "7":
            self._saved = (self._row - self._top, self._column)
        elif sign == "8":
            self._row, self._column = self._saved[0] + self._top, self._saved[1]
        elif sign == "D":
            self._down()

    def _sequence(self, final: str, number: int) -> None:
        match final:
            case "A":
                self._row = max(self._top, self._row - (number or 1))
            case "C":
                self._column += number or 1
            case "D":
                self._column -= number or 1
            case "J":
                del self._rows[self._row + 1 :]
                self._rows[self._row] = self._rows[self._row][: self._column]
            case "K":
                self._rows[self._row] = self._rows[self._row][: self._column]
            case "P":
                row = self._rows[self._row]
                self._rows[self._row] = row[: self._column] + row[self._column + (number or 1) :]
            case "@":
                row = self._rows[self._row]
                self._rows[self._row] = row[: self._column] + " " * (number or 1) + row[self._column :]
            case _:
                assert final in "hlm", f"a screen knows no {final!r}"

    def _down(self) -> None:
        self._row += 1
        while len(self._rows) <= self._row:
            self._rows.append("")
        self._top = max(self._top, self._row - self._height + 1)
