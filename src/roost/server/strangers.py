"""Who was turned away at the port: counted, and told in the log, a line for each address and minute."""

import logging
from collections import Counter
from types import MappingProxyType

from roost.core.entrance import throttled_by
from roost.ports import Clock
from roost.protocol.frames import ErrorCode
from roost.protocol.handshake import Refusal
from roost.protocol.turnedaway import FOREIGN_PAGE
from roost.server.metrics import Meters

_log = logging.getLogger(__name__)

MINUTE_MS = 60_000
MOST = 100
OTHERS = "other addresses"
NAMED_TWICE = "HOST_NAMED_TWICE"
UNKNOWN_HOST = "HOST_NOT_ALLOWED"
UNLISTED_PROXY = "PROXY_NOT_TRUSTED"
HOOK_UNPROVEN = "HOOK_NOT_PROVEN"
_LONGEST = 64


def code_of(refusal: Refusal) -> str:
    """What a refusal is known by."""
    if refusal.failure is None:
        return str(ErrorCode.INVALID_REQUEST)
    return str((refusal.failure.details or {}).get("code", refusal.failure.code))


_SETTINGS = MappingProxyType(
    {
        UNKNOWN_HOST: "gateway.allowedHosts",
        UNLISTED_PROXY: "gateway.trustedProxies",
        HOOK_UNPROVEN: "hooks",
        code_of(FOREIGN_PAGE): "gateway.controlUi.allowedOrigins",
    }
)


class Strangers:
    def __init__(self, meters: Meters) -> None:
        self._meters = meters
        self._since_told: dict[str, Counter[str]] = {}

    def turned_away(self, code: str, address: str) -> None:
        """The first of an address is told at once, all more of them when the minute is over."""
        self._meters.turned_away(code)
        name = _shown(address)
        if name not in self._since_told and len(self._since_told) >= MOST:
            name = OTHERS
        if (more := self._since_told.get(name)) is not None:
            more[code] += 1
            return
        self._since_told[name] = Counter()
        setting = _SETTINGS.get(code)
        _log.warning(
            "turned away: %s from %s%s",
            code,
            name,
            f"; if it should come in, see `{setting}`" if setting else "",
        )

    async def watch(self, clock: Clock) -> None:
        """Tell of them until cancelled."""
        while True:
            await clock.sleep(MINUTE_MS)
            self._tell()

    def _tell(self) -> None:
        quiet = [name for name, more in self._since_told.items() if not more]
        for name in quiet:
            del self._since_told[name]
        for name, more in self._since_told.items():
            told = ", ".join(f"{code} {times} times" for code, times in more.most_common())
            _log.warning("turned away: %s more within a minute from %s", told, name)
            more.clear()


def _shown(address: str) -> str:
    """A proxy passes on what others wrote: so nothing of it may end a line."""
    return ascii(throttled_by(address))[1:-1][:_LONGEST] or "an unknown address"
