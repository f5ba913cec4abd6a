"""The part of a store that knows runs: who plays them, and how they end."""

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from roost.core.effects import Effects
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.ledger import LedgerRow
from roost.core.runs import Claim, Run, Step
from roost.core.snapshots import Advance, RunSnapshot
from roost.core.turntaking import Choose

Recover: TypeAlias = Callable[[RunSnapshot], Effects]


@dataclass(frozen=True, slots=True, kw_only=True)
class Starter:
    """Who starts runs: under which lease, which of those that wait, and what is done with one that was started.

    `choose` may be called on another thread; `begin` must be quick, and raise nothing."""

    lease: Lease
    choose: Choose
    begin: Callable[[Run], None]


class Runs(Protocol):
    async def run(self, run_id: str) -> Run | None: ...

    async def active_runs(self, key: SessionKey) -> tuple[Run, ...]:
        """The runs of a session that have not ended, oldest first."""
        ...

    async def claim_runs(self, lease: Lease, choose: Choose) -> tuple[Run, ...]:
        """Start runs for a gateway. `choose` sees runs that are ready (one a session, none of a session
        that has one running) and those running; what it picks is claimed with a raised fence."""
        ...

    def starting(self, starter: Starter) -> AbstractContextManager[None]:
        """Within the context, a run that has nobody to wait for may be claimed by the transaction that queues it, as
        `claim_runs` would, and is begun on the event loop: after the commit, and before whoever made it goes on. A store
        may as well leave every one to `claim_runs`; what it starts is no news."""
        ...

    async def unclaim_runs(self, lease: Lease, known: Collection[Claim]) -> tuple[Run, ...]:
        """Queue again what is claimed under a lease and not `known` to who holds it: claimed, and never heard of. No
        claim under it may be on its way here; one that the database still works on is waited for."""
        ...

    async def begin_step(self, claim: Claim, step: Step, call: LedgerRow | None = None) -> None:
        """Record what is about to happen, before it happens. A run that was stopped is `Fenced`.

        `call` is what the ledger says of a model call whose cost is never heard of, unless it holds its means."""
        ...

    async def finish_run(self, claim: Claim, advance: Advance) -> Run:
        """End a run with everything that follows from its end. `advance` must end it."""
        ...

    async def overdue_runs(self, now: int) -> tuple[Run, ...]:
        """Runs that yielded and were to be gone on with before now, some of the earliest first."""
        ...

    async def give_up(self, lease: Lease, run_id: str, advance: Advance) -> Run | None:
        """End a run that yielded and still waits, with everything that follows from that; None for one that does not,
        which is overdue no more. `advance` must end it."""
        ...

    async def reap_runs(self, lease: Lease, recover: Recover) -> tuple[Run, ...]:
        """Give every run whose gateway is gone, or began anew, its fate; the runs as they are after it. Each in its own
        transaction: one that cannot be given a fate raises after all others have theirs."""
        ...
