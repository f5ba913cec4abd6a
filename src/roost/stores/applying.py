"""How each effect changes the rows: one function an effect, answering which session it touched."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from roost.core import effects as fx
from roost.core.deliveries import DeliveryKind
from roost.core.effects import Effect, Effects
from roost.core.errors import Conflict, InvalidInput
from roost.core.exchanges import CompletionStatus
from roost.core.firings import FiringState, PutFiring
from roost.core.inbound import InboundRecord, InboundState, InputMode
from roost.core.keys import SessionKey
from roost.core.runs import RunState
from roost.core.sessions import Counters, SessionStatus, Summary
from roost.core.splitting import parts
from roost.core.threads import BindThread, UnbindThread, UseThread
from roost.core.timeline import continued
from roost.core.turntaking import standing
from roost.stores.settling import settle
from roost.stores.unit import Unit


async def apply(unit: Unit, effects: Effects) -> None:
    """Write effects in order, each with its events."""
    for effect in map(unit.sealed, effects):
        key = await _APPLY[type(effect)](unit, effect)
        if effect.event is not None and key is not None:
            unit.emit(key, effect.event, *effect.refs)


async def open_session(unit: Unit, effect: fx.OpenSession) -> SessionKey:
    key = effect.session.key
    if await unit.session(key) is not None:
        raise Conflict(f"session {key} exists already")
    # Counted here, whatever a row from outside says; the feed goes on where one of this key stopped.
    session = effect.session._replace(
        session_id=effect.generation.session_id,
        summary=Summary(),
        events=await unit.tables.last_event(key),
    )
    await unit.tables.insert_session(session)
    await unit.tables.insert_generation(replace(effect.generation, number=1))
    unit.put_new(session)
    return key


async def open_generation(unit: Unit, effect: fx.OpenGeneration) -> SessionKey:
    generation = effect.generation
    session = await unit.existing(generation.key)
    # Numbered here: a decision does not see the branches that an import has put beside the conversation.
    number = 1 + await unit.tables.last_generation(generation.key)
    await unit.tables.insert_generation(replace(generation, number=number))
    unit.put(
        session._replace(
            session_id=generation.session_id,
            counters=Counters(context_window=session.counters.context_window),
            summary=Summary(),
            times=session.times._replace(started=generation.opened_at, updated=unit.now),
        )
    )
    return generation.key


async def change_session(unit: Unit, effect: fx.ChangeSession) -> SessionKey:
    session = await unit.existing(effect.key)
    times = session.times._replace(
        updated=max(session.times.updated, effect.touched or 0),
        interacted=max(session.times.interacted, effect.interacted or 0),
    )
    unit.put(
        session._replace(
            labels=effect.labels or session.labels,
            overrides=effect.overrides or session.overrides,
            counters=effect.counters or session.counters,
            origin=effect.origin or session.origin,
            route=effect.route or session.route,
            status=effect.status or session.status,
            times=times,
        )
    )
    return effect.key


async def archive(unit: Unit, effect: fx.Archive) -> SessionKey:
    session = await unit.existing(effect.key)
    pinned = session.times.pinned if effect.at is None else None
    unit.put(session._replace(times=session.times._replace(archived=effect.at, pinned=pinned)))
    return effect.key


async def pin(unit: Unit, effect: fx.Pin) -> SessionKey:
    session = await unit.existing(effect.key)
    unit.put(session._replace(times=session.times._replace(pinned=effect.at)))
    return effect.key


async def delete_session(unit: Unit, effect: fx.DeleteSession) -> None:
    await unit.existing(effect.key)
    if await unit.tables.has_work(effect.key):
        raise Conflict(
            f"session {effect.key} has work to do: a run, a message, a delivery or a child's answer",
            hint="stop it first, and dismiss what cannot be delivered",
        )
    if await unit.tables.forks(effect.key):
        raise continued(effect.key)
    await unit.remove(effect.key)


async def discard_session(unit: Unit, effect: fx.DiscardSession) -> None:
    if await unit.session(effect.key) is not None and await unit.may_go(effect.key):
        await unit.remove(effect.key)


async def append_entries(unit: Unit, effect: fx.AppendEntries) -> SessionKey:
    await unit.append(effect.key, effect.drafts)
    return effect.key


async def accept_input(unit: Unit, effect: fx.AcceptInput) -> SessionKey:
    await unit.existing(effect.inbound.key)
    await unit.tables.insert_inbound(
        InboundRecord(
            inbound=effect.inbound, state=InboundState.PENDING, mode=effect.mode, run_id=effect.run_id
        )
    )
    _seat(unit, effect.inbound.key, effect.run_id, effect.mode)
    return effect.inbound.key


async def move_input(unit: Unit, effect: fx.MoveInput) -> None:
    record = await unit.pending_input(effect.inbound_id)
    await unit.tables.update_inbound(replace(record, run_id=effect.run_id, mode=effect.mode))
    _seat(unit, record.inbound.key, effect.run_id, effect.mode)


def _seat(unit: Unit, key: SessionKey, run_id: str | None, mode: InputMode) -> None:
    """An input has its run, or waits for whichever turn comes next."""
    if (run_id is None) != (mode is InputMode.WAIT):
        raise InvalidInput(f"an input of mode {mode} cannot wait for run {run_id}")
    if run_id is not None:
        unit.seated(key, run_id)


async def merge_input(unit: Unit, effect: fx.MergeInput) -> SessionKey:
    record = await unit.pending_input(effect.inbound_id)
    await unit.tables.update_inbound(
        replace(record, state=InboundState.MERGED, merged_into=effect.into, reason=effect.reason)
    )
    unit.absorbs(effect.into)
    return record.inbound.key


async def kill_input(unit: Unit, effect: fx.KillInput) -> SessionKey:
    if effect.inbound is not None:
        await unit.existing(effect.inbound.key)
        await unit.tables.insert_inbound(
            InboundRecord(inbound=effect.inbound, state=InboundState.DEAD, reason=effect.reason)
        )
        return effect.inbound.key
    record = await unit.unread_input(effect.inbound_id)
    await unit.tables.update_inbound(replace(record, state=InboundState.DEAD, reason=effect.reason))
    return record.inbound.key


async def keep_input(unit: Unit, effect: fx.KeepInput) -> SessionKey:
    record = await unit.pending_input(effect.inbound_id)
    await unit.tables.update_inbound(replace(record, state=InboundState.TAKEN))
    return record.inbound.key


async def answer_input(unit: Unit, effect: fx.AnswerInput) -> SessionKey:
    await unit.existing(effect.inbound.key)
    await unit.tables.insert_inbound(
        InboundRecord(
            inbound=effect.inbound,
            state=InboundState.ANSWERED,
            reason=effect.command,
            answer=effect.answer,
        )
    )
    return effect.inbound.key


async def queue_run(unit: Unit, effect: fx.QueueRun) -> SessionKey:
    session = await unit.existing(effect.run.key)
    await unit.tables.insert_run(effect.run)
    unit.queued(effect.run)
    if session.status is SessionStatus.PARKED:
        await unit.set_status(session.key, standing(await unit.tables.active_runs(session.key), unit.now))
    elif session.status is not SessionStatus.RUNNING:
        await unit.set_status(session.key, SessionStatus.QUEUED)
    unit.waking.run_due()
    return effect.run.key


async def delay_run(unit: Unit, effect: fx.DelayRun) -> None:
    run = await unit.known_run(effect.run_id)
    await unit.tables.update_run(replace(run, ready_at=effect.ready_at))
    unit.waking.run_due()


async def requeue_run(unit: Unit, effect: fx.RequeueRun) -> SessionKey:
    run = await unit.known_run(effect.run_id)
    if run.state.ended:
        raise Conflict(f"run {run.id} has ended already")
    await unit.tables.update_run(
        replace(
            run,
            state=RunState.QUEUED,
            claim=None,
            ready_at=effect.ready_at,
            progress=effect.progress,
            fence=run.fence + 1,
        )
    )
    unit.left(run)
    await unit.set_status(run.key, SessionStatus.QUEUED)
    unit.waking.run_due()
    return run.key


async def request_stop(unit: Unit, effect: fx.RequestStop) -> None:
    run = await unit.known_run(effect.run_id)
    if run.state.ended:
        raise Conflict(f"run {run.id} has ended already")
    first = run.stop if run.stop and (effect.stop.goes_on or not run.stop.goes_on) else effect.stop
    # One that waits for its moment has none to wait for any more but its end.
    await unit.tables.update_run(replace(run, stop=first, ready_at=min(run.ready_at, unit.now)))
    unit.waking.stop_asked()


async def end_run(unit: Unit, effect: fx.EndRun) -> SessionKey:
    run = await unit.known_run(effect.run_id)
    # One that yielded has not come to its end.
    if run.state.ended and not (run.outcome and run.outcome.yielded):
        raise Conflict(f"run {run.id} has ended already")
    if not effect.outcome.state.ended:
        raise InvalidInput(f"{effect.outcome.state} is no way for a run to end")
    ended = replace(run, state=effect.outcome.state, outcome=effect.outcome, claim=None, fence=run.fence + 1)
    await unit.tables.update_run(ended)
    unit.left(run)
    left = await unit.tables.active_runs(run.key)
    # A child is asked for words only about a good end, and it stays one whether or not it finds them.
    state = RunState.DONE if run.tells_of_task else effect.outcome.state
    await unit.set_status(run.key, standing(left, unit.now) if left else SessionStatus(state))
    unit.ended(ended)
    await unit.waking.run_left()
    return run.key


async def add_delivery(unit: Unit, effect: fx.AddDelivery) -> SessionKey | None:
    session = await unit.existing(effect.delivery.key)
    # A notice that was given is the same one.
    if effect.delivery.kind is DeliveryKind.NOTICE and await unit.tables.delivery(effect.delivery.id):
        return None
    for part in parts(effect.delivery, unit.longest):
        await unit.tables.insert_delivery(part, session.owner)
    unit.waking.delivery_due()
    return effect.delivery.key


async def put_exchange(unit: Unit, effect: fx.PutExchange) -> SessionKey:
    await unit.existing(effect.exchange.target)
    await unit.tables.put_exchange(effect.exchange)
    if effect.exchange.sent.remote is not None:
        unit.waking.remote_due()
    return effect.exchange.target


async def owe_completion(unit: Unit, effect: fx.OweCompletion) -> SessionKey:
    await unit.existing(effect.completion.requester)
    await unit.tables.insert_completion(effect.completion)
    return effect.completion.requester


async def steer_child(unit: Unit, effect: fx.SteerChild) -> None:
    completion = await unit.owed_completion(effect.child_run)
    if completion is not None and completion.status is CompletionStatus.PENDING:
        await unit.tables.update_completion(replace(completion, steered_at=effect.at))


async def settle_completion(unit: Unit, effect: fx.SettleCompletion) -> SessionKey | None:
    completion = await unit.owed_completion(effect.child_run)
    if completion is None or completion.status is not CompletionStatus.PENDING:
        return None
    await unit.tables.update_completion(
        replace(
            completion,
            status=effect.status,
            result=effect.result,
            error=effect.error,
            settled_at=effect.at,
        )
    )
    return completion.requester


async def acknowledge(unit: Unit, effect: fx.AcknowledgeCompletion) -> SessionKey | None:
    completion = await unit.owed_completion(effect.child_run)
    if completion is None or completion.acknowledged_at is not None:
        return None
    await unit.tables.update_completion(replace(completion, acknowledged_at=effect.at))
    unit.eased(completion.child)
    unit.eased(completion.requester)
    return completion.requester


async def bind_thread(unit: Unit, effect: BindThread) -> None:
    await unit.existing(effect.binding.key)
    await unit.tables.put_binding(effect.binding)


async def use_thread(unit: Unit, effect: UseThread) -> None:
    bound = await unit.tables.binding(effect.address)
    if bound is not None and bound.key == effect.key and bound.used_at < effect.at:
        await unit.tables.put_binding(replace(bound, used_at=effect.at))


async def unbind_thread(unit: Unit, effect: UnbindThread) -> None:
    await unit.tables.delete_binding(effect.address)


async def put_firing(unit: Unit, effect: PutFiring) -> None:
    firing = effect.firing
    await unit.tables.put_firing(firing)
    if firing.forgets and firing.state is FiringState.OK:
        await unit.tables.delete_job(firing.job_id)
    unit.waking.job_changed()


async def record_denial(unit: Unit, effect: fx.RecordDenial) -> None:
    await unit.tables.insert_denial(effect.denial)


async def record_usage(unit: Unit, effect: fx.RecordUsage) -> None:
    await unit.tables.put_usage(effect.row)
    await settle(unit.tables, effect.row)


Apply = Callable[[Unit, Any], Awaitable[SessionKey | None]]

_APPLY: dict[type[Effect], Apply] = {
    fx.OpenSession: open_session,
    fx.OpenGeneration: open_generation,
    fx.ChangeSession: change_session,
    fx.Archive: archive,
    fx.Pin: pin,
    fx.DeleteSession: delete_session,
    fx.DiscardSession: discard_session,
    fx.AppendEntries: append_entries,
    fx.AcceptInput: accept_input,
    fx.MoveInput: move_input,
    fx.MergeInput: merge_input,
    fx.KillInput: kill_input,
    fx.KeepInput: keep_input,
    fx.AnswerInput: answer_input,
    fx.QueueRun: queue_run,
    fx.DelayRun: delay_run,
    fx.RequeueRun: requeue_run,
    fx.RequestStop: request_stop,
    fx.EndRun: end_run,
    fx.AddDelivery: add_delivery,
    fx.PutExchange: put_exchange,
    fx.OweCompletion: owe_completion,
    fx.SteerChild: steer_child,
    fx.SettleCompletion: settle_completion,
    fx.AcknowledgeCompletion: acknowledge,
    BindThread: bind_thread,
    UseThread: use_thread,
    UnbindThread: unbind_thread,
    PutFiring: put_firing,
    fx.RecordDenial: record_denial,
    fx.RecordUsage: record_usage,
}
