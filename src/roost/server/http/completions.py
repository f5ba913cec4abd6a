"""`/v1/models` and `POST /v1/chat/completions`: an agent as if it were a model."""

from functools import partial
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from roost.core.errors import InvalidInput
from roost.core.keys import KeyKind, SessionKey
from roost.core.notices import derived_id
from roost.core.principals import Principal
from roost.core.visibility import PersonCaller
from roost.protocol.completions import (
    NAME,
    Completion,
    CompletionParams,
    Model,
    Models,
    Shape,
    Wanted,
    agent_of,
    model_rows,
    read_wanted,
)
from roost.protocol.params import LONGEST_NAME
from roost.protocol.scopes import Scope
from roost.protocol.traces import trace_of
from roost.server.auth import Admitted
from roost.server.house import House
from roost.server.http.asking import Question
from roost.server.http.entry import Entry
from roost.server.http.offers import EVENTS, JSON, NOT_FOUND, TAKEN, UNFIT, WRITE, Body, Offer
from roost.server.http.pages import Json, Turned, dismissed, read_json
from roost.server.http.streams import DONE, Emit, EventStream, event, while_there

CHOSEN_KEY = "x-openclaw-session-key"
CHOSEN_MODEL = "x-openclaw-model"
CHOSEN_AGENT = "x-openclaw-agent-id"
KEY = "idempotency-key"

MODELS = Offer(paths=("/v1/models",), about="The agents, as models.", needs=Scope.READ, gives={JSON: Models})
MODEL = Offer(
    paths=("/v1/models/{name:path}",),
    about="One of them.",
    needs=Scope.READ,
    gives={JSON: Model},
    refuses=(NOT_FOUND,),
)
COMPLETE = Offer(
    paths=("/v1/chat/completions",),
    about="The agent's answer, whole or as a stream.",
    verbs=WRITE,
    needs=Scope.WRITE,
    body=Body(schema=CompletionParams, most=20 * 1024 * 1024),
    headers={
        CHOSEN_AGENT: "Another agent than `model` names.",
        KEY: "Makes a question the same question.",
        "traceparent": "The trace it belongs to.",
    },
    gives={JSON: Completion, EVENTS: {}},
    refuses=(NOT_FOUND, TAKEN, UNFIT),
)


class Completions:
    def __init__(self, house: House, entry: Entry) -> None:
        self._house = house
        self._entry = entry

    async def models(self, request: Request) -> Response:
        await self._entry.admit(request, MODELS)
        return Json(Models(object="list", data=model_rows(self._agents)))

    async def model(self, request: Request) -> Response:
        await self._entry.admit(request, MODEL)
        named = request.path_params["name"]
        found = next((row for row in model_rows(self._agents) if row["id"] == named), None)
        if found is None:
            raise Turned(NOT_FOUND, f"there is no model {named[:200]!r}", "not_found")
        return Json(found)

    async def complete(self, request: Request) -> Response:
        if not self._house.engine.rules.house.completions:
            raise Turned(NOT_FOUND, "off: see `gateway.http.endpoints.chatCompletions.enabled`", "not_found")
        admitted = await self._entry.admit(request, COMPLETE)
        if CHOSEN_KEY in request.headers:
            raise InvalidInput("a caller does not choose its session", hint="name one of its own with `user`")
        if CHOSEN_MODEL in request.headers:
            raise InvalidInput("a caller does not choose an agent's model", hint="set it on the agent")
        wanted = read_wanted(await read_json(request, COMPLETE, self._house.callers, admitted))
        agent = self._agent(wanted.model, request.headers.get(CHOSEN_AGENT))
        name = _name(request.headers.get(KEY))
        question = Question(
            house=self._house,
            caller=PersonCaller(principal=admitted.principal),
            key=self._key(agent, wanted.user, name, admitted.principal),
            name=name or self._house.new_id(),
            trace=trace_of(request.headers.get("traceparent")),
            # What may be asked for again is kept as long as any such session.
            thrown_away=wanted.user is None and name is None,
            named=name is not None,
        )
        if name is not None:
            await question.refuse_other(wanted)
        return await self._answer(request, question, wanted, admitted)

    @property
    def _agents(self) -> tuple[str, ...]:
        return self._house.engine.rules.commands.agents

    def _agent(self, model: str, chosen: str | None) -> str:
        """The agent that a header names, else the one that is asked for as a model."""
        agent = agent_of(model.lower(), self._house.engine.rules.routing.default_agent)
        if agent is None or agent not in self._agents:
            raise InvalidInput(f"there is no model {model[:200]!r}", hint=f"say `{NAME}/<agent>`")
        named = (chosen or agent).strip().lower()
        if named not in self._agents:
            raise InvalidInput(
                f"there is no agent {named[:200]!r}", hint=f"there are: {', '.join(self._agents)}"
            )
        return named

    def _key(self, agent: str, user: str | None, name: str | None, principal: Principal) -> SessionKey:
        """Below the caller's own principal; the owner's own names stand alone. A question with a name and no user has a
        session that is found by it."""
        if user is None:
            own = self._house.new_id() if name is None else derived_id("completion", str(principal), name)
            return SessionKey(agent=agent, kind=KeyKind.DASHBOARD, name=own)
        names = ("openai-user", *(() if principal.is_owner else (_quoted(str(principal)),)), _quoted(user))
        return SessionKey.named(agent, ":".join(names))

    async def _answer(
        self, request: Request, question: Question, wanted: Wanted, admitted: Admitted
    ) -> Response:
        house = self._house
        now = house.clock.now() // 1000
        shape = Shape(id=f"chatcmpl_{house.new_id()}", model=wanted.model, created=now)
        if wanted.stream:
            return EventStream(partial(_stream, question, wanted, shape, admitted))
        reply = None
        with house.callers.staying(admitted) as stay:
            reply = await while_there(request.receive, partial(question.ask, wanted, stay))
        if reply is None:
            raise dismissed(stay)
        if reply.failure is not None:
            raise Turned(UNFIT, reply.failure, "api_error")
        return Json(shape.whole(reply.text, reply.usage, cut=reply.cut))


async def _stream(question: Question, wanted: Wanted, shape: Shape, admitted: Admitted, emit: Emit) -> None:
    async def say(text: str) -> None:
        await emit(event(shape.chunk({"content": text})))

    await emit(event(shape.chunk({"role": "assistant", "content": ""})))
    with question.house.callers.staying(admitted) as stay:
        reply = await question.ask(wanted, stay, say)
    failure = stay.why.reason if stay.scope.cancelled_caught else reply.failure
    if failure is not None:
        await emit(event({"error": {"message": failure, "type": "api_error"}}))
    else:
        await emit(event(shape.end(cut=reply.cut)))
        if wanted.counts:
            await emit(event(shape.spent(reply.usage)))
    await emit(DONE)


def _name(given: str | None) -> str | None:
    if given and len(given) > LONGEST_NAME:
        raise InvalidInput(f"`{KEY}` has at most {LONGEST_NAME} characters", hint="give a shorter one")
    return given or None


def _quoted(name: str) -> str:
    """A name in which nothing reads as a part of a key."""
    return quote(name, safe="@+")
