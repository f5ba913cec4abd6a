"""Sessions and generations in SQL."""

from collections.abc import Sequence
from operator import is_
from typing import Any

from roost.core.errors import NotFound
from roost.core.inbound import InboundRecord
from roost.core.keys import SessionKey
from roost.core.listing import Glance
from roost.core.principals import Principal
from roost.core.queries import SessionQuery
from roost.core.retention import SYNTHETIC
from roost.core.sessions import Generation, Session
from roost.stores.codec import encode, key_text, stored_key, to_text
from roost.stores.names import haystack
from roost.stores.scrub import without_content
from roost.stores.sql.rows import (
    Binding,
    Bindings,
    Rows,
    filtered,
    inbound_update,
    listed,
    scope_conditions,
)
from roost.stores.sql.session_values import read_generation, read_glances, read_session, read_sessions

_MARKS = Session._fields.index("status")


class SessionRows(Rows):
    async def session(self, key: SessionKey) -> Session | None:
        row = await self._session_row(key)
        return None if row is None else read_session(row)

    async def lock_session(self, key: SessionKey) -> Session | None:
        return await self.session(key)

    async def session_by_id(self, session_id: str) -> Session | None:
        row = await self._one("session_by_id", (session_id, self._tenant))
        return None if row is None else read_session(row)

    async def ancestors(self, key: SessionKey) -> tuple[SessionKey, ...]:
        return tuple(stored_key(row[0]) for row in await self._all("ancestors", (key_text(key),)))

    async def working_below(self, key: SessionKey) -> tuple[SessionKey, ...]:
        return tuple(stored_key(row[0]) for row in await self._all("working_below", (key_text(key),)))

    async def sessions(self, query: SessionQuery) -> Sequence[Session]:
        return read_sessions(await self._paged("sessions", query))

    async def count_listed(self, query: SessionQuery) -> int:
        ((found,),) = await self._listed("count_listed", query, {})
        return int(found)

    async def glances(self, query: SessionQuery) -> Sequence[Glance]:
        return read_glances(await self._paged("glances", query))

    async def kin(self, query: SessionQuery) -> Sequence[tuple[SessionKey, SessionKey]]:
        rows = await self._paged("kin", query)
        return [(stored_key(parent), stored_key(child)) for parent, child in rows]

    async def insert_session(self, session: Session) -> None:
        key, parent = key_text(session.key), session.lineage.parent
        facts, times = session.facts, session.times
        values = (
            key,
            session.key.agent,
            session.key.kind,
            int(session.key.heartbeat),
            str(session.owner),
            session.session_id,
            facts.kind,
            facts.channel,
            facts.chat_type,
            facts.account,
            facts.peer,
            facts.thread,
            facts.rule,
            key_text(parent) if parent else None,
            session.lineage.depth,
            encode(session.lineage.terms) if session.lineage.terms else None,
            times.created,
            times.archived,
            times.pinned,
            *_cold(session),
            *_hot(session),
            self._tenant,
        )
        self._numbers[session.key] = (await self._one("insert_session", values))[0]
        await self._do("forget_lineage", (key,))
        if parent is not None:
            await self._do("insert_parent", (key, key_text(parent)))
            await self._do("inherit_lineage", (key, key_text(parent)))

    async def update_session(self, was: Session, now: Session) -> None:
        number = await self._number(now.key)
        if _same_but_marks(was, now):
            # Without the columns that a list is ordered by: naming them writes its indexes anew.
            await self._do("mark_session", (now.status, now.version, now.events, number))
            return
        if _same_but_hot(was, now):
            await self._write_all("touch_session", [(*_hot(now), number)])
            return
        times = now.times
        values = (now.session_id, times.archived, times.pinned, *_cold(now), *_hot(now), number)
        await self._do("update_session", values)

    async def delete_session(self, key: SessionKey) -> None:
        number, text = await self._number(key), key_text(key)
        for statement in (
            "delete_runs",
            "delete_deliveries",
            "delete_exchanges",
            "delete_completions",
            "delete_bindings",
            "delete_points",
        ):
            await self._do(statement, (text,))
        # The identity of a message stays, so that its redelivery is recognised; what it said does not.
        for record in await self._bodies("inbound_of_session", (text,), InboundRecord):
            await self._do("update_inbound", inbound_update(without_content(record)))
        # Whoever gets this key later is not the parent of these children; the ledger's tree stays as it was.
        await self._do("end_kinship", (text,))
        if key.kind not in SYNTHETIC:
            await self._do("end_feed", (number,))
        await self._do("delete_session", (number,))
        self._numbers.pop(key, None)

    async def forks(self, key: SessionKey) -> tuple[SessionKey, ...]:
        return tuple(stored_key(row[0]) for row in await self._all("forks", (self._tenant, key_text(key))))

    async def participants(self, key: SessionKey) -> frozenset[Principal]:
        rows = await self._all("participants", (self._tenant, key_text(key)))
        return frozenset([Principal.parse(str(row[0])) for row in rows])

    async def put_participant(self, key: SessionKey, principal: Principal) -> None:
        await self._do("put_participant", (await self._number(key), str(principal)))

    async def last_event(self, key: SessionKey) -> int:
        row = await self._one("last_event", (key_text(key),))
        return 0 if row is None else int(row[0])

    async def generation(self, session_id: str) -> Generation | None:
        row = await self._one("generation", (session_id,))
        return None if row is None else read_generation(row)

    async def generations(self, key: SessionKey) -> tuple[Generation, ...]:
        rows = await self._all("generations", (self._tenant, key_text(key)))
        return tuple(read_generation(row) for row in rows)

    async def last_generation(self, key: SessionKey) -> int:
        row = await self._one("last_generation", (await self._number(key),))
        return int(row[0])

    async def insert_generation(self, generation: Generation) -> None:
        base = generation.base
        values = (
            await self._number(generation.key),
            generation.session_id,
            generation.number,
            generation.opened_at,
            generation.opened_by,
            generation.rule,
            generation.previous,
            base.session_id if base else None,
            base.seq if base else None,
            int(generation.archived),
            generation.header,
        )
        await self._insert_new("insert_generation", values, f"session id {generation.session_id}")

    async def _paged(self, statement: str, query: SessionQuery) -> Sequence[Any]:
        page: Bindings = {"limit": query.limit, "offset": query.offset}
        return await self._listed(statement, query, page)

    async def _listed(self, statement: str, query: SessionQuery, more: Bindings) -> Sequence[Any]:
        """What a statement finds of the sessions that a query means, with what `more` it binds."""
        bindings: Bindings = {"tenant": self._tenant, **more}
        conditions = list_conditions(query, bindings) + scope_conditions(query.scope, bindings)
        return await self._rows(filtered(self.sql, statement, conditions), bindings)

    async def _number(self, key: SessionKey) -> int:
        number = self._numbers.get(key)
        if number is None:
            row = await self._session_row(key)
            if row is None:
                raise NotFound(f"no session {key}")
            number = self._numbers[key] = int(row[0])
        return number

    async def _session_row(self, key: SessionKey) -> Any:
        return await self._one("session", (self._tenant, key_text(key)))


def list_conditions(query: SessionQuery, bindings: Bindings) -> list[str]:
    conditions = []
    if query.archived is not None:
        conditions.append("where_archived" if query.archived else "where_unarchived")
    given: dict[str, tuple[str, Binding]] = {
        "kinds": ("where_kinds", _words(query.kinds)),
        "agent": ("where_agent", query.agent),
        "label": ("where_label", query.label),
        "keys": ("where_keys", _keys(query.keys)),
        "parents": ("where_parents", _keys(query.parents)),
        "hidden": ("where_shown", _words(query.hidden or None)),
        "active_since": ("where_active", query.active_since),
        "search": ("where_search", query.search and query.search.casefold()),
        "after_updated": ("where_after", query.after.updated if query.after else None),
    }
    if query.after is not None:
        bindings["after_key"] = query.after.key
    for name, (condition, value) in given.items():
        if value is not None:
            conditions.append(condition)
            bindings[name] = value
    return conditions


def _words(words: frozenset[str] | None) -> str | None:
    return None if words is None else listed(words)


def _keys(keys: frozenset[SessionKey] | None) -> str | None:
    return None if keys is None else to_text([*map(key_text, keys)])


def _cold(session: Session) -> tuple[Binding, ...]:
    return (
        session.labels.label,
        encode(session.labels),
        encode(session.origin),
        encode(session.route) if session.route else None,
        encode(session.overrides),
        haystack(session),
    )


def _hot(session: Session) -> tuple[Binding, ...]:
    times, summary = session.times, session.summary
    return (
        times.started,
        times.updated,
        times.interacted,
        session.status,
        session.version,
        session.events,
        summary.entries,
        summary.title,
        summary.preview,
        summary.model,
        *session.counters,
    )


def _same_but_marks(was: Session, now: Session) -> bool:
    """Whether only how far it is has changed; by identity, as equal routes may differ in whose they are."""
    return all(map(is_, was[:_MARKS], now[:_MARKS]))


def _same_but_hot(was: Session, now: Session) -> bool:
    """Whether only what an append moves has changed; the title is searched, so it counts as cold."""
    # As tuples: parts that are the very same need no comparing.
    return _kept(now) == _kept(was) and (now.route is was.route or _route_key(now) == _route_key(was))


def _kept(session: Session) -> tuple[Any, ...]:
    times = session.times
    return (
        session.labels,
        session.origin,
        session.overrides,
        session.session_id,
        session.summary.title,
        times.archived,
        times.pinned,
    )


def _route_key(session: Session) -> tuple[object, ...] | None:
    """Its route, whose that is and what it is, which one address may be without."""
    route = session.route
    return (route, route.person, route.chat_type) if route else None
