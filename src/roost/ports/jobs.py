"""The part of a store that keeps what happens by a schedule: jobs, and what came of them."""

from typing import Protocol

from roost.core.firings import Firing
from roost.core.jobs import DecideFiring, DecideJob, Job, Venue
from roost.core.leases import Lease
from roost.core.queries import Page


class Jobs(Protocol):
    async def jobs(self) -> tuple[Job, ...]:
        """Every job, by id."""
        ...

    async def job(self, job_id: str) -> Job | None: ...

    async def change_job(self, job_id: str, decide: DecideJob) -> Job | None:
        """Write the job that `decide` makes of the one there is, or remove it; as it is then. What came of it stays."""
        ...

    async def due_jobs(self, now: int, limit: int) -> tuple[Job, ...]:
        """Those whose time has come, the one that waits longest first."""
        ...

    async def next_due_job(self) -> int | None:
        """When the next one is due; None: none is."""
        ...

    async def fire_job(self, lease: Lease, seen: Job, where: Venue, decide: DecideFiring) -> Job | None:
        """Take up a job for a gateway, with all that follows from it. One that was changed, or taken up, since it was
        `seen` is left, and None answered."""
        ...

    async def firings(self, job_id: str | None, *, limit: int, offset: int = 0) -> Page[Firing]:
        """What came of a job, or of all but look-arounds, newest first, each as it stands by its run. News of them is
        news of jobs."""
        ...

    async def count_firings(self, job_id: str | None) -> int: ...
