"""A session as files: the folder they lie in, and a piece of one with where the next piece begins."""

import re
from dataclasses import dataclass
from urllib.parse import quote

from roost.core.errors import InvalidInput
from roost.core.keys import SessionKey
from roost.core.notices import derived_id

_NAME_CHARS = 80
_REACHED = re.compile(r"(\d{1,15}):(\d{1,15}):(.+)", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """How far an export got: so many lines of the file of a generation, and so many bytes of the line after them."""

    session_id: str
    lines: int = 0
    size: int = 0

    @classmethod
    def parse(cls, text: str) -> "Reached":
        found = _REACHED.fullmatch(text)
        if found is None:
            raise InvalidInput(
                f"{text!r} is no cursor of an export", hint="use the nextCursor of the piece before"
            )
        return cls(lines=int(found[1]), size=int(found[2]), session_id=found[3])

    def __str__(self) -> str:
        return f"{self.lines}:{self.size}:{self.session_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Bytes of the file `name`; `then` is where the next piece begins, in this file or another."""

    name: str
    data: bytes
    then: Reached | None


def folder_name(key: SessionKey) -> str:
    """A name that no two keys share and no key can lead out of."""
    text = str(key)
    return (
        f"{quote(text, safe='')[:_NAME_CHARS].replace('%', '_').lstrip('.')}-{derived_id('export', text)[:8]}"
    )
