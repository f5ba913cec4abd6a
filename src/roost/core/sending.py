"""A message from one session to another: what it says, whom it may reach, and everything that follows from it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC

from roost.core import a2a, exchangetext, queueing
from roost.core.a2a import INTERNAL_CHANNEL
from roost.core.arrivals import Arrival, Opening
from roost.core.effects import Effects, PutExchange
from roost.core.errors import Conflict, Forbidden, InvalidInput, NotFound
from roost.core.exchanges import STEP_MS, Exchange, Sent
from roost.core.facts import classify
from roost.core.inbound import Inbound, Source
from roost.core.keys import SessionKey
from roost.core.messages import ProvenanceKind, Text
from roost.core.notices import derived_id
from roost.core.principals import OWNER
from roost.core.references import refuse_thread
from roost.core.runs import Lane, Request, Run, RunKind
from roost.core.sessions import Facts
from roost.core.snapshots import Snapshot

ANSWER_INSTEAD = "answer instead, your reply goes where it is expected"


@dataclass(frozen=True, slots=True, kw_only=True)
class SendRules:
    """What the configuration says: the agents there are, how many turns a reply-back loop has, and the other gateways."""

    agents: frozenset[str]
    max_turns: int = 5
    remotes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageId:
    """The names of a message: its own, and its run's, under which sending it again is the same."""

    message: str
    run: str

    @classmethod
    def of_call(cls, run_id: str, call_id: str) -> "MessageId":
        """Those of a tool call, however often it is made."""
        message = derived_id("sent", run_id, call_id)
        return cls(message=message, run=derived_id("run of", message))


@dataclass(frozen=True, slots=True, kw_only=True)
class SendOrder:
    """What a run sends to another session. It may open that session only if it is an agent's main."""

    id: MessageId
    sender: Run
    target: SessionKey
    text: str
    at: int
    wait_ms: int = 0
    max_turns: int = 0
    main_name: str = "main"
    channel: str | None = None

    def exchange(self) -> Exchange:
        sender = self.sender
        internal = sender.cause.kind is ProvenanceKind.HUMAN and sender.request.reply_to is None
        return Exchange(
            id=self.id.message,
            requester=sender.key,
            target=self.target,
            request=self.text,
            created_at=self.at,
            max_turns=0 if internal else a2a.turns(sender.key, self.target, self.max_turns),
            deadline=sender.due,
            hops=(*sender.cause.hops, sender.key),
            sent=Sent(
                by=sender.id,
                run_id=self.id.run,
                awaited=self.wait_ms > 0,
                step_ms=self.wait_ms or STEP_MS,
                internal=internal,
                thread=sender.cause.trace,
            ),
        )

    def inbound(self) -> Inbound:
        cause = self.sender.cause
        return Inbound(
            id=self.id.message,
            key=self.target,
            principal=cause.principal,
            provenance=a2a.provenance(cause.principal, str(self.sender.key), self.channel),
            content=(Text(self.text),),
            source=Source(channel=INTERNAL_CHANNEL, idempotency_key=self.id.run),
            received_at=self.at,
            trace=cause.trace,
            deadline=self.sender.due,
            exchange_id=self.id.message,
            hops=(*cause.hops, self.sender.key),
        )


def is_reply_step(serves: Exchange | None) -> bool:
    """Whether a run takes a turn in an exchange whose message has been answered."""
    return serves is not None and serves.state.ended


def check_reply_step(serves: Exchange, run: Run, target: SessionKey, asked: Iterable[Exchange]) -> None:
    """Raise if a turn of an exchange would send to the other side of it, or again to one whom this session asked in it:
    whoever passed on every reply would never come to an end. `asked` is what this session sent to the target."""
    if target in (serves.requester, serves.target):
        raise Forbidden(f"{target} gets your reply: it takes part in this exchange", hint=ANSWER_INSTEAD)
    way = (*run.cause.hops, run.key)
    if any(one.hops == way and one.created_at >= serves.created_at for one in asked):
        raise Forbidden(f"{target} was asked in this exchange already", hint=ANSWER_INSTEAD)


def check_target(sender: SessionKey, target: SessionKey, wait_ms: int) -> None:
    """Raise if nobody should send there, whoever asks."""
    if target == sender and wait_ms:
        raise InvalidInput(
            "a session cannot wait for its own reply: it is busy waiting",
            hint="send to another session, or with timeoutSeconds 0",
        )
    refuse_thread(target)


def send(snapshot: Snapshot, order: SendOrder) -> Effects:
    """Everything that follows from sending it."""
    session = snapshot.session
    if session is None and not order.target.is_main(order.main_name):
        raise NotFound("There is no such session.", hint="take the key from sessions_list")
    if session is not None and session.times.archived is not None:
        raise Conflict(f"session {order.target} is archived", hint="send to one that is in use")
    exchange = order.exchange()
    target_channel = session.facts.channel if session else None
    prompt = None
    if not a2a.one_way(exchange):
        prompt = exchangetext.primary_block(exchange, order.channel, target_channel)
    arrival = Arrival(
        inbound=order.inbound(),
        run_id=order.id.run,
        opening=Opening(
            session_id=derived_id("opened by", order.id.message),
            owner=session.owner if session else OWNER,
            facts=session.facts if session else Facts(kind=classify(order.target, order.main_name)),
        ),
        zone=UTC,
        request=Request(kind=RunKind.EXCHANGE, lane=Lane.NESTED, prompt=prompt),
    )
    return (*queueing.accept(snapshot, arrival), PutExchange(exchange=exchange))
