"""Saying something in a session, waiting for what becomes of it, and stopping it."""

from dataclasses import dataclass, field, replace
from typing import assert_never

from roost.core.addressed import Addressed, Commands
from roost.core.errors import InvalidInput, NotFound
from roost.core.inbound import InboundRecord, InboundState, digest_of
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.keys import SessionKey
from roost.core.messages import Image, StopReason, Usage
from roost.core.queuesettings import QueueMode
from roost.core.redaction import redact
from roost.core.references import refuse_mismatch
from roost.core.runs import Request, Run, RunState
from roost.core.thinking import ThinkingLevel
from roost.core.visibility import Operation
from roost.engine.inbox import TurnedAway
from roost.engine.reaching import reach
from roost.engine.waits import Waited
from roost.ports import Accepted
from roost.protocol.convert.facts import spent
from roost.protocol.convert.turns import STOPPED
from roost.protocol.families import agents, changes, chat
from roost.protocol.frames import ErrorCode, Failure
from roost.protocol.pictures import picture
from roost.server.calls import Call, Unanswered
from roost.server.endings import NOT_TAKEN, Ending, Fate, ending
from roost.server.fanout import Fanout
from roost.server.handlers.delivering import delivered
from roost.server.handlers.recipients import ChatPlace, origin_of, recipient_of, refuse_guest
from roost.server.house import House
from roost.server.sends import Send

LONGEST_WAIT_MS = 24 * 3_600_000
_UNCLEARED = {
    True: ("what waits behind a run goes on when that is stopped", "leave `runId` out to stop everything"),
    False: ("what waits in a session is dropped when all of it is stopped", "name one run by its `runId`"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What a client says, and how it is to be taken."""

    key: SessionKey
    text: str
    name: str
    images: tuple[Image, ...] = ()
    request: Request = field(default_factory=Request)
    mode: QueueMode | None = None
    deliver: bool = False
    place: ChatPlace | None = None
    commands: Commands = Commands.DONE
    relayed: str | None = None


class Talk:
    def __init__(self, fanout: Fanout) -> None:
        self._fanout = fanout

    async def chat_send(self, call: Call, params: chat.SendParams) -> dict[str, JsonValue]:
        images = tuple(_image(one) for one in params.attachments)
        relay = params.system_input_provenance
        _refuse_empty(params.message, images)
        key = await call.house.addressed(call.caller, params.session_key, params.agent_id)
        place = await origin_of(call, params)
        if place is not None:
            place.refuse_other(key)
        words = Words(
            key=key,
            text=params.message,
            name=params.idempotency_key,
            images=images,
            request=_request(params.thinking, None, params.timeout_ms),
            mode=None if params.queue_mode is None else QueueMode(params.queue_mode),
            deliver=params.deliver,
            place=place,
            commands=Commands.WORDS if params.suppress_command_interpretation else Commands.DONE,
            relayed=relay.source_session_key if relay else None,
        )
        await self._refuse_other(call, words.key, params.session_id)
        return await self._send(call, words)

    async def sessions_send(self, call: Call, params: changes.SendParams) -> dict[str, JsonValue]:
        _refuse_empty(params.message, ())
        words = Words(
            key=await call.house.addressed(call.caller, params.key, params.agent_id),
            text=params.message,
            name=params.idempotency_key or call.house.new_id(),
            request=_request(params.thinking, None, params.timeout_ms),
        )
        return await self._send(call, words)

    async def _send(self, call: Call, words: Words) -> dict[str, JsonValue]:
        accepted = await self.say(call, words)
        status = "started"
        if accepted.duplicate:
            status = "ok" if await self._is_over(call, accepted.record) else "in_flight"
        ended: dict[str, JsonValue] = {"interruptedActiveRun": True} if accepted.interrupts else {}
        if accepted.stopped is not None:
            ended |= {
                "ok": True,
                "aborted": bool(accepted.stopped),
                "runIds": [*map(call.house.sends.name, accepted.stopped)],
            }
        return {"runId": words.name, "sessionKey": str(words.key), "status": status, **ended}

    async def say(self, call: Call, words: Words) -> Accepted:
        """Take a message in; whoever reads its session is told what no run will tell."""
        house, route = call.house, words.place.to if words.place else None
        if words.deliver and route is None:
            session = await house.store.session(words.key)
            route = house.engine.rules.met_at(session) if session else None
        said = Addressed(
            key=words.key,
            principal=call.caller.principal,
            text=words.text,
            run_id=house.new_id(),
            idempotency_key=words.name,
            digest=_digest(words),
            scopes=call.client.admitted.scopes,
            images=words.images,
            reply_to=route,
            opening=words.place.held.opening if words.place else None,
            request=words.request,
            mode=words.mode,
            commands=words.commands,
            trace=call.trace,
            relayed=words.relayed,
        )
        send = Send(name=words.name, principal=said.principal, key=words.key, run_id=said.run_id)
        known = (words.key, words.name) in call.client.began
        call.client.began.add((words.key, words.name))
        try:
            accepted = await self._taken(call, said, send)
        except BaseException:
            if not known:
                call.client.began.discard((words.key, words.name))
            raise
        if accepted.aside:
            # Not by the name of the message: that is a row of the transcript, and this is none.
            name = f"{accepted.record.inbound.id}:aside"
            await self._fanout.telling.injected(words.key, name, accepted.aside)
        if accepted.record.run_id != said.run_id:
            if not accepted.duplicate:
                await self._tell(accepted.record, send)
            elif await self._is_over(call, accepted.record):
                call.client.began.discard((words.key, words.name))
        return accepted

    async def _taken(self, call: Call, said: Addressed, send: Send) -> Accepted:
        with call.house.sends.arriving(send):
            accepted = await call.house.engine.inbox.say(said)
            if isinstance(accepted, TurnedAway):
                raise InvalidInput(NOT_TAKEN)
        if accepted.record.run_id == said.run_id:
            self._fanout.arrived(send.key)
        else:
            call.house.sends.withdraw(send)
        return accepted

    async def _tell(self, record: InboundRecord, send: Send) -> None:
        if record.state is InboundState.DEAD:
            await self._fanout.telling.lost(send.name, send.key, record.reason or NOT_TAKEN)
            return
        if record.run_id and await self._fanout.inherit(replace(send, run_id=record.run_id)):
            return
        # Of a command the answer; of what joined another run, that it did.
        await self._fanout.telling.answered(send.name, send.key, record.answer)

    async def _is_over(self, call: Call, record: InboundRecord) -> bool:
        if record.state in (InboundState.ANSWERED, InboundState.DEAD):
            return True
        run = await call.house.store.run(record.run_id) if record.run_id else None
        return run is None or run.state.ended

    async def _refuse_other(self, call: Call, key: SessionKey, session_id: str | None) -> None:
        """A client may know a conversation by the id it had before it started afresh, not one by another's id."""
        if session_id is None:
            return
        store = call.house.store
        session = await reach(store, Operation.SEND, call.caller, key, call.house.clock.now())
        if session is None or session.session_id == session_id:
            return
        known = await store.session_by_id(session_id)
        if known is None or known.key != key:
            raise InvalidInput(f"session {key} never had that sessionId", hint="read its history again")

    # -- agent ---------------------------------------------------------------------------------------

    async def agent(self, call: Call, params: agents.AgentParams) -> dict[str, JsonValue]:
        """Answered when the run is taken on, and again when it has ended."""
        house = call.house
        _refuse_empty(params.message, ())
        model = "/".join(filter(None, (params.provider, params.model))) or None
        place = await recipient_of(call, params)
        request = _request(params.thinking, model, params.timeout * 1000)
        if params.extra_system_prompt is not None:
            refuse_guest(call)
            request = replace(request, instructions=params.extra_system_prompt)
        words = Words(
            key=await self._agent_key(call, params, place),
            text=params.message,
            name=params.idempotency_key,
            request=request,
            deliver=params.deliver,
            place=place,
            commands=Commands.REFUSED,
        )
        if model is not None:
            house.engine.rules.commands.models.ask_for(model)
        accepted = await self.say(call, words)
        if not (accepted.duplicate and await self._is_over(call, accepted.record)):
            call.answer(
                {
                    "runId": words.name,
                    "sessionKey": str(words.key),
                    "agentId": words.key.agent,
                    "status": "accepted",
                    "acceptedAt": house.clock.now(),
                }
            )
        waited = await house.engine.waits.for_message(accepted.record.inbound.id, LONGEST_WAIT_MS)
        end = _ending(waited, house)
        result = await _result(house, waited, end.said, deliver=params.deliver) if end.fate is Fate.OK else {}
        final = _final(words.name, end, result)
        if final["status"] != Fate.ERROR:
            return final
        call.refuse(Failure(code=ErrorCode.UNAVAILABLE, message=str(final["summary"])), final)
        raise Unanswered

    async def _agent_key(self, call: Call, params: agents.AgentParams, place: ChatPlace | None) -> SessionKey:
        key = await self._named_key(call, params)
        if place is not None:
            refuse_mismatch(place.held.key, params.agent_id)
            if key is not None:
                place.refuse_other(key)
            return call.house.known(place.held.key)
        return key or call.house.key("main", params.agent_id)

    async def _named_key(self, call: Call, params: agents.AgentParams) -> SessionKey | None:
        if params.session_key:
            return await call.house.addressed(call.caller, params.session_key, params.agent_id)
        if params.session_id:
            found = await call.house.by_id(Operation.SEND, call.caller, params.session_id, params.agent_id)
            return found.key
        return None

    async def wait(self, call: Call, params: agents.WaitParams) -> dict[str, JsonValue]:
        """An unknown run is one that has not ended."""
        house, principal, key = call.house, call.caller.principal, None
        if params.session_key is not None:
            key = await house.meant(Operation.STATUS, call.caller, params.session_key, params.agent_id)
        limit = min(params.timeout_ms, LONGEST_WAIT_MS)
        try:
            waited = await house.engine.waits.for_key(principal, key, params.run_id, limit)
        except NotFound:
            return {"runId": params.run_id, "status": "timeout"}
        run, end = waited.run, _ending(waited, house)
        told: dict[str, JsonValue] = {
            "startedAt": run.started_at if run else None,
            "endedAt": run.outcome.at if run and run.outcome else None,
            "error": end.reason if end.fate is Fate.ERROR else None,
            "stopReason": _stop_reason(waited, end),
            "terminalReply": _reply(end) if end.fate is Fate.OK else None,
        }
        shown = {name: value for name, value in told.items() if value is not None}
        return {"runId": params.run_id, "status": str(end.fate), **shown}

    # -- stopping ------------------------------------------------------------------------------------

    async def chat_abort(self, call: Call, params: chat.AbortParams) -> chat.Aborted:
        key = await call.house.meant(Operation.STOP, call.caller, params.session_key, params.agent_id)
        stopped = await self._abort(call, key, params.run_id)
        return chat.Aborted(ok=True, aborted=bool(stopped), runIds=list(stopped))

    async def sessions_abort(self, call: Call, params: changes.AbortParams) -> changes.Aborted:
        if params.key is None and params.run_id is None:
            raise InvalidInput("invalid sessions.abort params: one of key, runId is needed")
        if params.clear_queued is not None and params.clear_queued is not (params.run_id is None):
            what, instead = _UNCLEARED[params.clear_queued]
            raise InvalidInput(what, hint=instead)
        key = None
        if params.key is not None:
            key = await call.house.meant(Operation.STOP, call.caller, params.key, params.agent_id)
        stopped = await self._abort(call, key, params.run_id)
        if not stopped:
            return changes.Aborted(ok=True, abortedRunId=None, status="no-active-run")
        return changes.Aborted(ok=True, abortedRunId=stopped[0], status="aborted")

    async def _abort(self, call: Call, key: SessionKey | None, name: str | None) -> tuple[str, ...]:
        """Stop a run by the name its client gave it, or everything in a session."""
        house, run_id = call.house, None
        if name is not None:
            record = await house.store.inbound_by_key(call.caller.principal, key, name)
            run = await house.store.run(name) if record is None else None
            run_id = record.run_id if record else (run.id if run else None)
            if run_id is None:
                return ()
            key = record.inbound.key if record else (run.key if run else key)
        if key is None:
            return ()
        try:
            stopped = await house.engine.operations.stop(call.caller, key, run_id)
        except NotFound:
            if name is None:
                raise
            # A run of somebody else's is told of as one that is not there.
            return ()
        # One that was named is told of by that name, wherever it was sent.
        return tuple(name if one == run_id and name else house.sends.name(one) for one in stopped)


def _digest(words: Words) -> str:
    """Of what was given: where an answer goes by itself may change until it is given again."""
    to = words.place.to if words.place else None
    place = () if to is None else (to.channel, to.account, to.to, to.thread or "")
    pictures = (part for image in words.images for part in (image.mime, image.data))
    return digest_of(words.text, str(len(words.images)), *pictures, *place)


def _refuse_empty(text: str, images: tuple[Image, ...]) -> None:
    if not text.strip() and not images:
        raise InvalidInput("message or attachment required")


def _image(attachment: chat.Attachment) -> Image:
    mime = (attachment.mime_type or "").lower()
    if not mime.startswith("image/"):
        raise InvalidInput(f"attachments of type {mime or 'unknown'} are not supported", hint="send pictures")
    return picture(mime, attachment.content.partition(",")[2] or attachment.content)


def _request(thinking: str | None, model: str | None, timeout_ms: int | None) -> Request:
    if thinking and thinking not in tuple(ThinkingLevel):
        raise InvalidInput(f"invalid thinking: {thinking}", hint=f"use one of {', '.join(ThinkingLevel)}")
    return Request(thinking=thinking or None, model=model, longest_ms=timeout_ms or None)


def _reply(end: Ending) -> JsonObject:
    return {"disposition": "visible", "text": end.said} if end.said else {"disposition": "silent"}


def _stop_reason(waited: Waited, end: Ending) -> str | None:
    """As the events of the run say it."""
    outcome = waited.run.outcome if waited.run else None
    if end.fate is Fate.TIMEOUT and outcome is not None and outcome.state is RunState.KILLED:
        return STOPPED
    return str(end.stop or StopReason.STOP) if end.fate is Fate.OK else None


def _ending(waited: Waited, house: House) -> Ending:
    """As readers of the session are told of it."""
    end = ending(waited)
    said, reason = (text and redact(text, house.scanner)[0] for text in (end.said, end.reason))
    return replace(end, said=said, reason=reason)


async def _result(house: House, waited: Waited, said: str | None, *, deliver: bool) -> JsonObject:
    payloads: list[JsonValue] = [{"text": said, "mediaUrl": None}] if said else []
    meta: JsonObject = {"durationMs": 0}
    if waited.run is not None:
        meta = _meta(waited.run, await house.used(waited.run))
    sent = await delivered(house, waited, said=bool(said)) if deliver else {}
    return {"payloads": payloads, "meta": meta, **sent}


def _final(name: str, end: Ending, result: JsonObject) -> dict[str, JsonValue]:
    told: dict[str, JsonValue] = {"runId": name, "status": str(end.fate)}
    match end.fate:
        case Fate.ERROR:
            return {**told, "summary": end.reason}
        case Fate.TIMEOUT:
            return {**told, "summary": "aborted", "stopReason": STOPPED}
        case Fate.OK:
            return {**told, "summary": "completed", "result": result}
        case other:
            assert_never(other)


def _meta(run: Run, used: Usage) -> JsonObject:
    ended = run.outcome.at if run.outcome else run.queued_at
    provider, _, model = ((run.outcome.model if run.outcome else None) or "").partition("/")
    return {
        "durationMs": max(0, ended - (run.started_at or ended)),
        "agentMeta": {
            "sessionId": run.session_id,
            "provider": provider,
            "model": model,
            "usage": spent(used),
        },
    }
