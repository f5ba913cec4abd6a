"""The machine's own clock, and the time zone it stands in."""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import anyio

_ZONE_FILE = Path("/etc/localtime")


class SystemClock:
    """Wall time in UTC milliseconds."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    async def sleep(self, milliseconds: int) -> None:
        await anyio.sleep(milliseconds / 1000)

    def later(self, milliseconds: int, act: Callable[[], None]) -> Callable[[], None]:
        return asyncio.get_running_loop().call_later(milliseconds / 1000, act).cancel


def host_zone(file: Path = _ZONE_FILE, *, named: str | None = None) -> tzinfo:
    """The zone of this machine, daylight saving included; UTC where it states none. `named` is what `TZ` says: it goes
    before, where it is the name of a zone."""
    try:
        return ZoneInfo((named or "").removeprefix(":"))
    except (OSError, ValueError, ZoneInfoNotFoundError):
        return _zone_in(file)


def _zone_in(file: Path) -> tzinfo:
    try:
        with file.open("rb") as data:
            return ZoneInfo.from_file(data, key="localtime")
    except (OSError, ValueError):
        return UTC
