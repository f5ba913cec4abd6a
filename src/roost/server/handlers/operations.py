"""What an operator looks after, and decides."""

from anyio import to_thread

from roost.core.deliveries import Delivery, DeliveryState
from roost.core.errors import InvalidInput, NotFound
from roost.core.fleet import Fleet
from roost.core.jsonvalue import JsonObject
from roost.core.visibility import Operation, scope
from roost.engine.reaching import reach
from roost.protocol.convert.operations import audit_result, delivery_row, lease_row
from roost.protocol.families import operations
from roost.protocol.families.operations import Audited, Decided, Deliveries, Draining, Gateways
from roost.protocol.params import NoParams
from roost.server.calls import Call


async def deliveries(call: Call, params: operations.DeliveriesParams) -> Deliveries:
    """Of the sessions that the caller may see; only who sees all is told how many there are in all."""
    house = call.house
    found = await house.store.deliveries(params.state, params.limit, scope(Operation.LIST, call.caller))
    counted = (await house.store.workload()).deliveries if call.caller.rules_all else {}
    scanner = house.engine.rules.commands.scanner
    assert scanner is not None, "who serves clients masks secrets"
    return Deliveries(
        ts=house.clock.now(),
        counts={str(state): count for state, count in counted.items()},
        deliveries=[delivery_row(one, scanner) for one in found],
    )


async def retry(call: Call, params: operations.DeliveryParams) -> Decided:
    return await _decide(call, params.id, DeliveryState.INTENT)


async def dismiss(call: Call, params: operations.DeliveryParams) -> Decided:
    return await _decide(call, params.id, DeliveryState.DISMISSED)


async def _decide(call: Call, delivery_id: str, state: DeliveryState) -> Decided:
    house = call.house
    seen = await _delivery(call, delivery_id)
    if seen is None:
        raise NotFound(f"no delivery {delivery_id}")
    decided = await house.store.resolve_delivery(seen, state, house.clock.now())
    return Decided(ok=True, id=decided.id, state=str(decided.state))


async def _delivery(call: Call, delivery_id: str) -> Delivery | None:
    """One of somebody else's is none."""
    house = call.house
    found = await house.store.delivery(delivery_id)
    try:
        if found is not None:
            await reach(house.store, Operation.SEND, call.caller, found.key, house.clock.now())
    except NotFound:
        return None
    return found


async def gateways(call: Call, params: NoParams) -> Gateways:
    now = call.house.clock.now()
    leases = await call.house.store.gateways()
    return Gateways(ts=now, gateways=[lease_row(one, now) for one in leases])


async def drain(call: Call, params: operations.DrainParams) -> Draining:
    """It is answered before it leaves."""
    house, limit_ms = call.house, call.house.about.drain_ms
    name = house.engine.name or ""
    if limit_ms is None:
        raise InvalidInput("this gateway is part of a program", hint="end the program")
    _refuse_other(name, params.gateway, await house.store.fleet())
    found = [await house.store.run(run_id) for run_id in house.engine.stops.underway]
    runs: list[JsonObject] = [
        {"key": str(run.key), "runId": house.sends.name(run.id), "startedAt": run.started_at}
        for run in found
        if run is not None
    ]
    house.leaving.set()
    return Draining(gateway=name, drainMs=limit_ms, runs=runs)


def _refuse_other(name: str, meant: str | None, fleet: Fleet) -> None:
    """Nobody ends a gateway that he reached by chance."""
    addresses = {lease.gateway.name: lease.gateway.address for lease in fleet.live}
    if meant is None and len(addresses) > 1:
        raise InvalidInput(f"there are several gateways: {', '.join(addresses)}", hint="name one of them")
    if meant is not None and meant != name:
        where = addresses.get(meant)
        raise InvalidInput(
            f"this is gateway {name}, not {meant}",
            hint=f"ask that one at {where}" if where else "`roost status` lists those that there are",
        )


async def audit(call: Call, params: NoParams) -> Audited:
    rules = call.house.engine.rules
    return audit_result(await to_thread.run_sync(rules.house.audit, rules.let_in))
