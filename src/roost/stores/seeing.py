"""What a decision about a run or an exchange sees, all of it in one transaction."""

from roost.core import toolnames
from roost.core.addresses import Address
from roost.core.endings import completes, continuations, gone_on
from roost.core.exchanges import Completion, CompletionStatus, Exchange
from roost.core.keys import SessionKey
from roost.core.labels import Namesake, namesakes_of_child
from roost.core.principals import Principal
from roost.core.queries import LedgerQuery
from roost.core.runs import Run
from roost.core.sending import MessageId
from roost.core.snapshots import Batch, ExchangeSnapshot, Labour, RunSnapshot, Snapshot, SpawnSnapshot
from roost.core.spawning import run_of
from roost.core.threads import ThreadBinding
from roost.stores.tables import Tables
from roost.stores.unit import NEWEST, Unit


async def seen_run(unit: Unit, run: Run) -> RunSnapshot:
    session = await unit.snapshot(run.key)
    completion = await unit.tables.completion(run.request.completes or run.id)
    requester: Snapshot | None = None
    batch, labour = Batch(), Labour()
    if completion is not None:
        requester = await unit.snapshot(completion.requester)
        completion = await unit.tables.completion(completion.child_run) or completion
        batch = await _batch(unit.tables, completion)
        labour = await _labour(unit.tables, run, completion)
    exchange, partner, sender = None, None, None
    if run.request.exchange_id is not None:
        exchange = await unit.tables.exchange(run.request.exchange_id)
    if exchange is not None:
        other = exchange.requester if run.key == exchange.target else exchange.target
        partner = await unit.snapshot(other)
        exchange = await unit.tables.exchange(exchange.id)
    if exchange is not None:
        sender = await _sender(unit.tables, exchange)
    return RunSnapshot(
        run=run,
        session=session,
        exchange=exchange,
        completion=completion,
        batch=batch,
        requester=requester,
        labour=labour,
        partner=partner,
        sender=sender,
        awaited=await _awaited(unit.tables, run),
        spawned=await unit.tables.batch(run.key, run.id),
        shared=await _shared(unit.tables, run, session),
        firing=await unit.tables.firing(run.request.firing) if run.request.firing else None,
        audience=await unit.snapshot(run.request.posts_to) if run.request.posts_to else None,
    )


async def _batch(tables: Tables, owed: Completion) -> Batch:
    others = await tables.batch(owed.requester, owed.batch)
    return Batch(
        run=await tables.run(owed.batch),
        siblings=tuple(one for one in others if one.child_run != owed.child_run),
    )


async def _labour(tables: Tables, run: Run, owed: Completion) -> Labour:
    first = run if run.id == owed.child_run else await tables.run(owed.child_run)
    spent = await tables.usage(LedgerQuery(key=run.key))
    return Labour(began=first.started_at if first else None, used=spent.usage)


async def seen_spawn(unit: Unit, key: SessionKey, labels: frozenset[str]) -> SpawnSnapshot:
    requester = await unit.snapshot(key)
    owner = requester.session.owner if requester.session else None
    found = [await _namesakes(unit, label, owner) for label in sorted(labels)] if owner else []
    return SpawnSnapshot(
        requester=requester,
        bound=await _bound(unit, requester.running.request.reply_to if requester.running else None),
        namesakes=tuple(one for alike in found for one in alike),
    )


async def _bound(unit: Unit, address: Address | None) -> ThreadBinding | None:
    if address is None or address.thread is None:
        return None
    await unit.tables.keep_name(f"thread {address.served_by} {address.to} {address.thread}")
    return await unit.tables.binding(address)


async def _namesakes(unit: Unit, label: str, owner: Principal) -> list[Namesake]:
    await unit.tables.keep_name(f"label {owner} {label}")
    rows = await unit.tables.sessions(namesakes_of_child(label, owner))
    held = [await unit.session(row.key) for row in rows]
    return [Namesake(session=one, task=await unit.tables.completion(run_of(one.key))) for one in held if one]


async def seen_exchange(unit: Unit, exchange: Exchange) -> ExchangeSnapshot:
    target = await unit.snapshot(exchange.target)
    return ExchangeSnapshot(exchange=exchange, target=target, sender=await _sender(unit.tables, exchange))


async def standing(tables: Tables, run_id: str) -> Run | None:
    """Where a turn stands: in its run, or in the one that goes on where that one yielded."""
    run = await tables.run(run_id)
    while run is not None and run.outcome is not None and run.outcome.yielded:
        later = [await tables.run(one) for one in continuations(run.id)]
        batch = await tables.batch(run.key, run.id)
        run = gone_on(run, run.outcome, later, owed=any(one.acknowledged_at is None for one in batch))
    return run


async def _sender(tables: Tables, exchange: Exchange) -> Run | None:
    return None if exchange.sent.by is None else await standing(tables, exchange.sent.by)


async def _awaited(tables: Tables, run: Run) -> Exchange | None:
    step = run.progress.step
    if step is None or step.done or step.tool != toolnames.SESSIONS_SEND:
        return None
    sent = await tables.exchange(MessageId.of_call(run.id, step.call_id or "").message)
    if sent is not None:
        return sent
    known = (one for one in await tables.exchanges_of(run.key, NEWEST) if one.heard_by == run.id)
    return next((one for one in known if one.sent.asked_in == step.call_id), None)


async def _shared(tables: Tables, run: Run, session: Snapshot) -> tuple[Completion, ...]:
    pending = [one for one in session.children if one.status is CompletionStatus.PENDING]
    spawning = {one: await tables.run(one) for one in {one.batch for one in pending} - {run.id}}
    same = {one for one, other in spawning.items() if other and completes(other) == completes(run)}
    return tuple(one for one in pending if one.batch in same)
