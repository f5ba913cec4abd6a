"""The gateways of one store as they see each other: who is there, who serves which channel, whether they agree."""

from collections.abc import Iterable
from dataclasses import dataclass

from roost.core.addresses import Account
from roost.core.leases import Lease

SAME = "same configuration"
"""The part of a gateway's health that says whether all of them go by one."""
SAY_AGAIN_MS = 60_000
# A channel whose gateway went is not served by those who do not have it; after a day nobody has it any more.
ABANDONED_MS = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosting:
    """Which gateway serves a channel. `at` is when it last said so, by the database's clock; epoch 0 is that of one that
    has left it."""

    account: Account
    gateway: str
    epoch: int
    at: int

    def held_under(self, lease: Lease) -> bool:
        return (self.gateway, self.epoch) == (lease.gateway.name, lease.epoch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """All gateways that held a lease and are not forgotten, at one moment of the database's clock."""

    now: int
    leases: tuple[Lease, ...]
    hostings: tuple[Hosting, ...] = ()

    @property
    def live(self) -> tuple[Lease, ...]:
        return tuple(lease for lease in self.leases if lease.live(self.now))

    def host_of(self, account: Account) -> str | None:
        """The name of the gateway that serves a channel."""
        held = (one for one in self.hostings if one.account == account)
        return next((one.gateway for one in held if any(one.held_under(lease) for lease in self.live)), None)

    def hosted_by(self, lease: Lease) -> tuple[Account, ...]:
        return tuple(one.account for one in self.hostings if one.held_under(lease))

    def disagreement(self, name: str) -> str | None:
        """Which gateways go by another configuration than the one of this name, if any do."""
        live = {lease.gateway.name: lease.gateway for lease in self.live}
        own = live.pop(name, None)
        others = [one.name for one in live.values() if own and one.config_hash != own.config_hash]
        if not others:
            return None
        return f"gateway {name} goes by another configuration than {', '.join(others)}"


def elsewhere(hostings: Iterable[Hosting], lease: Lease, now: int) -> frozenset[Account]:
    """The channels that are for another gateway to serve, or were until a short while ago."""
    return frozenset(
        one.account for one in hostings if not one.held_under(lease) and now - one.at < ABANDONED_MS
    )
