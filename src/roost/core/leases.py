"""Which gateway may write. A lease names its holder and an epoch; a raised epoch voids older claims."""

from dataclasses import dataclass

# What a gateway leaves is taken over within ten seconds: the lease, one look, and the work of taking over.
LEASE_MS = 8_000
RENEW_MS = 2_000
# So long it shows in the store when a gateway that died was last there.
FORGOTTEN_MS = 7 * 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """A gateway as it introduces itself. `name` is stable across restarts, `holder` is this process."""

    name: str
    holder: str
    address: str = ""
    config_hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Times are the database's own."""

    gateway: Gateway
    epoch: int
    expires_at: int

    def live(self, now: int) -> bool:
        return now < self.expires_at

    def forgotten(self, now: int) -> bool:
        """Released, or over for so long that nobody asks for it."""
        return self.expires_at + FORGOTTEN_MS <= now
