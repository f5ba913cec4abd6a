"""A message whose sender names the session it is for: what a client of the gateway says, rather than a chat."""

from dataclasses import dataclass, field
from enum import Enum, auto

from roost.core import toolnames
from roost.core.addresses import Address, ChatType
from roost.core.arrivals import Opening
from roost.core.envelopes import Conversation, Envelope, Sender
from roost.core.errors import InvalidInput
from roost.core.facts import chat_type, classify
from roost.core.figures import LONGEST_SAID
from roost.core.grants import Scope
from roost.core.inbound import Source
from roost.core.keys import SessionKey
from roost.core.messages import Image, Provenance, ProvenanceKind, Text, UserBlock
from roost.core.principals import Principal
from roost.core.queuesettings import QueueMode
from roost.core.remotes import BEYOND, seen_from_here
from roost.core.runs import Request
from roost.core.sessions import Facts

CHANNEL = "webchat"
RULE = "the key that its client named"


class Commands(Enum):
    """What becomes of a command in a message: it is done, the message is refused for it, or it is words like any other."""

    DONE = auto()
    REFUSED = auto()
    WORDS = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Addressed:
    """A message and the session its sender named.

    `run_id`: the id of the run it opens, if it opens one.
    `idempotency_key`: by this it is the same message when it comes again.
    `digest`: of what its sender gave, which may be more or less than is said; under a known key nothing else is taken.
    `scopes`: those of the credential it came with; a command in it can do no more.
    `reply_to`: where its answer goes; without one the answer is the entry in the transcript.
    `opening`: what a conversation at a place begins as.
    `trace`: one that its sender began.
    `relayed`: the session of another gateway that said it; then no person did.
    """

    key: SessionKey
    principal: Principal
    text: str
    run_id: str
    idempotency_key: str
    digest: str | None = None
    scopes: tuple[Scope, ...] = ()
    images: tuple[Image, ...] = ()
    reply_to: Address | None = None
    opening: Opening | None = None
    request: Request = field(default_factory=Request)
    mode: QueueMode | None = None
    commands: Commands = Commands.DONE
    trace: str | None = None
    relayed: str | None = None

    def __post_init__(self) -> None:
        if len(self.text) > LONGEST_SAID:
            hint = "send a part, or put it into a file"
            raise InvalidInput(f"a message has at most {LONGEST_SAID:,} characters", hint=hint)

    @property
    def provenance(self) -> Provenance:
        if self.relayed is None:
            return Provenance(kind=ProvenanceKind.HUMAN, principal=self.principal)
        return Provenance(
            kind=ProvenanceKind.INTER_SESSION,
            principal=self.principal,
            source_session=seen_from_here(self.relayed),
            source_tool=toolnames.SESSIONS_SEND,
        )

    @property
    def hops(self) -> tuple[SessionKey, ...]:
        return () if self.relayed is None else (BEYOND,)

    @property
    def source(self) -> Source:
        return Source(channel=CHANNEL, idempotency_key=self.idempotency_key, digest=self.digest)

    @property
    def content(self) -> tuple[UserBlock, ...]:
        return (Text(self.envelope.text), *self.images)

    @property
    def envelope(self) -> Envelope:
        """As a command is read from it."""
        return Envelope(
            channel=CHANNEL,
            sender=Sender(id=str(self.principal)),
            conversation=Conversation(chat_type=ChatType.DIRECT),
            text=self.text,
        )


def facts_of_named(key: SessionKey, main_name: str) -> Facts:
    """The facts of a session that was opened by its key."""
    return Facts(
        kind=classify(key, main_name),
        channel=CHANNEL,
        chat_type=chat_type(key) or ChatType.DIRECT,
        rule=RULE,
    )
