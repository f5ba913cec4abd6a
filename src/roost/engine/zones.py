"""Places by their names."""

from collections.abc import Callable
from datetime import tzinfo
from functools import partial
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from roost.core.errors import InvalidInput


def zone_named(name: str | None, own: tzinfo) -> tzinfo:
    """The clock of a place; the gateway's `own` where none is named."""
    if name is None:
        return own
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        raise InvalidInput(f"there is no time zone {name!r}", hint="give one such as Europe/Berlin") from None


def zones_of(own: tzinfo) -> Callable[[str | None], tzinfo]:
    return partial(zone_named, own=own)
