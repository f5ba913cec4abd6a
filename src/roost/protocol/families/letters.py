"""Messages to places on channels, which no run wrote."""

from typing import Annotated, Literal, TypedDict

from pydantic import Field

from roost.protocol.method import Method
from roost.protocol.params import AgentId, Name, Params, Place, SessionOrNot, Short
from roost.protocol.scopes import Scope

LONGEST_MESSAGE = 100_000

Message = Annotated[str, Field(min_length=1, max_length=LONGEST_MESSAGE)]


class SendParams(Params):
    """The channel may be left out where there is only one on which people write, which `webhook` is not. Under the same `idempotencyKey` it is the same message; with other words or another place that is a `conflict`."""

    to: Place
    message: Message
    channel: Name | None = None
    account_id: Name | None = None
    thread_id: Name | None = None
    idempotency_key: Name


class Sent(TypedDict):
    """`messageId` is the channel's where it gave one, and `state` tells a message that arrived from one on its way."""

    runId: str
    messageId: str
    channel: str
    deliveryId: str
    state: str


class Unable(Params):
    """What no channel here can do."""

    pin: Literal[False] = False
    silent: Literal[False] = False
    dry_run: Literal[False] = False
    as_voice: Literal[False] = False
    gif_playback: Literal[False] = False
    force_document: Literal[False] = False


class ActionSend(Unable):
    """Where to, by `target` or by `to`, which may begin with the channel's name. Nothing but words can be sent; what a
    client says of itself changes nothing."""

    target: Place | None = None
    to: Place | None = None
    message: Message
    channel: Name | None = None
    account_id: Name | None = None
    thread_id: Name | None = None
    action: Literal["send"] | None = None
    as_json: Annotated[bool, Field(alias="json")] = False
    verbose: bool = False
    own_session: Annotated[SessionOrNot | None, Field(alias="__sessionKey")] = None
    own_agent: Annotated[Short | None, Field(alias="__agentId")] = None


class ActionParams(Params):
    """The one action is `send`. What a client says of itself beside it changes nothing."""

    channel: Name
    action: Literal["send"]
    params: ActionSend
    account_id: Name | None = None
    agent_id: AgentId | None = None
    session_key: SessionOrNot | None = None
    session_id: Short | None = None
    sender_is_owner: bool | None = None
    conversation_read_origin: Short | None = None
    idempotency_key: Name


class Acted(TypedDict):
    ok: Literal[True]
    messageId: str
    chatId: str
    channel: str
    state: str


SEND = Method(
    name="send",
    params=SendParams,
    result=Sent,
    needs=Scope.WRITE,
    about="Sends a message to a place on a channel, and keeps it in the session that an answer would come to.",
    owners=True,
)
ACTION = Method(
    name="message.action",
    params=ActionParams,
    result=Acted,
    needs=Scope.WRITE,
    about="Does on a channel what it can do: `send`, as the method of that name.",
    owners=True,
)
