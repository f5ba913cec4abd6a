"""What only Roost can be asked."""

import base64

from roost.core.errors import NotFound
from roost.core.exports import Reached
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.keys import SessionKey
from roost.core.queries import SessionQuery
from roost.core.sessions import Session
from roost.core.visibility import Operation, scope
from roost.protocol.families import own
from roost.protocol.families.own import Cleaned, Exported, Tree
from roost.protocol.families.sessions import KeyParams
from roost.server.calls import Call
from roost.server.handlers.cleaning import clean

MOST_NODES = 1_000


async def tree(call: Call, params: KeyParams) -> Tree:
    """A session and all that was spawned below it, as far as the caller may see."""
    house = call.house
    root = await house.found(Operation.LIST, call.caller, params.key, params.agent_id)
    found, truncated = await below(call, Operation.LIST, root)
    return Tree(ts=house.clock.now(), tree=_branch(call, root, found), truncated=truncated)


async def below(
    call: Call, operation: Operation, root: Session
) -> tuple[dict[SessionKey, list[Session]], bool]:
    """The children of each session, a generation a question, and whether there are more."""
    found: dict[SessionKey, list[Session]] = {}
    parents, room = frozenset({root.key}), MOST_NODES
    while parents and room:
        query = SessionQuery(scope=scope(operation, call.caller), parents=parents, archived=None, limit=room)
        page = await call.house.store.list_sessions(query)
        for row in sorted(page.rows, key=lambda row: (row.times.created, str(row.key))):
            if row.lineage.parent is not None:
                found.setdefault(row.lineage.parent, []).append(row)
        room -= len(page.rows)
        parents = frozenset(row.key for row in page.rows)
        if page.more:
            break
    return found, bool(parents)


def _branch(call: Call, session: Session, below: dict[SessionKey, list[Session]]) -> JsonObject:
    children: list[JsonValue] = [_branch(call, child, below) for child in below.get(session.key, ())]
    return {**call.house.rows.row(session, titles=True), "children": children}


async def cleanup(call: Call, params: own.CleanupParams) -> Cleaned:
    """What retention removes now, or would."""
    done = await clean(call, params.active_key, enforce=params.enforce, dry_run=params.dry_run)
    swept = done.swept
    return Cleaned(
        dryRun=params.dry_run,
        mode=done.mode,
        removed=[str(key) for key in swept.sessions],
        archived=[str(key) for key in swept.archived],
        generations=swept.generations,
        events=swept.events,
        records=swept.records,
        stores=[done.store],
    )


async def export(call: Call, params: own.ExportParams) -> Exported:
    house = call.house
    session = await house.found(Operation.EXPORT, call.caller, params.key, params.agent_id)
    read = house.engine.rules.commands.pieces
    if read is None:
        raise NotFound("this gateway has nothing to export with", hint="open it with its stores")
    reached = None if params.cursor is None else Reached.parse(params.cursor)
    piece = await read(session.key, params.raw, reached, house.covered)
    return Exported(
        key=str(session.key),
        name=piece.name,
        data=base64.b64encode(piece.data).decode(),
        nextCursor=None if piece.then is None else str(piece.then),
    )
