"""Where days turn and schedules are reckoned."""

from datetime import tzinfo

from roost.clock import host_zone
from roost.config import Loaded, policies


def zone_of(loaded: Loaded) -> tzinfo:
    """The configured time zone, or else the host's."""
    return policies.user_zone(loaded.settings) or host_zone(named=loaded.sources.zone)
