"""What is kept instead of a configured secret: the name of its setting. Credentials that are only known by their form are none of this; they are masked where they are read."""

import re
from collections.abc import Mapping
from typing import Protocol

from roost.core.redaction import SHORTEST_COVERED, SHORTEST_EXACT, spellings

SEAL = re.compile(r"\{\{secret:[^{}\n]{1,200}\}\}")


class Sealing(Protocol):
    """Puts seals in the place of secrets."""

    def sealed(self, text: str) -> str: ...


class Seals:
    """The names of secrets. One that could be part of an ordinary word counts only where it stands alone."""

    def __init__(self, names: Mapping[str, str]) -> None:
        spelled = {text: seal(name) for secret, name in names.items() for text in spellings(secret)}
        longest_first = sorted(spelled, key=len, reverse=True)
        self._seals = {text: spelled[text] for text in longest_first if len(text) >= SHORTEST_EXACT}

    def sealed(self, text: str) -> str:
        """The text with the name of each secret in its place. Names that stand there stay, whatever they contain."""
        for secret in self._seals:
            if secret in text:
                return self._with_names(text)
        return text

    def _with_names(self, text: str) -> str:
        pieces = re.split(f"({SEAL.pattern})", text)
        return "".join(piece if number % 2 else self._without(piece) for number, piece in enumerate(pieces))

    def _without(self, text: str) -> str:
        for secret, name in self._seals.items():
            if secret in text:
                text = _replaced(text, secret, name)
        return text


def seal(name: str) -> str:
    return f"{{{{secret:{re.sub(r'[{}]|[^ -~]', '_', name)[:200]}}}}}"


def _replaced(text: str, secret: str, name: str) -> str:
    if len(secret) >= SHORTEST_COVERED:
        return text.replace(secret, name)
    return re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", lambda _: name, text)
