"""Durations, sizes and sums of money as people write them: `30m`, `1.5h`, `10gb`, `2.50`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from roost.core.figures import UNITS

_SIZE_UNITS: Mapping[str, int] = {"b": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40}
_DOLLAR = "$"
_DOLLAR_UNITS: Mapping[str, int] = {_DOLLAR: 1_000_000}
# In whatever unit something is counted, what is reckoned with it stays a number that a store can hold.
MOST_COUNTED = 10**11
_MOST = 2**62
_AMOUNT = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)\s*([a-z]*)", re.ASCII)


class SpellingError(ValueError):
    """A value is not written in an allowed way; a message only where what is allowed does not say enough."""


def _parse(found: object, units: Mapping[str, int], bare: str | None) -> int:
    if isinstance(found, bool) or not isinstance(found, str | int | float):
        raise SpellingError
    written = _AMOUNT.fullmatch(str(found).strip().lower())
    if written is None:
        raise SpellingError
    number, unit = written.groups()
    scale = units.get(unit or bare or "")
    if scale is None:
        raise SpellingError
    amount = Decimal(number) * scale
    if amount != int(amount):
        raise SpellingError
    if amount > _MOST:
        raise SpellingError("it is more than can be reckoned with")
    return int(amount)


def _write(amount: int, units: Mapping[str, int]) -> str:
    unit = next(unit for unit, scale in reversed(list(units.items())) if amount % scale == 0)
    return f"{amount // units[unit]}{unit}" if amount else f"0{next(iter(units))}"


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    milliseconds: int

    @classmethod
    def parse(cls, found: object, bare: str | None = None) -> "Duration":
        """Read `250ms`, `30s`, `5m`, `1.5h` or `30d`; a bare number counts in the unit `bare`, if there is one."""
        return cls(_parse(found, UNITS, bare))

    def __str__(self) -> str:
        return _write(self.milliseconds, UNITS)


@dataclass(frozen=True, slots=True, order=True)
class ByteSize:
    bytes: int

    @classmethod
    def parse(cls, found: object) -> "ByteSize":
        """Read `512kb`, `10gb` or a bare number of bytes; 1kb is 1024 bytes."""
        return cls(_parse(found, _SIZE_UNITS, "b"))

    def __str__(self) -> str:
        return _write(self.bytes, _SIZE_UNITS)


@dataclass(frozen=True, slots=True, order=True)
class Dollars:
    """Counted in millionths."""

    micros: int

    @classmethod
    def parse(cls, found: object) -> "Dollars":
        """Read `2`, `2.5` or `"2.50"`; at most six decimals."""
        return cls(_parse(found, _DOLLAR_UNITS, _DOLLAR))

    def __str__(self) -> str:
        return f"{Decimal(self.micros) / _DOLLAR_UNITS[_DOLLAR]:f}"
