"""What a command says when its gateway goes away in the middle of something, and when it is back."""

import math
import sys
from collections.abc import Callable

from roost.client.line import Absence

# How long a command waits for a gateway to come back: longer than another takes to take over.
LONGEST_S = 60.0
AWAY, BACK = "the gateway is away; trying again…", "the gateway is back"


class Watch:
    """`away` is how it stands. Told on the error output: what is answered goes on as it was. `told` is called after."""

    def __init__(self, told: Callable[[], None] = lambda: None) -> None:
        self.away = False
        self._told = told

    def absence(self, longest_s: float = math.inf) -> Absence:
        return Absence(lost=self._lost, back=self._back, longest_s=longest_s)

    def remind(self) -> None:
        """Who asks for something while the gateway is away hears why nothing comes."""
        if self.away:
            self._tell(AWAY)

    def _lost(self) -> None:
        self.away = True
        self._tell(AWAY)

    def _back(self) -> None:
        self.away = False
        self._tell(BACK)

    def _tell(self, words: str) -> None:
        # On a terminal half an answer may stand in the line, or a prompt.
        before = "\n" if sys.stderr.isatty() else ""
        sys.stderr.write(f"{before}{words}\n")
        sys.stderr.flush()
        self._told()
