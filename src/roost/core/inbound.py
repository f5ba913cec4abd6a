"""An accepted message. It is a pending input until a run takes it; then it is an entry.

Every inbound ends in a transcript, merged into another, or dead with a notice to its sender; a command is answered.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256

from roost.core.addresses import DEFAULT_ACCOUNT, Address
from roost.core.errors import KeyTaken
from roost.core.keys import SessionKey
from roost.core.messages import Provenance, Text, UserBlock
from roost.core.principals import Principal


class InboundState(StrEnum):
    PENDING = "pending"
    TAKEN = "taken"
    MERGED = "merged"
    DEAD = "dead"
    ANSWERED = "answered"


class InputMode(StrEnum):
    """How a pending input reaches its run: between two steps of it, as its opening, or beside the opening of whichever
    turn comes next."""

    STEER = "steer"
    OPEN = "open"
    WAIT = "wait"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What makes a message the same message when it comes again. `digest` is of what its sender gave, where that is known:
    it is kept in other words, with secrets sealed and commands taken out."""

    channel: str
    account: str = DEFAULT_ACCOUNT
    external_id: str | None = None
    idempotency_key: str | None = None
    digest: str | None = None


def digest_of(*given: str) -> str:
    """The same for the same words at the same place, and another for any others."""
    digest = sha256()
    for part in given:
        written = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(written))
        digest.update(written)
    return digest.hexdigest()


def refuse_other(kept: str | None, given: str | None) -> None:
    """The key of one message is not that of another: its sender would take the first one's answer for this one's."""
    if None not in (kept, given) and kept != given:
        raise KeyTaken(
            "this idempotency key was used before, for another message or another place",
            hint="nothing was sent; give each message a key of its own",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbound:
    """One accepted message with its frozen reply address; no address, no delivery."""

    id: str
    key: SessionKey
    principal: Principal
    provenance: Provenance
    content: tuple[UserBlock, ...]
    source: Source
    received_at: int
    trace: str
    sender_name: str | None = None
    reply_to: Address | None = None
    deadline: int | None = None
    exchange_id: str | None = None
    hops: tuple[SessionKey, ...] = ()

    def reworded(self, text: str) -> "Inbound":
        """With these words in the place of its own, none if they are empty; what else came with it stays."""
        words = (Text(text),) if text else ()
        others = tuple(block for block in self.content if not isinstance(block, Text))
        return replace(self, content=(*words, *others))


@dataclass(frozen=True, slots=True, kw_only=True)
class InboundRecord:
    """An inbound and what became of it. Of a command, `reason` is its name and `answer` what was said to it."""

    inbound: Inbound
    state: InboundState
    mode: InputMode | None = None
    run_id: str | None = None
    merged_into: str | None = None
    reason: str | None = None
    answer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The stored message; `duplicate` when it had been accepted before and nothing was written. `aside` is what was said
    to a command in a message that goes on without it; `interrupts` when a run is ended for it; `stopped` are the runs that
    a command ended which is there to end them."""

    record: InboundRecord
    duplicate: bool
    aside: str | None = None
    interrupts: bool = False
    stopped: tuple[str, ...] | None = None
