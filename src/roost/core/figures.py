"""Numbers as people read them: durations, counts, money, moments."""

import re
from datetime import tzinfo
from types import MappingProxyType

from roost.core.localtime import local

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
UNITS = MappingProxyType({"ms": 1, "s": 1_000, "m": MINUTE_MS, "h": HOUR_MS, "d": DAY_MS})
MICROS = 1_000_000
"""As many millionths of a dollar as a dollar has."""

LONGEST_SAID = 1_000_000
"""The characters of what is said at once."""

_DURATION = re.compile(r"(?P<number>[0-9]{1,9})(?P<unit>ms|s|m|h|d)?")


def duration(milliseconds: int) -> str:
    seconds = max(0, milliseconds) // 1_000
    if seconds < 60:
        return f"{seconds}s"
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02d}m{seconds:02d}s" if hours else f"{minutes}m{seconds:02d}s"


def in_millis(seconds: float, most: int) -> int:
    """Seconds as milliseconds, at most so many: a number of any size is some time."""
    return int(min(seconds, most / 1_000) * 1_000)


def span(milliseconds: int) -> str:
    """All of it, as `read_duration` reads its parts: `30m`, `2h`, `1d`, `1h 30m`."""
    left, parts = max(0, milliseconds), list[str]()
    for unit, length in sorted(UNITS.items(), key=lambda item: -item[1]):
        number, left = divmod(left, length)
        if number:
            parts.append(f"{number}{unit}")
    return " ".join(parts) or "0s"


def ahead(milliseconds: int) -> str:
    """How long until then, in the largest unit that says something."""
    return f"in {age(milliseconds).removesuffix(' ago')}" if milliseconds >= 1_000 else "now"


def age(milliseconds: int) -> str:
    """How long ago, in the largest unit that says something."""
    seconds = max(0, milliseconds) // 1_000
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= length:
            return f"{seconds // length}{unit} ago"
    return f"{seconds}s ago" if seconds else "now"


def thousands(count: int) -> str:
    if count < 1_000:
        return str(count)
    return f"{count / 1_000:.1f}".removesuffix(".0") + "k"


def dollars(micros: int) -> str:
    return f"${micros / MICROS:.4f}"


def moment(at: int, zone: tzinfo) -> str:
    """A time to the minute, in a zone."""
    return local(at, zone).strftime("%Y-%m-%d %H:%M")


def counted(number: int, noun: str, many: str | None = None) -> str:
    """`1 message`, `2 messages`; `many` where an `s` is not enough."""
    return f"{number} {noun}" if number == 1 else f"{number} {many or noun + 's'}"


def read_duration(text: str, *, bare: str | None = None) -> int | None:
    """`500ms`, `2s`, `30m`, `24h` or `7d` in milliseconds; a bare number counts in the unit `bare`, if there is one."""
    written = _DURATION.fullmatch(text.strip().lower())
    unit = (written["unit"] or bare) if written else None
    return int(written["number"]) * UNITS[unit] if written and unit else None
