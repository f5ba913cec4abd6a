"""What session tools will do, played by hand: one session sends to another, or spawns a child."""

from dataclasses import dataclass

from roost.core import a2a, exchangetext, queueing, spawning
from roost.core.arrivals import Arrival, Opening
from roost.core.effects import Effects, PutExchange, Snapshot
from roost.core.exchanges import Completion, Exchange
from roost.core.facts import classify, session_owner
from roost.core.inbound import Inbound, Source
from roost.core.keys import SessionKey
from roost.core.messages import Provenance, ProvenanceKind, Text
from roost.core.principals import Principal
from roost.core.rights import Rights
from roost.core.runs import Lane, Request, Run, RunKind
from roost.core.sessions import Facts, Session
from roost.core.spawning import Order
from roost.core.terms import Terms
from tests.flows.driver import Driver
from tests.samples import UTC_ZONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One session's words to another."""

    text: str
    kind: ProvenanceKind
    tool: str
    exchange_id: str | None = None


def _inbound(driver: Driver, run: Run, target: SessionKey, message: Message) -> Inbound:
    name = driver.names("message")
    return Inbound(
        id=name,
        key=target,
        principal=run.cause.principal,
        provenance=Provenance(
            kind=message.kind,
            principal=run.cause.principal,
            source_session=str(run.key),
            source_tool=message.tool,
        ),
        content=(Text(message.text),),
        source=Source(channel=a2a.INTERNAL_CHANNEL, idempotency_key=name),
        received_at=driver.clock.now(),
        trace=run.cause.trace,
        exchange_id=message.exchange_id,
        hops=(*run.cause.hops, run.key),
    )


def _opening(driver: Driver, key: SessionKey, creator: Principal, known: Session | None) -> Opening:
    """What a message opens if there is no such session yet."""
    owner = known.owner if known else session_owner(key, "main", creator=creator)
    return Opening(
        session_id=driver.names("generation"), owner=owner, facts=Facts(kind=classify(key, "main"))
    )


async def send(driver: Driver, run: Run, target: SessionKey, text: str, max_turns: int = 5) -> Exchange:
    """A `sessions_send` of a run that is under way."""
    refused = a2a.check_hops(run.cause.hops, target)
    if refused:
        raise refused.error()
    exchange = Exchange(
        id=driver.names("exchange"),
        requester=run.key,
        target=target,
        request=text,
        created_at=driver.clock.now(),
        max_turns=a2a.turns(run.key, target, max_turns),
        hops=(*run.cause.hops, run.key),
    )
    message = Message(
        text=text, kind=ProvenanceKind.INTER_SESSION, tool=a2a.SEND_TOOL, exchange_id=exchange.id
    )
    inbound = _inbound(driver, run, target, message)
    arrival = Arrival(
        inbound=inbound,
        run_id=driver.names("run"),
        opening=_opening(driver, target, inbound.principal, await driver.store.session(target)),
        zone=UTC_ZONE,
        request=Request(
            kind=RunKind.EXCHANGE,
            lane=Lane.NESTED,
            prompt=exchangetext.primary_block(exchange, None, None),
        ),
    )

    def decide(snapshot: Snapshot) -> Effects:
        return (*queueing.accept(snapshot, arrival), PutExchange(exchange=exchange))

    await driver.store.accept_inbound(inbound, decide)
    return exchange


async def spawn(driver: Driver, run: Run, task: str) -> Completion:
    """A `sessions_spawn` of a run that is under way: what its session is owed."""
    driver.clock.advance(1)
    order = Order(
        run_id=run.id,
        call_id=driver.names("call"),
        agent=run.key.agent,
        task=task,
        terms=Terms(rights=Rights(spawns=5), max_depth=5, task=task),
        at=driver.clock.now(),
        max_children=10_000,
    )
    await driver.store.change_session(run.key, lambda snapshot: spawning.spawn(snapshot, order))
    owed = await driver.store.completions(run.key)
    return next(one for one in owed if one.child == order.child)
