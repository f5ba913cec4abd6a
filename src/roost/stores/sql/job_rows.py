"""Jobs and what came of them in SQL."""

from roost.core.firings import Firing
from roost.core.jobs import Job
from roost.stores.codec import encode, key_text
from roost.stores.sql.rows import Rows

# The sessions that agents look around in.
BEATS = "%:heartbeat"


class JobRows(Rows):
    async def jobs(self) -> tuple[Job, ...]:
        return await self._bodies("jobs", (), Job)

    async def job(self, job_id: str) -> Job | None:
        return await self._body("job", (job_id,), Job)  # type: ignore[no-any-return]

    async def lock_job(self, job_id: str) -> Job | None:
        return await self.job(job_id)

    async def due_jobs(self, now: int, limit: int) -> tuple[Job, ...]:
        return await self._bodies("due_jobs", (now, limit), Job)

    async def next_due_job(self) -> int | None:
        return (await self._one("next_due_job"))[0]  # type: ignore[no-any-return]

    async def put_job(self, job: Job) -> None:
        await self._do("put_job", (job.id, str(job.owner), job.next_at, encode(job), self._tenant))

    async def delete_job(self, job_id: str) -> None:
        await self._do("delete_job", (job_id,))

    async def firing(self, firing_id: str) -> Firing | None:
        return await self._body("firing", (firing_id,), Firing)  # type: ignore[no-any-return]

    async def put_firing(self, firing: Firing) -> None:
        values = (firing.id, firing.job_id, key_text(firing.key), firing.at, firing.state, encode(firing))
        await self._do("put_firing", (*values, self._tenant))

    async def unsettled_firings(self, job_id: str) -> tuple[Firing, ...]:
        return await self._bodies("unsettled_firings", (job_id,), Firing)

    async def firings(self, job_id: str | None, limit: int, offset: int) -> tuple[Firing, ...]:
        if job_id is None:
            return await self._bodies("every_firing", (BEATS, limit, offset), Firing)
        return await self._bodies("firings", (job_id, limit, offset), Firing)

    async def count_firings(self, job_id: str | None) -> int:
        if job_id is None:
            return await self._figure("count_every_firing", (BEATS,))
        return await self._figure("count_firings", (job_id,))
