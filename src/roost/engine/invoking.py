"""One tool called by a person instead of a run: by the policy of the session it is called in, past the same guard."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from roost.core.jsonvalue import JsonObject
from roost.core.keys import SessionKey
from roost.core.ledger import Denial
from roost.core.messages import ProvenanceKind
from roost.core.runs import Cause, Request, Run, RunState
from roost.core.sessions import Labels, Overrides, Session
from roost.core.tools import Invocation, ToolOutcome
from roost.core.visibility import Operation, PersonCaller
from roost.engine.gateway import Engine
from roost.engine.reaching import reach
from roost.engine.toolcalls import invoked
from roost.ports import Tool

RULE = "tools.invoke"

Lets: TypeAlias = Callable[[Tool], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """`lets` says which tools may be called by this door at all."""

    key: SessionKey
    tool: str
    arguments: JsonObject
    trace: str
    lets: Lets


async def invoke(engine: Engine, caller: PersonCaller, wish: Wish) -> ToolOutcome | None:
    """What the tool answers; None if there is none of that name, or it may not be called. The latter is recorded."""
    session = await _session(engine, caller, wish.key)
    run = _as_run(engine, caller, wish)
    part = engine.rules.cast(session, run)
    tool = next((one for one in part.tools if one.spec.name == wish.tool), None)
    if tool is None or tool.traits.privileged or not wish.lets(tool):
        if tool is not None or any(one.name == wish.tool for one in part.removed):
            await engine.store.record_denial(_denial(engine, caller, wish))
        return None
    invocation = Invocation(
        run_id=run.id,
        call_id=run.id,
        agent=wish.key.agent,
        key=wish.key,
        cause=run.cause,
        place=part.place,
        arguments=wish.arguments,
        rights=part.rights,
        model=str(part.spec.ref),
    )
    return await invoked(tool, invocation, _unheard)


async def _session(engine: Engine, caller: PersonCaller, key: SessionKey) -> Session:
    found = await reach(engine.store, Operation.SEND, caller, key, engine.clock.now())
    return found or await engine.operations.open(caller, key, Labels(), Overrides())


def _as_run(engine: Engine, caller: PersonCaller, wish: Wish) -> Run:
    """The turn whose tools are meant; it is never queued."""
    now = engine.clock.now()
    return Run(
        id=engine.new_id(),
        key=wish.key,
        state=RunState.QUEUED,
        cause=Cause(principal=caller.principal, kind=ProvenanceKind.HUMAN, trace=wish.trace),
        request=Request(),
        queued_at=now,
        ready_at=now,
    )


def _denial(engine: Engine, caller: PersonCaller, wish: Wish) -> Denial:
    return Denial(
        at=engine.clock.now(),
        operation=wish.tool,
        principal=caller.principal,
        rule=RULE,
        reason=f"{wish.tool} may not be called over HTTP in this session",
        caller=wish.key,
    )


async def _unheard(output: str) -> None:
    """Nobody listens to a tool that is called alone."""
