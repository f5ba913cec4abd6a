"""A text that is shown while it grows, without the credentials in it.

A credential may come in pieces, and a piece of one is not known for one: so an unfinished word is held back until it
is whole, or its newest part while it goes on and on, unless it is a plain one where no credential is expected. What
turns out later to be a credential takes back what was shown of it.
"""

import re
from dataclasses import dataclass
from string import ascii_letters, digits, punctuation

from roost.core.redaction import SecretScanner, redact

MOST_HELD = 4096
WINDOW = 4096
# With this behind it a piece of a credential would be known for one.
REST = "a7Kd9Qm2Xz4Rb8Lw3Tn6Vp1Yc5Hj0Sf"
_PLAIN = re.compile("[A-Z]?[a-z]{0,12}[.,!?]?")
_LETTERS = ascii_letters + digits + punctuation


@dataclass(frozen=True, slots=True)
class Growth:
    """What is shown in addition, or all of it if that `replaces` what was shown before."""

    added: str
    replaces: bool


class Growing:
    """`shown` is what is shown of it by now, `size` how much of it came in."""

    def __init__(self, scanner: SecretScanner) -> None:
        self._scanner = scanner
        self.shown = ""
        self.size = 0
        self._settled = ""
        self._open = ""
        self._read = 0
        self._stale = False

    def begin(self) -> None:
        """Another text comes in the place of this one."""
        self._stale = self._stale or bool(self.shown)
        self.shown = self._settled = self._open = ""
        self.size = self._read = 0

    def add(self, text: str) -> Growth | None:
        self.size += len(text)
        self._open += text
        end = self._whole()
        if end <= self._read:
            return None
        self._read = end
        spans = self._scanner.find(self._open)
        # Of one that goes on behind that, or may, nothing is shown.
        end = next((span.start for span in spans if span.start < end <= span.end), end)
        growth = self._show(redact(self._open[:end], self._scanner)[0] if spans else self._open[:end])
        self._settle()
        return growth

    def end(self) -> Growth | None:
        """It is complete."""
        return self._show(redact(self._open, self._scanner)[0])

    def _whole(self) -> int:
        """Up to where it may be shown."""
        size, last = len(self._open), len(self._open.rstrip(_LETTERS))
        if size - last > MOST_HELD:
            return size - MOST_HELD
        if not _PLAIN.fullmatch(self._open, last):
            return last
        spans = self._scanner.find(self._open + REST)
        return last if spans and spans[-1].end > size else size

    def _show(self, text: str) -> Growth | None:
        before, self.shown = self.shown, self._settled + text
        if self.shown == before:
            return None
        if self.shown.startswith(before) and not self._stale:
            return Growth(self.shown[len(before) :], replaces=False)
        self._stale = False
        return Growth(self.shown, replaces=True)

    def _settle(self) -> None:
        """Whole lines that lie far behind are not looked at again, unless they belong together with those that follow."""
        size = len(self._open)
        at = self._open.rfind("\n", 0, size - WINDOW) + 1 if size >= 2 * WINDOW else 0
        if not at:
            return
        behind, ahead = (redact(part, self._scanner)[0] for part in (self._open[:at], self._open[at:]))
        if behind + ahead == redact(self._open, self._scanner)[0]:
            self._settled += behind
            self._open, self._read = self._open[at:], self._read - at
