"""`POST /tools/invoke`: one tool, by the policy of a session. Those that run programs, write files or act for a run are
not there at all; session tools need a scope of their own."""

from functools import partial
from typing import Annotated, Literal, NotRequired, cast

from pydantic import Field
from pydantic import JsonValue as AnyJson
from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import TypedDict

from roost.core import toolnames
from roost.core.errors import NotFound
from roost.core.jsonvalue import JsonObject
from roost.core.messages import Text, UserBlock
from roost.core.toolpolicy import of_sessions
from roost.core.tools import ToolOutcome
from roost.core.visibility import Operation, PersonCaller
from roost.engine.invoking import Wish, invoke
from roost.ports import Tool
from roost.protocol.params import AgentId, Name, Params, SessionName, Short, read_params
from roost.protocol.scopes import Scope, holds
from roost.protocol.traces import trace_of
from roost.server.auth import Admitted
from roost.server.house import House
from roost.server.http.entry import Entry
from roost.server.http.offers import (
    AWAY,
    BAD,
    JSON,
    NOT_FOUND,
    UNAUTHORIZED,
    WRITE,
    Body,
    Failure,
    Offer,
    Reason,
)
from roost.server.http.pages import Json, read_json

ACTING = frozenset(
    {
        toolnames.CRON,
        toolnames.EXEC,
        toolnames.WRITE,
        toolnames.EDIT,
        toolnames.SESSIONS_SEND,
        toolnames.SESSIONS_SPAWN,
        toolnames.SESSIONS_YIELD,
        toolnames.SUBAGENTS,
    }
)


class InvokeParams(Params):
    tool: Name | None = None
    name: Name | None = None
    args: Annotated[dict[str, AnyJson], Field(default_factory=dict)]
    action: Short | None = None
    session_key: SessionName | None = None
    agent_id: AgentId | None = None
    idempotency_key: Short | None = None


class TextBlock(TypedDict):
    type: Literal["text"]
    text: str


class ImageBlock(TypedDict):
    type: Literal["image"]
    data: str
    mimeType: str


class Result(TypedDict):
    content: list[TextBlock | ImageBlock]
    details: NotRequired[AnyJson]


class Invoked(TypedDict):
    ok: Literal[True]
    result: Result


class NotInvoked(TypedDict):
    ok: Literal[False]
    error: Reason


INVOKE = Offer(
    paths=("/tools/invoke",),
    about="What one tool says.",
    verbs=WRITE,
    needs=Scope.WRITE,
    body=Body(schema=InvokeParams, most=2 * 1024 * 1024),
    headers={"traceparent": "The trace it belongs to."},
    gives={JSON: Invoked},
    refusal=Failure | NotInvoked,
    refuses=(NOT_FOUND, UNAUTHORIZED, AWAY),
)


class Tools:
    def __init__(self, house: House, entry: Entry) -> None:
        self._house = house
        self._entry = entry

    async def invoke(self, request: Request) -> Response:
        admitted = await self._entry.admit(request, INVOKE)
        callers = self._house.callers
        params = read_params(
            "tools.invoke", InvokeParams, await read_json(request, INVOKE, callers, admitted)
        )
        name = params.tool or params.name
        if name is None:
            return _refused(BAD, "invalid_request", "tools.invoke requires a tool name")
        caller = PersonCaller(principal=admitted.principal)
        named = params.session_key or "main"
        wish = Wish(
            key=await self._house.meant(Operation.SEND, caller, named, params.agent_id),
            tool=name,
            arguments=_arguments(params),
            trace=trace_of(request.headers.get("traceparent")) or self._house.new_id(),
            lets=partial(_lets, admitted),
        )
        with callers.staying(admitted) as stay:
            try:
                outcome = await invoke(self._house.engine, caller, wish)
            except NotFound as error:
                return _refused(NOT_FOUND, "not_found", str(error))
        if stay.scope.cancelled_caught:
            return _refused(stay.why.status, stay.why.kind, stay.why.reason)
        if outcome is None:
            return _refused(NOT_FOUND, "not_found", f"Tool not available: {name}")
        return _told(outcome)


def _lets(admitted: Admitted, tool: Tool) -> bool:
    name = tool.spec.name
    return name not in ACTING and (not of_sessions(name) or holds(admitted.scopes, Scope.SESSION_TOOLS))


def _arguments(params: InvokeParams) -> JsonObject:
    action = {} if params.action is None else {"action": params.action}
    return {**action, **params.args}


def _told(outcome: ToolOutcome) -> Response:
    if outcome.is_error:
        said = "\n".join(block.text for block in outcome.content if isinstance(block, Text))
        return _refused(BAD, "tool_error", said)
    result = Result(content=[_block(block) for block in outcome.content])
    if outcome.details is not None:
        result["details"] = cast("AnyJson", outcome.details)
    return Json(Invoked(ok=True, result=result))


def _block(block: UserBlock) -> TextBlock | ImageBlock:
    if isinstance(block, Text):
        return TextBlock(type="text", text=block.text)
    return ImageBlock(type="image", data=block.data, mimeType=block.mime)


def _refused(status: int, kind: str, message: str) -> Response:
    return Json(NotInvoked(ok=False, error=Reason(message=message, type=kind)), status)
