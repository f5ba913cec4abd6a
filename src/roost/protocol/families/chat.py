"""Talking in a session, and what was said in it."""

from typing import Annotated, Literal, TypedDict

from pydantic import Field

from roost.core.jsonvalue import JsonObject, JsonValue
from roost.protocol.handshake import MAX_PICTURE
from roost.protocol.method import Method
from roost.protocol.params import (
    AgentId,
    Count,
    Name,
    Names,
    Params,
    Place,
    Positive,
    Said,
    SessionName,
    Short,
    Words,
)
from roost.protocol.scopes import Scope

MOST_MESSAGES = 1_000
MOST_PICTURES = 100
# In base64, with room for line breaks: one that is too large is told so.
LONGEST_PICTURE = 2 * MAX_PICTURE
LONGEST_KEY = 512

Key = Annotated[str, Field(min_length=1, max_length=LONGEST_KEY)]


class Attachment(Params):
    """A picture, in base64: a PNG, JPEG, GIF or WebP, known by its content, or another, of which models are told only that there is one."""

    type: Short | None = None
    mime_type: Short | None = None
    file_name: Short | None = None
    origin: Literal["paste", "file"] | None = None
    content: Annotated[str, Field(max_length=LONGEST_PICTURE)]
    size_bytes: float | None = None
    duration_ms: float | None = None
    width: float | None = None
    height: float | None = None


class Relayed(Params):
    """No person said it: a session of another gateway did, by its key there."""

    kind: Literal["inter_session"]
    source_session_key: Key


class Originating(Params):
    """The place on a channel that a message came from."""

    originating_channel: Name | None = None
    originating_to: Place | None = None
    originating_account_id: Name | None = None
    originating_thread_id: Name | None = None


class SendParams(Originating):
    """`originatingTo` is a place on a channel whose session this is: the answer goes there. Only the gateway owner names
    one; what goes out is for the send policy to say."""

    session_key: Key
    agent_id: AgentId | None = None
    session_id: Name | None = None
    message: Said
    thinking: Short | None = None
    queue_mode: Literal["steer", "followup", "collect", "interrupt"] | None = None
    deliver: bool = False
    attachments: Annotated[tuple[Attachment, ...], Field(strict=False, max_length=MOST_PICTURES)] = ()
    timeout_ms: Count | None = None
    suppress_command_interpretation: bool = False
    system_input_provenance: Relayed | None = None
    idempotency_key: Name


class HistoryParams(Params):
    """`offset` passes over so many of the newest entries; give back `nextOffset` as it was. With `messageId` it is the page
    that holds that message. There is at least one message, also if it is larger than `maxBytes`, and never more than any
    client can take: of a larger one the largest parts are left out."""

    session_key: Key
    agent_id: AgentId | None = None
    session_id: Name | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_MESSAGES)] = 200
    max_bytes: Annotated[int, Field(ge=1024)] = 6 * 1024 * 1024
    max_chars: Annotated[int, Field(ge=1, le=500_000)] = 100_000
    offset: Count = 0
    message_id: Name | None = None
    pending_before: Positive | None = None
    input_run_ids: Names = ()


class History(TypedDict, total=False):
    sessionKey: str
    sessionId: str
    messages: list[JsonObject]
    pendingInputs: JsonObject
    hasMore: bool
    nextOffset: int
    totalMessages: int
    defaults: JsonObject
    sessionInfo: JsonObject
    inFlightRun: JsonObject
    thinkingLevel: str


class Startup(History, total=False):
    models: list[JsonObject]
    commands: list[JsonObject]
    agents: JsonObject


class MetadataParams(Params):
    agent_id: AgentId | None = None
    session_key: SessionName | None = None


class Metadata(TypedDict):
    models: list[JsonObject]
    commands: list[JsonObject]


class AbortParams(Params):
    session_key: Key
    run_id: Name | None = None
    agent_id: AgentId | None = None
    preserve_side_runs: bool = False


class Aborted(TypedDict):
    ok: bool
    aborted: bool
    runIds: list[str]


class InjectParams(Params):
    session_key: Key
    agent_id: AgentId | None = None
    message: Words
    label: Short | None = None


class Injected(TypedDict):
    ok: bool
    messageId: str


SEND = Method(
    name="chat.send",
    about="Says something in a session. `idempotencyKey` names the run; the same key again is the same message, and with other words or another place a `conflict`. A `sessionId` from before a reset means the session as it is; one of another session is refused. A chat command in it can do what the caller's scopes allow by a call. With `systemInputProvenance` it is another gateway's session that says it: it counts as no person's word, and nothing in it is a command. Where a run was ended for it (`queueMode` `interrupt`), it is answered with `interruptedActiveRun`; a `/stop` as `chat.abort` is, with `ok`, `aborted` and `runIds` beside.",
    params=SendParams,
    result=dict[str, JsonValue],
    needs=Scope.WRITE,
)
HISTORY = Method(
    name="chat.history",
    about="The conversation as it is now; older pages go on into those before it. `pendingInputs` are what waits to be read, the newest 20; `nextBefore` of them goes on as `pendingBefore`.",
    params=HistoryParams,
    result=History,
    needs=Scope.READ,
)
STARTUP = Method(
    name="chat.startup",
    about="`chat.history`, with the models, commands and agents there are.",
    params=HistoryParams,
    result=Startup,
    needs=Scope.READ,
)
METADATA = Method(
    name="chat.metadata",
    about="The models and commands there are.",
    params=MetadataParams,
    result=Metadata,
    needs=Scope.READ,
)
ABORT = Method(
    name="chat.abort",
    about="Stops a turn with all it spawned, or everything in a session.",
    params=AbortParams,
    result=Aborted,
    needs=Scope.WRITE,
)
INJECT = Method(
    name="chat.inject",
    about="Puts a line of the agent into a session without a run.",
    params=InjectParams,
    result=Injected,
    needs=Scope.ADMIN,
)
