"""Numbers that every database and JSON can hold; others are refused where they are given."""

from math import isfinite

from roost.core.errors import InvalidInput

LARGEST = 2**63 - 1


def refuse_oversized(*numbers: int | None) -> None:
    for number in numbers:
        if number is not None and not -LARGEST - 1 <= number <= LARGEST:
            raise InvalidInput(f"{number} is too large a number", hint="give numbers of at most 64 bits")


def refuse_infinite(number: float) -> None:
    """JSON has no way to write one that is not finite: it would be read back as another value."""
    if not isfinite(number):
        raise InvalidInput(f"{number} is no number that JSON has", hint="give a finite number, or null")
