"""`channels` and `bindings`: who is let in on each channel, and which agent answers."""

from collections.abc import Iterable
from typing import Annotated, Self

from pydantic import model_validator

from roost.config.frozen import FrozenMap
from roost.config.section import Loc, Section, Takes, about, over
from roost.config.session import ThreadBindings
from roost.config.spelling import AccountName, AgentId, AnyCaseChannel, Chat, Flag, Text, Texts
from roost.config.tools import ToolScope
from roost.core.admission import DmPolicy, GroupPolicy
from roost.core.scopes import DmScope


class ChatTools(Section):
    tools: Annotated[ToolScope, about("What its chats add to the tool policy.", Takes.AT_ONCE)] = ToolScope()
    tools_by_sender: Annotated[
        FrozenMap[Text, ToolScope],
        about(
            "The same by who speaks: an id of theirs (also `channel:id`), their name in `session.identityLinks`, "
            "`owner`, or `*` for all others. Of several that mean one person all hold.",
            Takes.AT_ONCE,
        ),
    ] = FrozenMap()


class Account(ChatTools):
    enabled: Annotated[
        Flag,
        about("Off, it lets in nobody who writes there, and nothing more is sent by it.", Takes.AT_ONCE),
    ] = True
    dm_policy: Annotated[
        DmPolicy,
        about(
            "Who may write directly: under `pairing` and `allowlist` the owner and `allowFrom`. Under `pairing` a "
            "stranger is told a code, and let in once the owner has it (`roost people`); elsewhere he is told nothing.",
            Takes.AT_ONCE,
        ),
    ] = DmPolicy.PAIRING
    allow_from: Annotated[Texts, about("Senders let in, `*` for all. Empty: none.", Takes.AT_ONCE)] = ()
    group_policy: Annotated[GroupPolicy, about("Which groups are heard.", Takes.AT_ONCE)] = (
        GroupPolicy.ALLOWLIST
    )
    group_allow_from: Annotated[
        Texts, about("Senders heard in groups under `allowlist`, `*` for all. Empty: none.", Takes.AT_ONCE)
    ] = ()
    require_mention: Annotated[
        Flag, about("Whether a group message must mention the agent.", Takes.AT_ONCE)
    ] = True
    thread_bindings: Annotated[
        ThreadBindings, about("Bound threads, over `session.threadBindings`.", Takes.NEXT_RUN)
    ] = ThreadBindings()
    groups: Annotated[
        FrozenMap[Text, ChatTools], about("Groups and rooms by id, `*` for all others.", Takes.AT_ONCE)
    ] = FrozenMap()


class Channel(Account):
    accounts: Annotated[
        FrozenMap[AccountName, Account],
        about("Several accounts, each over the channel's keys; off where the channel is.", Takes.AT_ONCE),
    ] = FrozenMap()

    @model_validator(mode="after")
    def _settle(self) -> Self:
        own = Account.model_construct(**{name: getattr(self, name) for name in Account.model_fields})
        accounts = FrozenMap({name: over(own, account) for name, account in self.accounts.items()})
        return self.model_copy(update={"accounts": accounts})


class BindingPeer(Section):
    kind: Annotated[Chat, about("Kind of chat.")]
    id: Annotated[Text, about("Its id, `*` for any.")]


class BindingMatch(Section):
    channel: Annotated[AnyCaseChannel, about("The channel.")]
    account_id: Annotated[AccountName | None, about("The account, `*` for any. Unset: the default one.")] = (
        None
    )
    peer: Annotated[BindingPeer | None, about("One chat.")] = None
    guild_id: Annotated[Text | None, about("A server of chats.")] = None
    team_id: Annotated[Text | None, about("A team or workspace.")] = None
    roles: Annotated[Texts | None, about("Roles of the sender in `guildId`.")] = None

    def conflicts(self) -> Iterable[tuple[Loc, str]]:
        if self.roles == ():
            yield ("roles",), "nobody has none of them: name one, or leave it out for everybody"


class BindingSession(Section):
    dm_scope: Annotated[DmScope | None, about("Over `session.dmScope`.")] = None


class Binding(Section):
    agent_id: Annotated[AgentId, about("The agent that answers.")]
    match: Annotated[BindingMatch, about("All given fields must hold.")]
    session: Annotated[BindingSession, about("What differs for these messages.")] = BindingSession()
