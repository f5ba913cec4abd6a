"""Ids that sort by the time they were made, and codes that people read to each other."""

import secrets

from roost.ports import Clock

# Without those that are taken for one another.
CODE_LETTERS = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
CODE_LENGTH = 8


class FreshIds:
    """UUIDs of version 7: milliseconds first, then chance."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def __call__(self) -> str:
        return uuid7(self._clock.now(), secrets.token_bytes(10))


def uuid7(milliseconds: int, chance: bytes) -> str:
    number = (milliseconds & (2**48 - 1)) << 80 | int.from_bytes(chance)
    number = number & ~(0xF << 76) | 0x7 << 76
    number = number & ~(0x3 << 62) | 0x2 << 62
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def new_code() -> str:
    return "".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_LENGTH))
