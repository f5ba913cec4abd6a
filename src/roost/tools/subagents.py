"""`subagents`: how the sessions stand that this one spawned; wait for them, say more to them, stop them."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from roost.core import stopping, toolnames
from roost.core.childviews import (
    RECENT_MS,
    ChildView,
    ReadableChild,
    chosen,
    left_out,
    newest_of,
    numbered,
    readable,
    shown,
)
from roost.core.effects import Effects, EndRun, RequestStop
from roost.core.endings import completes, visible
from roost.core.entries import Entry
from roost.core.errors import InvalidInput
from roost.core.exchanges import CompletionStatus
from roost.core.figures import counted
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.keys import KeyKind, SessionKey
from roost.core.messages import AssistantMessage, text_of
from roost.core.models import ToolSpec
from roost.core.notices import derived_id
from roost.core.queries import HistoryQuery, SessionQuery
from roost.core.redaction import SecretScanner, redact
from roost.core.runs import RunKind, StopRequest
from roost.core.sessions import Session
from roost.core.spawning import run_of
from roost.core.steering import Steered, Word, steer
from roost.core.stopping import Stopped
from roost.core.tools import Invocation, ToolOutcome, ToolTraits
from roost.core.topics import Topic, TopicKind
from roost.core.trees import Tree
from roost.core.visibility import EVERYTHING, Operation
from roost.ports import Report
from roost.ports.limits import if_within
from roost.tools.access import Access, Found
from roost.tools.arguments import Arguments, object_schema
from roost.tools.outcomes import found, looked_up

LONGEST_WORD = 4_000
RESULT_CHARS = 4_000
LOOKED_BACK = 20
ENDS_WITHIN_MS = 5_000
REASON = "stopped by the session that started it"

Stop: TypeAlias = Callable[[str, str], object]
"""Ends a run that is under way in this process, for a reason."""


class Subagents:
    traits = ToolTraits(reenterable=True, waits=True, recalls=True)
    spec = ToolSpec(
        name=toolnames.SUBAGENTS,
        description=(
            "Look after the sub-agents that this session spawned. `list` shows those at work and those that ended "
            "lately; `wait` waits until the target has ended and returns what it said; `steer` says more about its task "
            "to one at work; `kill` stops the target with everything below it. Reports come by themselves: do not call "
            "`list` in a loop."
        ),
        parameters=object_schema(
            {
                "action": {
                    "type": "string",
                    "enum": ["list", "wait", "steer", "kill"],
                    "description": "What to do. Default: list. The others need `target`; steer needs `message` too.",
                },
                "target": {
                    "type": "string",
                    "description": (
                        "Number in the list, run id or its beginning, key, label, taskName, `last`; `all` for kill and wait."
                    ),
                },
                "message": {
                    "type": "string",
                    "description": "What to say to it (steer), at most 4000 characters.",
                },
                "timeoutSeconds": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "How long to wait, at most 60. Default 30.",
                },
                "recentMinutes": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "How far back `list` looks, at most 1440. Default 30.",
                },
            }
        ),
    )

    def __init__(self, access: Access, scanner: SecretScanner, stop: Stop) -> None:
        self._access = access
        self._scanner = scanner
        self._store = access.store
        self._stop = stop

    async def run(self, invocation: Invocation, report: Report) -> ToolOutcome:
        return await looked_up(self._act(invocation))

    async def _act(self, invocation: Invocation) -> ToolOutcome:
        arguments = Arguments(self.spec, invocation.arguments)
        match arguments.text_or("action", "list"):
            case "list":
                return await self._list(arguments, invocation)
            case "wait":
                return await self._wait(arguments, invocation)
            case "steer":
                return await self._steer(arguments, invocation)
            case "kill":
                return await self._kill(arguments, invocation)
            case other:
                raise InvalidInput(f"`action` cannot be {other!r}", hint="say list, wait, steer or kill")

    # -- seeing --------------------------------------------------------------------------------------

    async def _sessions(self, invocation: Invocation) -> dict[int, Session]:
        """Those of the children that were active last, and every one at work, by their numbers."""
        spawned = await self._store.spawned(invocation.key)
        query = newest_of(invocation.key, self._access.scope(Operation.LIST, invocation))
        rows = [*(await self._store.list_sessions(query)).rows]
        if not rows:
            await self._refuse_unseen(query, invocation)
        if more := left_out(query, spawned, rows):
            rows += (await self._store.list_sessions(more)).rows
        return numbered(spawned, rows)

    async def _refuse_unseen(self, query: SessionQuery, invocation: Invocation) -> None:
        """Raise if there are children that may not be seen: nobody is told that there are none."""
        anywhere = replace(query, scope=EVERYTHING, limit=1)
        for row in (await self._store.list_sessions(anywhere)).rows:
            await self._access.require(Operation.LIST, Found(session=row), invocation)

    async def _views(self, invocation: Invocation) -> tuple[ReadableChild, ...]:
        """Every child that may be seen, in the order in which they were spawned."""
        views: list[ReadableChild] = []
        for number, row in (await self._sessions(invocation)).items():
            run = await self._store.run(run_of(row.key))
            if run is not None:
                at_work = sorted(
                    await self._store.active_runs(row.key), key=lambda one: completes(one) != run.id
                )
                below, deeper = await self._at_work_below(row.key)
                view = ChildView(
                    number=number,
                    session=row,
                    run=run,
                    active=at_work[0] if at_work else None,
                    task=await self._store.completion(run.id),
                    below=below,
                    deeper=deeper,
                    tokens=row.counters.input + row.counters.output,
                )
                views.append(readable(view, self._scanner))
        return tuple(views)

    async def _at_work_below(self, key: SessionKey) -> tuple[int, int]:
        """How many of its own children are at work, and how many below those."""
        owed = await self._store.completions(key)
        own = [one.child for one in owed if one.status is CompletionStatus.PENDING]
        further = [await self._at_work_below(child) for child in own]
        return len(own), sum(below + deeper for below, deeper in further)

    async def _chosen(self, arguments: Arguments, invocation: Invocation) -> tuple[ReadableChild, ...]:
        # Whoever names a child by its label knows the label as it was given, or as he was shown it.
        target, _ = redact(arguments.text_or("target", ""), self._scanner)
        return chosen(target, await self._views(invocation), self._access.clock.now())

    async def _list(self, arguments: Arguments, invocation: Invocation) -> ToolOutcome:
        now = self._access.clock.now()
        minutes = arguments.whole("recentMinutes", RECENT_MS // 60_000, least=1, most=1440)
        views = [view for view in await self._views(invocation) if view.recent(now, minutes * 60_000)]
        rows: list[tuple[ReadableChild, JsonValue]] = [
            (view, shown(view, self._access.shown(view.session.key, invocation), now)) for view in views
        ]
        own = self._access.shown(invocation.key, invocation)
        lines = [f"#{view.number} {view.label}: {view.status}" for view in views]
        fields: dict[str, JsonValue] = {
            "status": "ok",
            "action": "list",
            "requesterSessionKey": own,
            "callerSessionKey": own,
            "callerIsSubagent": invocation.key.kind is KeyKind.SUBAGENT,
            "total": len(views),
            "active": [row for view, row in rows if view.at_work],
            "recent": [row for view, row in rows if not view.at_work],
            "text": "\n".join(lines) or "No sub-agents at work or lately.",
        }
        return found(fields, {"status": "ok", "action": "list", "total": len(views)})

    async def _wait(self, arguments: Arguments, invocation: Invocation) -> ToolOutcome:
        seconds = arguments.whole("timeoutSeconds", 30, least=0, most=60)
        awaited = {view.session.key: view for view in await self._chosen(arguments, invocation)}

        async def ended() -> bool | None:
            owed = await self._store.completions(invocation.key)
            at_work = any(one.status is CompletionStatus.PENDING for one in owed if one.child in awaited)
            return None if at_work else True

        topic = Topic(TopicKind.SESSION, str(invocation.key))
        waited = await if_within(
            self._access.clock, 1_000 * seconds, lambda: self._store.wait_for(topic, ended)
        )
        # Where no time is given nothing was looked at yet.
        done = waited or await ended()
        now = {view.session.key: view for view in await self._views(invocation)}
        views = [now.get(key) or await self._gone(view) for key, view in awaited.items()]
        children: list[JsonValue] = [await self._with_result(view, invocation) for view in views]
        fields: dict[str, JsonValue] = {
            "status": "ok" if done else "timeout",
            "action": "wait",
            "children": children,
        }
        return found(fields, {"status": fields["status"], "action": "wait", "total": len(children)})

    async def _gone(self, view: ReadableChild) -> ReadableChild:
        """A child whose session was removed once its end was told: what is owed for it says how it ended."""
        task = await self._store.completion(view.run.id)
        return readable(replace(view, active=None, task=task), self._scanner)

    async def _with_result(self, view: ReadableChild, invocation: Invocation) -> dict[str, JsonValue]:
        key = self._access.shown(view.session.key, invocation)
        told = dict(shown(view, key, self._access.clock.now()))
        if view.error is not None:
            told["error"] = view.error
        elif not view.awaited:
            told |= await self._result(view)
        return told

    async def _result(self, view: ReadableChild) -> JsonObject:
        """The last thing it said; data, as all that other sessions say."""
        said = await self._said_last(view)
        if said is None:
            return {}
        shown, redacted = redact(said, self._scanner)
        return {
            "result": shown[:RESULT_CHARS],
            **({"contentTruncated": True} if len(shown) > RESULT_CHARS else {}),
            **({"contentRedacted": True} if redacted else {}),
        }

    async def _said_last(self, view: ReadableChild) -> str | None:
        query = HistoryQuery(
            key=view.session.key, session_id=view.session.session_id, tools=False, limit=LOOKED_BACK
        )
        for entry in reversed((await self._store.history(query)).entries):
            said = visible(text_of(entry.body)) if isinstance(entry.body, AssistantMessage) else None
            if said and not await self._is_announced(entry):
                return said
        return None if not view.task else view.task.result

    async def _is_announced(self, entry: Entry) -> bool:
        """Whether it was said to the chat of its requester, of what came of its task."""
        run = None if entry.run_id is None else await self._store.run(entry.run_id)
        return run is not None and run.request.kind is RunKind.ANNOUNCE

    # -- acting --------------------------------------------------------------------------------------

    async def _steer(self, arguments: Arguments, invocation: Invocation) -> ToolOutcome:
        text = arguments.text("message").strip()
        if not text or len(text) > LONGEST_WORD:
            raise InvalidInput(
                f"`message` is empty or longer than {LONGEST_WORD} characters", hint="say less"
            )
        several = await self._chosen(arguments, invocation)
        if len(several) != 1:
            raise InvalidInput("only one sub-agent can be steered at a time", hint="name one")
        view = several[0]
        await self._allow(view, invocation)
        word = Word(
            id=derived_id("steer", invocation.run_id, invocation.call_id),
            child=view.session.key,
            requester=invocation.key,
            cause=invocation.cause,
            spawned=view.run,
            text=text,
            at=self._access.clock.now(),
        )
        steered: list[Steered | None] = []

        def decide(tree: Tree) -> Effects:
            steered.append(steer(tree, word))
            return steered[-1].effects if steered[-1] else ()

        if await self._store.inbound(word.id) is None:
            await self._store.change_tree(invocation.key, decide)
        named = self._named(view, invocation)
        if steered and steered[-1] is None:
            done = {"status": "done", "action": "steer", **named, "text": f"{view.label} has ended already."}
            return found(done, done)
        mode = str(steered[-1].mode) if steered and steered[-1] else "steered"
        fields: dict[str, JsonValue] = {
            "status": "accepted",
            "action": "steer",
            **named,
            "mode": mode,
            "text": f"{view.label} is told at its next step."
            if mode == "steered"
            else f"{view.label} goes on with it.",
        }
        return found(fields, fields)

    async def _kill(self, arguments: Arguments, invocation: Invocation) -> ToolOutcome:
        views = await self._chosen(arguments, invocation)
        for view in views:
            await self._allow(view, invocation)
        request = StopRequest(reason=REASON, by=invocation.cause.principal, at=self._access.clock.now())
        keys = [view.session.key for view in views if view.at_work]
        killed: list[Stopped] = []

        def decide(tree: Tree) -> Effects:
            killed.append(stopping.kill(tree, keys, request))
            return killed[-1].effects

        await self._store.change_tree(invocation.key, decide)
        for run in killed[-1].runs:
            self._stop(run, REASON)
        runs = [one.run_id for one in killed[-1].effects if isinstance(one, RequestStop | EndRun)]
        going = await self._not_ended(runs)
        fields = self._counted(arguments, views, killed[-1], invocation)
        fields |= {"runIds": [*runs], **({"stillEnding": [*going]} if going else {})}
        return found(fields, fields)

    def _counted(
        self, arguments: Arguments, views: tuple[ReadableChild, ...], killed: Stopped, invocation: Invocation
    ) -> dict[str, JsonValue]:
        target = arguments.text("target")
        if len(views) != 1 or target.strip().lower() in ("all", "*"):
            return {
                "status": "ok",
                "action": "kill",
                "target": "all",
                "killed": killed.children,
                "labels": [view.label for view in views],
                "text": f"Stopped {counted(killed.children, 'sub-agent')}.",
            }
        named = self._named(views[0], invocation)
        if killed.nothing:
            return {
                "status": "done",
                "action": "kill",
                "target": target,
                **named,
                "text": "It had ended already.",
            }
        below = max(0, killed.children - 1)
        return {
            "status": "ok",
            "action": "kill",
            "target": target,
            **named,
            "cascadeKilled": below,
            "text": f"Stopped {views[0].label} and {below} below it.",
        }

    async def _not_ended(self, runs: list[str]) -> tuple[str, ...]:
        """The runs that have not ended after a while: each ends with every process it started."""

        async def going() -> tuple[str, ...]:
            found = [(run, await self._store.run(run)) for run in runs]
            return tuple(name for name, run in found if run is not None and not run.state.ended)

        async def all_ended() -> bool | None:
            return None if await going() else True

        async def wait() -> bool:
            return await self._store.wait_for(Topic(TopicKind.RUNS), all_ended)

        await if_within(self._access.clock, ENDS_WITHIN_MS, wait)
        return await going()

    async def _allow(self, view: ReadableChild, invocation: Invocation) -> None:
        await self._access.require(Operation.STOP, Found(session=view.session), invocation)

    def _named(self, view: ReadableChild, invocation: Invocation) -> dict[str, JsonValue]:
        key = self._access.shown(view.session.key, invocation)
        return {"runId": view.run.id, "sessionKey": key, "label": view.label}
