"""Save points, changed under the lock of their session."""

from roost.core.keys import SessionKey
from roost.core.points import MOST_CHILDREN, DecidePoints, Point, Pointed
from roost.core.queries import SessionQuery
from roost.core.sessions import Session
from roost.stores.tables import Tables
from roost.stores.unit import Unit
from roost.stores.verbs.base import Verbs
from roost.stores.verbs.sessions import read_from


class PointVerbs(Verbs):
    async def pointed(self, key: SessionKey) -> Pointed | None:
        async def verb(tables: Tables) -> Pointed | None:
            session = await tables.session(key)
            return None if session is None else await _moment(tables, session)

        return await self._read(verb)

    async def change_points(self, key: SessionKey, decide: DecidePoints) -> tuple[Point, ...]:
        async def verb(unit: Unit) -> tuple[Point, ...]:
            pointed = await _moment(unit.tables, await unit.existing(key))
            wanted = unit.sealed(decide(pointed))
            for one in pointed.points:
                if one not in wanted:
                    await unit.tables.delete_point(key, one.name)
            for one in wanted:
                if one not in pointed.points:
                    await unit.tables.insert_point(one)
            return wanted

        return await self._write(verb)


async def _moment(tables: Tables, session: Session) -> Pointed:
    below = SessionQuery(parents=frozenset({session.key}), archived=None, limit=MOST_CHILDREN)
    children = await tables.sessions(below)
    return Pointed(
        session=session,
        children=tuple(sorted(children, key=lambda row: (row.times.created, str(row.key)))),
        points=await tables.points(session.key),
        generations=await read_from(tables, session.key),
    )
