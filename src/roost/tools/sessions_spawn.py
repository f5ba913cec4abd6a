"""`sessions_spawn`: give a task to a session of its own and go on; how it ended is told when it has."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from roost.core import toolnames
from roost.core.effects import Effect, Effects
from roost.core.errors import Conflict, Forbidden, InvalidInput, RoostError
from roost.core.exchanges import Cleanup
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.labels import read_label
from roost.core.models import ToolSpec
from roost.core.snapshots import SpawnSnapshot
from roost.core.spawning import after, child_name, run_of, spawn
from roost.core.spawnwishes import Granted, Requester, SpawnRules, Wish, grant
from roost.core.terms import SpawnContext, SpawnMode
from roost.core.tools import Invocation, ToolOutcome, ToolTraits
from roost.core.visibility import Operation
from roost.ports import Report
from roost.tools.access import Access
from roost.tools.arguments import Arguments, object_schema
from roost.tools.gathering import Gathering
from roost.tools.outcomes import found, looked_up

LONGEST_TASK = 100_000
MOST_SECONDS = 7 * 86_400
REFUSED = "spawn_refused"

_TASK_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_RESERVED = frozenset({"all", "last"})
_DELIVERY = frozenset(
    {"target", "transport", "channel", "to", "threadId", "thread_id", "replyTo", "reply_to"}
)

Choice = TypeVar("Choice", bound=StrEnum)


class Runtime(StrEnum):
    SUBAGENT = "subagent"
    ACP = "acp"


class Confinement(StrEnum):
    INHERIT = "inherit"
    REQUIRE = "require"


@dataclass(slots=True, eq=False)
class _Call:
    """One call, and what came of it."""

    wish: Wish
    invocation: Invocation
    at: int
    context_tokens: int
    end: Granted | RoostError | None = None


class SessionsSpawn:
    # Beside others, so that those of one answer are committed together.
    traits = ToolTraits(reenterable=True, parallel=True)
    spec = ToolSpec(
        name=toolnames.SESSIONS_SPAWN,
        description=(
            "Give a task to a sub-agent that works in a session of its own. Returns at once with its `childSessionKey`; "
            "its report comes here when it is done, so do not ask for it again and again: go on, or call "
            "sessions_yield to wait. The sub-agent sees only `task` (with `context: fork` also this conversation), so "
            "write down all it needs."
        ),
        parameters=object_schema(
            {
                "task": {"type": "string", "description": "What to do, complete in itself."},
                "label": {"type": "string", "description": "A short name for people."},
                "taskName": {
                    "type": "string",
                    "description": "A handle for `subagents`: a-z, 0-9, _ and -, a letter first, at most 64.",
                },
                "agentId": {
                    "type": "string",
                    "description": "The agent that does it; see agents_list. Default: your own.",
                },
                "model": {
                    "type": "string",
                    "description": "Model to use, `provider/model` or an alias. Default: as configured, else yours, or that of "
                    "the other agent.",
                },
                "thinking": {"type": "string", "description": "How long to think: off, low, medium, high …"},
                "runTimeoutSeconds": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "Seconds after which it is stopped; 0: never. Default: as configured.",
                },
                "cleanup": {
                    "type": "string",
                    "enum": [str(one) for one in Cleanup],
                    "description": "`delete` removes its session once its end is told. Default: keep.",
                },
                "runtime": {
                    "type": "string",
                    "enum": [str(one) for one in Runtime],
                    "description": "What runs it. Default: subagent.",
                },
                "mode": {
                    "type": "string",
                    "enum": [str(one) for one in SpawnMode],
                    "description": "`run` does one task; `session` stays in this thread, and needs `thread`.",
                },
                "thread": {
                    "type": "boolean",
                    "description": "Bind this chat thread to the sub-agent: what people write here goes to it.",
                },
                "sandbox": {
                    "type": "string",
                    "enum": [str(one) for one in Confinement],
                    "description": "`require` refuses unless it runs in a sandbox. Default: inherit.",
                },
                "context": {
                    "type": "string",
                    "enum": [str(one) for one in SpawnContext],
                    "description": "`fork` lets it begin with this conversation. Default: isolated; with `thread`, for "
                    "your own agent, `fork` unless configured otherwise.",
                },
                "cwd": {"type": "string", "description": "Folder of your workspace in which it works."},
            },
            required=("task",),
        ),
    )

    def __init__(self, access: Access, rules: SpawnRules) -> None:
        self._access = access
        self._rules = rules
        self._together = Gathering(self._decide_all)

    async def run(self, invocation: Invocation, report: Report) -> ToolOutcome:
        return await looked_up(self._spawn(invocation))

    async def _spawn(self, invocation: Invocation) -> ToolOutcome:
        wish = _wish(self.spec, invocation.arguments)
        try:
            granted = await self._granted(wish, invocation)
        except Forbidden as error:
            target = wish.agent or self._rules.delegation.agent
            await self._access.deny(Operation.SPAWN, invocation, REFUSED, error.message, target)
            raise
        return _accepted(granted, self._access.shown(granted.order.child, invocation))

    async def _granted(self, wish: Wish, invocation: Invocation) -> Granted:
        tokens = invocation.context_tokens() if wish.may_fork else 0
        call = _Call(wish, invocation, self._access.clock.now(), tokens)
        await self._together.join(call)
        if isinstance(call.end, Granted):
            return call.end
        raise call.end or RoostError("the spawn came to no end", hint="try again")

    async def _decide_all(self, calls: Sequence[_Call]) -> None:
        for key in dict.fromkeys(call.invocation.key for call in calls):
            await self._decide([call for call in calls if call.invocation.key == key])

    async def _decide(self, calls: Sequence[_Call]) -> None:
        """Decided and made under the lock of the requester. A call that is made again after a crash finds the child it
        made."""
        store = self._access.store
        try:
            labels = frozenset(call.wish.label for call in calls if call.wish.label)
            await store.spawn(calls[0].invocation.key, lambda seen: self._made(seen, calls), labels)
        except Conflict as error:
            if len(calls) > 1:
                # One is in the way of the others: each by itself.
                for call in calls:
                    await self._decide([call])
                return
            (call,) = calls
            # Not by its session, which may be gone by now.
            if not isinstance(call.end, Granted) or not await store.completion(run_of(call.end.order.child)):
                call.end = Forbidden(error.message, hint=error.hint)
        except RoostError as error:
            for call in calls:
                call.end = error

    def _made(self, seen: SpawnSnapshot, calls: Sequence[_Call]) -> Effects:
        """The children of these calls, in their order; each call sees those before it."""
        made: list[Effect] = []
        for call in calls:
            try:
                granted = call.end = self._grant(seen, call)
            except RoostError as error:
                call.end = error
                continue
            if granted.order.child in (one.child for one in seen.requester.children):
                continue
            effects = (*granted.frees, *spawn(seen.requester, granted.order))
            seen = after(seen, effects)
            made += effects
        return tuple(made)

    def _grant(self, seen: SpawnSnapshot, call: _Call) -> Granted:
        invocation = call.invocation
        asked = replace(_requester(seen, invocation), context_tokens=call.context_tokens)
        self._access.require_own(Operation.SPAWN, asked.session, invocation)
        return grant(call.wish, self._rules, asked, call_id=invocation.call_id, at=call.at)


def _requester(seen: SpawnSnapshot, invocation: Invocation) -> Requester:
    """A call that is made again is not in its own way."""
    session, run = seen.requester.session, seen.requester.running
    if session is None or run is None or run.id != invocation.run_id:
        raise Forbidden("the run that would spawn is gone", hint="spawn nothing more")
    own = child_name(invocation.run_id, invocation.call_id)
    owed = tuple(one for one in seen.requester.children if one.child.name != own)
    return Requester(
        session=session,
        run=run,
        rights=invocation.rights,
        owed=owed,
        model=invocation.model,
        bound=seen.bound if seen.bound and seen.bound.key.name != own else None,
        namesakes=tuple(one for one in seen.namesakes if one.session.key.name != own),
    )


def _wish(spec: ToolSpec, given: JsonObject) -> Wish:
    if delivery := sorted(_DELIVERY & given.keys()):
        raise InvalidInput(
            f"`{spec.name}` takes no `{delivery[0]}`: the report goes where you were asked",
            hint="leave it out",
        )
    if "timeoutSeconds" in given or "timeout_seconds" in given:
        raise InvalidInput(f"`{spec.name}` takes no `timeoutSeconds`", hint="use `runTimeoutSeconds`")
    arguments = Arguments(spec, given)
    if _choice(arguments, "runtime", Runtime, Runtime.SUBAGENT) is Runtime.ACP:
        raise Forbidden('the runtime "acp" is not installed', hint='use `runtime: "subagent"`')
    task, name = arguments.text("task"), _text(arguments, "taskName")
    if not task.strip() or len(task) > LONGEST_TASK:
        raise InvalidInput(
            f"`task` is empty or longer than {LONGEST_TASK} characters", hint="write it out, files by name"
        )
    if name is not None and (not _TASK_NAME.fullmatch(name) or name in _RESERVED):
        raise InvalidInput(
            f"{name!r} is no `taskName`", hint="use a-z, 0-9, _ and -, a letter first; not `all` or `last`"
        )
    timed = arguments.has("runTimeoutSeconds")
    seconds = arguments.whole("runTimeoutSeconds", 0, least=0, most=MOST_SECONDS)
    return Wish(
        task=task,
        label=read_label(arguments.text_or("label", "")),
        task_name=name,
        agent=arguments.agent(),
        model=_text(arguments, "model"),
        thinking=_text(arguments, "thinking"),
        limit_seconds=seconds if timed else None,
        cleanup=_choice(arguments, "cleanup", Cleanup, Cleanup.KEEP),
        mode=_choice(arguments, "mode", SpawnMode) if arguments.has("mode") else None,
        thread=arguments.flag("thread"),
        sandboxed=_choice(arguments, "sandbox", Confinement, Confinement.INHERIT) is Confinement.REQUIRE,
        context=_choice(arguments, "context", SpawnContext) if arguments.has("context") else None,
        folder=_text(arguments, "cwd"),
    )


def _text(arguments: Arguments, name: str) -> str | None:
    """A text that means something; an empty one was left out."""
    return arguments.text_or(name, "").strip() or None


def _choice(arguments: Arguments, name: str, kind: type[Choice], default: Choice | None = None) -> Choice:
    word = arguments.text_or(name, default or "")
    try:
        return kind(word)
    except ValueError:
        raise InvalidInput(
            f"`{name}` cannot be {word!r}", hint=f"say {' or '.join(str(one) for one in kind)}"
        ) from None


def _accepted(granted: Granted, key: str) -> ToolOutcome:
    order, ref = granted.order, granted.model.ref
    named = {} if order.terms.task_name is None else {"taskName": order.terms.task_name}
    noted = {} if granted.note is None else {"note": granted.note}
    fields: dict[str, JsonValue] = {
        "status": "accepted",
        "runId": run_of(order.child),
        "childSessionKey": key,
        "mode": str(order.terms.mode),
        "context": str(order.context),
        **named,
        "resolvedModel": str(ref),
        "resolvedProvider": ref.provider,
        "expectsCompletionMessage": True,
        **noted,
    }
    return found(fields, fields)
