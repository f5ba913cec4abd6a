"""What session tools will do, played by hand: one session sends to another, or spawns a child."""

from dataclasses import dataclass

from roost.core import a2a, sending, spawning, steering
from roost.core.effects import Effects
from roost.core.exchanges import Cleanup, Completion, Exchange
from roost.core.inbound import Inbound, Source
from roost.core.keys import SessionKey
from roost.core.messages import Provenance, ProvenanceKind, Text
from roost.core.rights import Rights
from roost.core.runs import Run
from roost.core.sending import MessageId
from roost.core.terms import Terms
from roost.core.trees import Tree
from tests.flows.driver import Driver


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


async def send(
    driver: Driver, run: Run, target: SessionKey, text: str, max_turns: int = 5, wait_ms: int = 0
) -> Exchange:
    """A `sessions_send` of a run that is under way."""
    refused = a2a.check_hops(run.cause.hops, target)
    if refused:
        raise refused.error()
    order = sending.SendOrder(
        id=MessageId.of_call(run.id, driver.names("call")),
        sender=run,
        target=target,
        text=text,
        at=driver.clock.now(),
        max_turns=max_turns,
        wait_ms=wait_ms,
    )
    await driver.store.accept_inbound(order.inbound(), lambda snapshot: sending.send(snapshot, order))
    return order.exchange()


async def spawn(
    driver: Driver, run: Run, task: str, cleanup: Cleanup = Cleanup.KEEP, limit_ms: int | None = None
) -> Completion:
    """A `sessions_spawn` of a run that is under way: what its session is owed."""
    driver.clock.advance(1)
    order = spawning.SpawnOrder(
        run_id=run.id,
        call_id=driver.names("call"),
        agent=run.key.agent,
        task=task,
        terms=Terms(rights=Rights(spawns=5), max_depth=5, task=task),
        at=driver.clock.now(),
        max_children=10_000,
        cleanup=cleanup,
        limit_ms=limit_ms,
    )
    await driver.store.change_session(run.key, lambda snapshot: spawning.spawn(snapshot, order))
    owed = await driver.store.completions(run.key)
    return next(one for one in owed if one.child == order.child)


async def steer(driver: Driver, requester: Run, spawned: Run, text: str = "look closer") -> None:
    """A `subagents steer` of a run that is under way, to the child whose task another run is."""
    word = steering.Word(
        id=driver.names("word"),
        child=spawned.key,
        requester=requester.key,
        cause=requester.cause,
        spawned=spawned,
        text=text,
        at=driver.clock.now(),
    )

    def decide(tree: Tree) -> Effects:
        steered = steering.steer(tree, word)
        return () if steered is None else steered.effects

    await driver.store.change_tree(requester.key, decide)
