"""A text that must not be seen: only `reveal` gives it back.

Printing, formatting and logging show a mask; pickling and JSON refuse; comparing takes the same time
wherever two texts differ.
"""

import hmac
from collections.abc import Callable
from hashlib import sha256
from typing import NoReturn, SupportsIndex, final

from roost.core.errors import InvalidInput

MASK = "***"


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


@final
class Secret:
    """A credential. It is never empty: an empty one would match what nobody sent."""

    __slots__ = ("__reveal",)

    # No attribute is the text itself: what lists or formats attributes finds a function.
    __reveal: Callable[[], str]

    def __init__(self, text: str) -> None:
        if not text.strip():
            raise InvalidInput("a secret cannot be empty", hint="give it a value, or leave it out")
        object.__setattr__(self, "_Secret__reveal", lambda: text)

    def reveal(self) -> str:
        """The text itself, for the one call that needs it."""
        return self.__reveal()

    def matches(self, candidate: str) -> bool:
        """Whether somebody presented this very text, in time that tells nothing about it."""
        return hmac.compare_digest(_digest(self.reveal()), _digest(candidate))

    def __eq__(self, other: object) -> bool:
        return self.matches(other.reveal()) if isinstance(other, Secret) else NotImplemented

    def __hash__(self) -> int:
        return hash(_digest(self.reveal()))

    def __repr__(self) -> str:
        return f"Secret({MASK})"

    def __str__(self) -> str:
        return MASK

    def __format__(self, spec: str) -> str:
        return MASK

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a secret cannot be changed")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a secret cannot be changed")

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a secret cannot be serialised")

    def __getstate__(self) -> NoReturn:
        raise TypeError("a secret cannot be serialised")

    def __copy__(self) -> "Secret":
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> "Secret":
        return self
