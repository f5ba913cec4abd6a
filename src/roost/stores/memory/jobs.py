"""Jobs and what came of them, in memory."""

from roost.core.firings import Firing, FiringState
from roost.core.jobs import Job
from roost.stores.memory.state import State


class JobTables(State):
    async def jobs(self) -> tuple[Job, ...]:
        return tuple(sorted(self._jobs, key=lambda job: job.id))

    async def job(self, job_id: str) -> Job | None:
        return self._jobs.get(job_id)

    async def lock_job(self, job_id: str) -> Job | None:
        return self._jobs.get(job_id)

    async def due_jobs(self, now: int, limit: int) -> tuple[Job, ...]:
        due = ((job.next_at, job.id, job) for job in self._jobs if job.next_at is not None)
        return tuple(job for at, _, job in sorted(due, key=lambda one: one[:2]) if at <= now)[:limit]

    async def next_due_job(self) -> int | None:
        return min((job.next_at for job in self._jobs if job.next_at is not None), default=None)

    async def put_job(self, job: Job) -> None:
        self._jobs.put(job.id, job)

    async def delete_job(self, job_id: str) -> None:
        self._jobs.drop(job_id)

    async def firing(self, firing_id: str) -> Firing | None:
        return self._firings.get(firing_id)

    async def put_firing(self, firing: Firing) -> None:
        self._firings.put(firing.id, firing)

    async def unsettled_firings(self, job_id: str) -> tuple[Firing, ...]:
        return tuple(
            one for one in self._firings if one.job_id == job_id and one.state is FiringState.STARTED
        )

    async def firings(self, job_id: str | None, limit: int, offset: int) -> tuple[Firing, ...]:
        own = tuple(one for one in self._firings if _is_of(one, job_id))[::-1]
        return own[offset : offset + limit]

    async def count_firings(self, job_id: str | None) -> int:
        return sum(_is_of(one, job_id) for one in self._firings)


def _is_of(firing: Firing, job_id: str | None) -> bool:
    return not firing.key.heartbeat if job_id is None else firing.job_id == job_id
