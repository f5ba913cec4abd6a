"""Places on channels that a client names when it says something: whose session that is, and where the answer goes."""

from dataclasses import dataclass

from roost.core.addresses import Address
from roost.core.errors import Forbidden, InvalidInput
from roost.core.keys import SessionKey
from roost.engine.letters import Held
from roost.protocol.families import agents, chat
from roost.protocol.scopes import NOT_THE_OWNER
from roost.server.calls import Call


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPlace:
    """`to` is where the answer goes, if it goes anywhere."""

    held: Held
    to: Address | None

    def refuse_other(self, key: SessionKey) -> None:
        """What is said in one session is not answered in the chat of another."""
        if key != self.held.key:
            raise InvalidInput(
                f"the conversation at that place is {self.held.key}, not {key}",
                hint="name that session, or none",
            )


def refuse_guest(call: Call) -> None:
    if not call.caller.rules_all:
        raise Forbidden(NOT_THE_OWNER.message)


async def recipient_of(call: Call, params: agents.AgentParams) -> ChatPlace | None:
    """The place at which an agent is to speak; its answer goes there only if it is to be delivered."""
    if params.to is None:
        if params.account_id or params.thread_id:
            raise InvalidInput("an account and a thread are of a place", hint="name it with `to`")
        return None
    return await _place(
        call, params.to, params.channel, params.account_id, params.thread_id, answers=params.deliver
    )


async def origin_of(call: Call, params: chat.Originating) -> ChatPlace | None:
    """The place a message came from."""
    channel, to = params.originating_channel, params.originating_to
    account, thread = params.originating_account_id, params.originating_thread_id
    if not (channel or to or account or thread):
        return None
    if channel is None or to is None:
        raise InvalidInput("a place needs `originatingChannel` and `originatingTo`")
    return await _place(call, to, channel, account, thread, answers=True)


async def _place(
    call: Call, to: str, channel: str | None, account: str | None, thread: str | None, *, answers: bool
) -> ChatPlace:
    refuse_guest(call)
    posts = call.house.engine.letters
    address = posts.address(to, channel, account, thread)
    return ChatPlace(held=await posts.held_at(address), to=address if answers else None)
