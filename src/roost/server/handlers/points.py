"""Save points: who may read a session may look at them, who may change it may save, whose it is may forget them."""

from collections import deque
from collections.abc import Iterable

from roost.core.errors import NotFound
from roost.core.jsonvalue import JsonObject
from roost.core.points import Pointed, deleting, difference, saving
from roost.core.timeline import Segment
from roost.core.visibility import Operation
from roost.protocol.convert.messages import LARGEST, fitting, message_row
from roost.protocol.convert.points import changed_row, point_row
from roost.protocol.families import points
from roost.protocol.families.operations import Forked
from roost.protocol.families.points import Deleted, Differing, Listed, Messages, Saved
from roost.protocol.families.sessions import KeyParams
from roost.server.calls import Call

PAGE = 500
_NOW = "now"
_MOST_CHARS = 2_000


async def list_points(call: Call, params: KeyParams) -> Listed:
    found = await _pointed(call, Operation.HISTORY, params)
    rows = [point_row(one) for one in found.points]
    return Listed(ts=call.house.clock.now(), key=str(found.session.key), points=rows)


async def save(call: Call, params: points.PointParams) -> Saved:
    found = await _pointed(call, Operation.PATCH, params)
    wanted = saving(params.name, call.house.clock.now(), call.caller.principal)
    kept = await call.house.store.change_points(found.session.key, wanted)
    return Saved(ok=True, key=str(found.session.key), point=point_row(kept[-1]))


async def diff(call: Call, params: points.DiffParams) -> Differing:
    found = await _pointed(call, Operation.HISTORY, params)
    at = call.house.clock.now()
    before = found.point(params.before)
    after = found.now(_NOW, at, call.caller.principal) if params.after is None else found.point(params.after)
    differing = difference(before, after, found.generations)
    model = differing.model
    return Differing(
        ts=at,
        key=str(found.session.key),
        gone=await _messages(call, differing.gone, params.limit),
        new=await _messages(call, differing.new, params.limit),
        settings=[changed_row(one) for one in differing.settings],
        model=None if model is None else {"before": model.before, "after": model.after},
        children={
            "born": [str(key) for key in differing.born],
            "left": [str(key) for key in differing.left],
            "moved": [str(key) for key in differing.moved],
        },
    )


async def load(call: Call, params: points.PointParams) -> Forked:
    found = await _pointed(call, Operation.HISTORY, params)
    point = found.point(params.name)
    opened = await call.house.engine.operations.branch(call.caller, point.key, point.base, point.overrides)
    return Forked(ok=True, key=str(opened.key), sessionId=opened.session_id)


async def delete(call: Call, params: points.PointParams) -> Deleted:
    found = await _pointed(call, Operation.DELETE, params)
    await call.house.store.change_points(found.session.key, deleting(params.name))
    return Deleted(ok=True, key=str(found.session.key), name=params.name)


async def _pointed(call: Call, operation: Operation, params: KeyParams) -> Pointed:
    session = await call.house.find(operation, call.caller, params.key, params.agent_id)
    found = None if session is None else await call.house.store.pointed(session.key)
    if found is None:
        raise NotFound(f"No session found: {params.key}")
    return found


async def _messages(call: Call, segments: Iterable[Segment], limit: int) -> Messages:
    count, size, last = 0, 0, deque[tuple[JsonObject, int]]()
    for segment in segments:
        after, through = segment.after, segment.through or 0
        while after < through:
            step = min(after + PAGE, through)
            for entry in await call.house.store.entries(segment.session_id, after=after, through=step):
                row = message_row(entry, None, _MOST_CHARS, call.house.scanner)
                if row is not None:
                    count += 1
                    last.append(fitting(row))
                    size += last[-1][1]
                while len(last) > limit or (size > LARGEST and len(last) > 1):
                    size -= last.popleft()[1]
            after = step
    return Messages(count=count, messages=[row for row, _ in last])
