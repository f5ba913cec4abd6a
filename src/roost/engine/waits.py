"""Waiting for what becomes of a message: from it to the run that took it, to how that ended.

A wait is only a view. Who stops waiting changes nothing, and may wait again.
"""

from dataclasses import dataclass

from roost.core.endings import continuations, gone_on, visible
from roost.core.errors import NotFound
from roost.core.inbound import InboundRecord, InboundState
from roost.core.keys import SessionKey
from roost.core.messages import AssistantMessage, text_of
from roost.core.principals import Principal
from roost.core.queries import HistoryQuery
from roost.core.runs import Run
from roost.ports import Clock, Store, Topic, TopicKind
from roost.ports.limits import OutOfTime, watched


@dataclass(frozen=True, slots=True, kw_only=True)
class Waited:
    """How far a message is. Unless `over`, the wait ended before it did. `record` is the message it was merged into
    if it was merged; `run` the one that took it, or would; `words` what that said at its end, if it ended well."""

    record: InboundRecord
    run: Run | None = None
    over: bool = False
    words: AssistantMessage | None = None

    @property
    def reply(self) -> str | None:
        """What people see of it."""
        return visible(text_of(self.words)) if self.words else None


class Waits:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def for_message(self, inbound_id: str, timeout_ms: int) -> Waited:
        """How a message ended, or how far it is when the time is over."""
        first = await self._record(inbound_id)
        deadline = self._clock.now() + timeout_ms

        async def over() -> Waited | None:
            waited = await self._look(inbound_id)
            return waited if waited.over else None

        async def wait() -> Waited:
            return await self._store.wait_for(Topic(TopicKind.SESSION, str(first.inbound.key)), over)

        try:
            return await watched(self._clock, lambda: deadline - self._clock.now(), wait)
        except OutOfTime:
            return await self._look(inbound_id)

    async def for_key(
        self, principal: Principal, key: SessionKey | None, idempotency_key: str, timeout_ms: int
    ) -> Waited:
        """The same for what a principal sent under its own key."""
        record = await self._store.inbound_by_key(principal, key, idempotency_key)
        if record is None:
            raise NotFound(f"no message was sent under {idempotency_key!r}", hint="send it first")
        return await self.for_message(record.inbound.id, timeout_ms)

    async def for_run(self, run_id: str, key: SessionKey, timeout_ms: int) -> Run | None:
        """A run that has ended, or as it is when the time is over; None if it went with its session."""
        deadline = self._clock.now() + timeout_ms

        async def over() -> tuple[Run | None] | None:
            run = await self._store.run(run_id)
            return (run,) if run is None or run.outcome is not None else None

        async def wait() -> tuple[Run | None]:
            return await self._store.wait_for(Topic(TopicKind.SESSION, str(key)), over)

        try:
            return (await watched(self._clock, lambda: deadline - self._clock.now(), wait))[0]
        except OutOfTime:
            return await self._store.run(run_id)

    async def _look(self, inbound_id: str) -> Waited:
        record = await self._record(inbound_id)
        while record.state is InboundState.MERGED and record.merged_into is not None:
            record = await self._record(record.merged_into)
        if record.state in (InboundState.DEAD, InboundState.ANSWERED):
            return Waited(record=record, over=True)
        run = await self._last_run(record.run_id) if record.run_id else None
        if run is None and record.state is InboundState.TAKEN:
            # Gone with its session: there is nothing left that could end.
            return Waited(record=record, over=True)
        if run is None or run.outcome is None or record.state is InboundState.PENDING:
            return Waited(record=record, run=run)
        return Waited(record=record, run=run, over=True, words=await self._words(run))

    async def _record(self, inbound_id: str) -> InboundRecord:
        record = await self._store.inbound(inbound_id)
        if record is None:
            raise NotFound(f"there is no message {inbound_id}")
        return record

    async def _last_run(self, run_id: str) -> Run | None:
        """The run, or the one that goes on where it yielded."""
        run = await self._store.run(run_id)
        while run is not None and run.outcome is not None and run.outcome.yielded:
            # Asked first: who is told of the last child goes on in the same moment.
            owed = await self._store.completions(run.key)
            later = [await self._store.run(one) for one in continuations(run.id)]
            run = gone_on(run, run.outcome, later, owed=any(one.batch == run.id for one in owed))
        return run

    async def _words(self, run: Run) -> AssistantMessage | None:
        if run.outcome is None or not run.outcome.succeeded:
            return None
        page = await self._store.history(HistoryQuery(key=run.key, session_id=run.session_id, tools=False))
        said = (entry.body for entry in reversed(page.entries) if entry.run_id == run.id)
        return next((body for body in said if isinstance(body, AssistantMessage)), None)
