"""Chat threads that belong to a session: the binding, what may be bound where, and how a binding changes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from roost.core.addresses import Account, Address
from roost.core.events import Unsaid
from roost.core.figures import HOUR_MS
from roost.core.keys import SessionKey
from roost.core.principals import Principal, PrincipalKind
from roost.core.terms import SpawnContext


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadBinding:
    """A chat thread that belongs to a session until it is idle or old."""

    address: Address
    key: SessionKey
    bound_by: Principal
    bound_at: int
    used_at: int
    idle_ms: int = 0
    max_age_ms: int = 0

    def expired(self, now: int) -> bool:
        """Whether the binding no longer routes; 0 means no limit."""
        return bool(self.idle_ms and now - self.used_at >= self.idle_ms) or bool(
            self.max_age_ms and now - self.bound_at >= self.max_age_ms
        )

    def is_changed_by(self, who: Principal) -> bool:
        """Who bound a thread, and the owner, may bind it elsewhere or not at all. What several people bound together, an agent
        bound, and others who speak together are the same agent."""
        return who.is_owner or (who == self.bound_by and who.kind is not PrincipalKind.AGENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadSettings:
    """Whether threads can be bound, whether a spawn may do it, for how long, and what such a child begins with."""

    enabled: bool = True
    spawns: bool = True
    idle_ms: int = 24 * HOUR_MS
    max_age_ms: int = 0
    context: SpawnContext = SpawnContext.FORK


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadPolicy:
    """What holds for a thread: what its account says, else its channel, else everybody."""

    base: ThreadSettings = field(default_factory=ThreadSettings)
    by_channel: Mapping[str, ThreadSettings] = field(default_factory=dict)
    by_account: Mapping[Account, ThreadSettings] = field(default_factory=dict)

    def of(self, address: Address) -> ThreadSettings:
        channel = self.by_channel.get(address.channel, self.base)
        return self.by_account.get(address.served_by, channel)

    def living(self, binding: ThreadBinding | None, now: int) -> ThreadBinding | None:
        """A binding, if it still routes."""
        if binding is None or binding.expired(now) or not self.of(binding.address).enabled:
            return None
        return binding


@dataclass(frozen=True, slots=True, kw_only=True)
class BindThread(Unsaid):
    binding: ThreadBinding


@dataclass(frozen=True, slots=True, kw_only=True)
class UseThread(Unsaid):
    """Somebody wrote in a thread; one that was bound elsewhere meanwhile, or no longer is, stays as it is."""

    address: Address
    key: SessionKey
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnbindThread(Unsaid):
    address: Address
