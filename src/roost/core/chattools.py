"""The stage of the tool policy that goes by the chat: what its channel and group say, and what they say of who speaks."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from roost.core.addresses import DEFAULT_ACCOUNT
from roost.core.identities import Naming
from roost.core.principals import Principal, PrincipalKind
from roost.core.runs import Run
from roost.core.sessions import Session
from roost.core.toolpolicy import ToolRules

ANYBODY, OWNER_NAME = "*", "owner"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTools:
    """`by_sender` names people by an id, with or without its channel, or the name of their link, the owner as `owner`
    and all others as `*`."""

    tools: ToolRules = field(default_factory=ToolRules)
    by_sender: Mapping[str, ToolRules] = field(default_factory=dict)


class Chat(NamedTuple):
    """Where a run is heard, as far as it is known."""

    channel: str
    account: str
    peer: str | None


def chat_of(session: Session, run: Run) -> Chat | None:
    """The chat that a run answers in, else the one its session belongs to."""
    address, facts = run.request.reply_to, session.facts
    if address is not None:
        return Chat(address.channel, address.account, address.to)
    return Chat(facts.channel, facts.account or DEFAULT_ACCOUNT, facts.peer) if facts.channel else None


def scopes(levels: Iterable[ChatTools], speaker: Principal, naming: Naming) -> tuple[ToolRules, ...]:
    """All that is said about the tools of a run, from the widest level to the narrowest; each can only remove."""
    return tuple(scope for level in levels for scope in (level.tools, *_of_sender(level, speaker, naming)))


def _of_sender(level: ChatTools, speaker: Principal, naming: Naming) -> Iterator[ToolRules]:
    if speaker.kind is PrincipalKind.AGENT:
        # Several people speak at once: none of them lends the others what only they may.
        yield from level.by_sender.values()
        return
    named = {entry: said for entry, said in level.by_sender.items() if _means(entry, speaker, naming)}
    yield from named.values()
    # Who only spells the name of another is one of all others, too.
    if all(_is_anothers(entry, speaker, naming) for entry in named):
        yield from (said for entry, said in level.by_sender.items() if entry.strip() == ANYBODY)


def _means(entry: str, speaker: Principal, naming: Naming) -> bool:
    if entry.strip() == ANYBODY:
        return False
    if speaker.is_owner:
        return _is_owners(entry)
    if speaker.is_node:
        return entry.strip() == speaker.id
    return naming.means(entry, speaker)


def _is_anothers(entry: str, speaker: Principal, naming: Naming) -> bool:
    if speaker.is_owner:
        return False
    return _is_owners(entry) or naming.is_anothers(entry, speaker)


def _is_owners(entry: str) -> bool:
    return entry.strip().lower() == OWNER_NAME
