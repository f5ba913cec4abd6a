"""Sessions of their own that go on from a place in another; both stay as they are."""

from roost.core.entries import Entry
from roost.core.errors import InvalidInput, NotFound
from roost.core.messages import Image, UserMessage, text_of
from roost.core.redaction import redact
from roost.core.sessions import Base, Session
from roost.core.visibility import Operation
from roost.protocol.families import changes, operations
from roost.server.calls import Call
from roost.server.handlers.places import place_of


async def fork(call: Call, params: changes.ForkParams) -> changes.Forked:
    """Before what somebody said, which is given back to be said otherwise."""
    source, entry = await _place(call, params.session_key, params.agent_id, params.entry_id)
    if not isinstance(entry.body, UserMessage):
        raise InvalidInput(
            f"{params.entry_id} is not what somebody said",
            hint="name a message of a person, or go on after this one with `roost.fork`",
        )
    opened = await _branch(call, source, entry, entry.seq - 1)
    forked = changes.Forked(
        sessionKey=str(opened.key), editorText=redact(text_of(entry.body), call.house.scanner)[0]
    )
    images = [one for one in entry.body.content if isinstance(one, Image)]
    if images:
        forked["editorAttachments"] = [{"mimeType": one.mime, "data": one.data} for one in images]
    return forked


async def fork_after(call: Call, params: operations.ForkParams) -> operations.Forked:
    """After any message."""
    source, entry = await _place(call, params.key, params.agent_id, params.message_id)
    opened = await _branch(call, source, entry, entry.seq)
    return operations.Forked(ok=True, key=str(opened.key), sessionId=opened.session_id)


async def _place(call: Call, key: str, agent: str | None, entry_id: str) -> tuple[Session, Entry]:
    source = await call.house.find(Operation.HISTORY, call.caller, key, agent)
    if source is None:
        raise NotFound(f"No message found: {entry_id}", hint="read the conversation again")
    return source, (await place_of(call, source, entry_id)).entry


async def _branch(call: Call, source: Session, entry: Entry, through: int) -> Session:
    base = Base(session_id=entry.session_id, seq=through)
    return await call.house.engine.operations.branch(call.caller, source.key, base, source.overrides)
