"""`sessions_yield`: end the turn and go on when the children of this turn have ended."""

from roost.core import toolnames
from roost.core.endings import completes
from roost.core.errors import InvalidInput
from roost.core.exchanges import Completion, CompletionStatus
from roost.core.jsonvalue import JsonValue
from roost.core.models import ToolSpec
from roost.core.tools import Invocation, ToolOutcome, ToolTraits
from roost.ports import Report
from roost.tools.access import Access
from roost.tools.arguments import Arguments, object_schema
from roost.tools.outcomes import found, looked_up

LONGEST_NOTE = 4_000
STOCK = "The turn ends here and goes on with what comes next."
NOTHING = "nothing that this turn spawned is still at work: it goes on at once if it spawned something, and is over otherwise"


class SessionsYield:
    traits = ToolTraits(reenterable=True, ends_turn=True)
    spec = ToolSpec(
        name=toolnames.SESSIONS_YIELD,
        description=(
            "End this turn now, without an answer, and go on when every sub-agent that this turn spawned has ended: "
            "their reports come as the next message. Call it after sessions_spawn when you need the results."
        ),
        parameters=object_schema(
            {"message": {"type": "string", "description": "A note to yourself for when you go on."}}
        ),
    )

    def __init__(self, access: Access) -> None:
        self._access = access

    async def run(self, invocation: Invocation, report: Report) -> ToolOutcome:
        return await looked_up(self._yield(invocation))

    async def _yield(self, invocation: Invocation) -> ToolOutcome:
        note = Arguments(self.spec, invocation.arguments).text_or("message", STOCK)
        if len(note) > LONGEST_NOTE:
            raise InvalidInput(f"`message` has more than {LONGEST_NOTE} characters", hint="note less")
        waiting: list[JsonValue] = [
            self._access.shown(one.child, invocation) for one in await self._awaited(invocation)
        ]
        fields: dict[str, JsonValue] = {"status": "yielded", "message": note, "pendingChildren": waiting}
        if not waiting:
            fields["warning"] = NOTHING
        return found(fields, fields)

    async def _awaited(self, invocation: Invocation) -> list[Completion]:
        """The children at work that this turn goes on after: those it spawned, and where it is at a task that was given to
        this session, all that have parts of it."""
        store, own = self._access.store, invocation.run_id
        pending = [
            one for one in await store.completions(invocation.key) if one.status is CompletionStatus.PENDING
        ]
        run = await store.run(own)
        task = None if run is None else await store.completion(completes(run))
        if task is None or task.status is not CompletionStatus.PENDING:
            return [one for one in pending if one.batch == own]
        spawning = {batch: await store.run(batch) for batch in {one.batch for one in pending}}
        at_task = {batch for batch, other in spawning.items() if other and completes(other) == task.child_run}
        return [one for one in pending if one.batch in at_task]
