"""What no database could hold, the reference refuses as well."""

from typing import TypeVar

from roost.core.errors import InvalidInput
from roost.stores.codec import encode

LARGEST = 2**63 - 1
Row = TypeVar("Row")


def storable(row: Row, *numbers: int) -> Row:
    """The row, if its text can be written, and these of its numbers as they are."""
    encode(row)
    refuse_oversized(*numbers)
    return row


def refuse_oversized(*numbers: int) -> None:
    for number in numbers:
        if not -LARGEST - 1 <= number <= LARGEST:
            raise InvalidInput(f"{number} cannot be stored", hint="send numbers of at most 64 bits")
