"""How one opaque part of a session key is written, so that it reads back byte for byte.

A part is written as it is. Only one that would read as structure, or be changed by trimming, or that looks
like such an escape already, has the offending characters percent-encoded. Knows nothing of whole keys.
"""

import re
from dataclasses import dataclass
from urllib.parse import unquote

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
SURROGATE = re.compile(r"[\ud800-\udfff]")

_ALWAYS = rf"{CONTROL.pattern}|\A\s|\s\Z"


@dataclass(frozen=True, slots=True)
class Quoting:
    """What must not be seen in one place of a key: each match is a character that would give structure."""

    structure: re.Pattern[str]
    special: re.Pattern[str]

    @classmethod
    def against(cls, *structure: str) -> "Quoting":
        # The words of the grammar are ASCII: with Unicode's case rules a look-alike would pass for them.
        found = "|".join([_ALWAYS, *(f"(?ai:{pattern})" for pattern in structure)])
        return cls(re.compile(found, re.DOTALL), re.compile(f"%|{found}", re.DOTALL))

    def write(self, part: str) -> str:
        """The text of a part."""
        if self.structure.search(part) or self._is_escaped(part):
            return self._escape(part)
        return part

    def read(self, text: str) -> str:
        """The part that `write` gives this text for; any other text stands for itself."""
        return unquote(text) if self._is_escaped(text) else text

    def _is_escaped(self, text: str) -> bool:
        while "%" in text:
            part = unquote(text)
            if part == text or self._escape(part) != text:
                return False
            if self.structure.search(part):
                return True
            text = part
        return False

    def _escape(self, part: str) -> str:
        return self.special.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), part)


# It is the first letter of a word that is encoded: a word at the start of a part has no colon before it.
# `(?<=.:)` is behind a colon that has something before it, `(?<![^:])` behind any colon or at the start.
_THREAD = r"(?<![^:])t(?=hread:.)"
_HEARTBEAT = r"(?<![^:])h(?=eartbeat\Z)"
_THREAD_WITHIN = r"(?<=.:)t(?=hread:.)"
_THREAD_WITHIN_OR_LAST = r"(?<=.:)t(?=hread(?::|\Z))"
_HEARTBEAT_WITHIN = r"(?<=.:)h(?=eartbeat\Z)"

VERBATIM = Quoting(re.compile("(?!)"), re.compile("(?!)"))
CHANNEL = Quoting.against(
    ":", r"\A(?=(?:agent|cron|hook|subagent|acp|explicit|dashboard|direct|dm)\Z).", r"\An(?=ode-)"
)
ACCOUNT = Quoting.against(":", r"\A(?=(?:direct|dm|group|channel|slash)\Z).")
NAME = Quoting.against(_THREAD_WITHIN, _HEARTBEAT_WITHIN)
GROUP = Quoting.against(_THREAD_WITHIN_OR_LAST, r"(?<=.:)t(?=opic:.)", _HEARTBEAT_WITHIN)
JOB = Quoting.against(_THREAD_WITHIN_OR_LAST, r"(?<=.:)r(?=un:[^:]+\Z)", _HEARTBEAT_WITHIN)
TOPIC = Quoting.against(_THREAD, r"(?<![^:])t(?=opic:.)", _HEARTBEAT)
RUN = Quoting.against(":", r"\Ah(?=eartbeat\Z)")
THREAD = Quoting.against(_THREAD, _HEARTBEAT)
# Behind a name of one word, these would make the name a channel.
THREAD_OF_NAMED = Quoting.against(_THREAD, _HEARTBEAT, r"\A(?=(?:direct|dm|group|channel|slash):.).")
