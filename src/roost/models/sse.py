"""Server-sent events, as bytes come in: the data of each event that is whole.

Names, ids and comments are passed over.
"""

import re

LONGEST_EVENT = 4 * 1024 * 1024

_LINE_END = re.compile(rb"\r\n|\n|\r")
_PREFIX = b"data: "
_NEWLINE = 10


class EventTooLong(ValueError):
    """An event that does not end."""


class EventReader:
    """Feed it what was read; it gives the events that are complete."""

    __slots__ = ("_data", "_rest", "_size")

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, read: bytes) -> list[bytes]:
        if not self._rest and not self._data and read.startswith(_PREFIX):
            # What servers nearly always send: one event of one line in one piece.
            end = read.find(b"\n")
            if end == len(read) - 2 and read[-1] == _NEWLINE and b"\r" not in read:
                return [read[len(_PREFIX) : end]]
        return self._lines(self._rest + read)

    def end(self) -> list[bytes]:
        """The event that lacked only its last line end."""
        return self._lines(self._rest.removesuffix(b"\r") + b"\n\n")

    def _lines(self, text: bytes) -> list[bytes]:
        # A carriage return at the end may be half of a line end.
        held = b"\r" if text.endswith(b"\r") else b""
        lines = _LINE_END.split(text.removesuffix(held)) if b"\r" in text else text.split(b"\n")
        self._rest = lines.pop() + held
        events: list[bytes] = []
        for line in lines:
            if line:
                self._line(line)
            elif self._data:
                events.append(b"\n".join(self._data))
                self._data, self._size = [], 0
        if self._size + len(self._rest) > LONGEST_EVENT:
            raise EventTooLong
        return events

    def _line(self, line: bytes) -> None:
        if line.startswith(b"data:"):
            self._size += len(line)
            self._data.append(line[6:] if line.startswith(_PREFIX) else line[5:])
