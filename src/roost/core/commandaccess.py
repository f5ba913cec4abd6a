"""Who may use chat commands. It says nothing about sessions: what a command does to one is the guard's to allow."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from roost.core.admission import ANYONE
from roost.core.channeltraits import KNOWN_CHANNELS, Traits
from roost.core.commandlines import Line
from roost.core.grants import Scope, holds
from roost.core.identities import Identity
from roost.core.principals import Principal
from roost.core.visibility import Operation

LIST_SETTING = "commands.allowFrom"
OWNER_SETTING = "commands.ownerAllowFrom"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandPolicy:
    """`allow_from` are those who may, by channel or `*` for all others; None: whoever the channel lets in.

    Without `text` a message is never read as a command.
    """

    text: bool = True
    allow_from: Mapping[str, tuple[str, ...]] | None = None
    traits: Traits = KNOWN_CHANNELS


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    """The sender may use no commands, and is not told that there are any."""

    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """The sender may use commands, but not this one: the owner alone may, or his credential is too small for it."""

    rule: str
    message: str


Access: TypeAlias = Granted | Ignored | Withheld


def decide(
    line: Line, principal: Principal, scopes: Collection[Scope], sender: Identity, policy: CommandPolicy
) -> Access:
    """What the speaker may, as far as the scopes that he came with hold it."""
    access = _decide(line, principal, sender, policy)
    if not isinstance(access, Granted) or holds(scopes, line.needs):
        return access
    message = (
        f"{line.word} needs the scope {line.needs}, which this client does not have. "
        "Connect with it, if the credential holds it, or ask the owner."
    )
    return Withheld(rule=f"missing scope: {line.needs}", message=message)


def _decide(line: Line, principal: Principal, sender: Identity, policy: CommandPolicy) -> Access:
    """The owner may always. Others may if the list for their channel names them, where there is a list.

    To start afresh it is enough to be let in by the channel.
    """
    command = line.command
    if principal.is_owner:
        return Granted(rule=OWNER_SETTING)
    rule = "the channel let the sender in"
    if policy.allow_from is not None and command.operation is not Operation.RESET:
        own = sender.channel in policy.allow_from
        rule = f"{LIST_SETTING}.{sender.channel if own else ANYONE}"
        entries = policy.allow_from.get(sender.channel if own else ANYONE, ())
        if not any(entry.strip() == ANYONE or sender.is_named_by(entry, policy.traits) for entry in entries):
            return Ignored(rule=rule)
    if command.owner:
        message = (
            f"/{command.name} is the owner's alone. If you are the owner, add "
            f"{sender.channel}:{sender.id} to {OWNER_SETTING}."
        )
        return Withheld(rule=OWNER_SETTING, message=message)
    return Granted(rule=rule)
