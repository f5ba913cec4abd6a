"""How a session tool gets at sessions: by name, through the guard, with a record of what was refused."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from roost.core.errors import NotFound, RoostError
from roost.core.exchanges import Exchange
from roost.core.keys import SessionKey
from roost.core.labels import called_by, own
from roost.core.ledger import Denial
from roost.core.principals import OWNER
from roost.core.queries import SessionQuery
from roost.core.reach import SessionReach
from roost.core.references import ByKeyOrId, display, resolve
from roost.core.refusals import refusal
from roost.core.remotes import RemoteSession, allowed_as, unknown
from roost.core.sessions import Session
from roost.core.tools import Invocation
from roost.core.visibility import (
    EVERYTHING,
    AgentCaller,
    Allowed,
    Denied,
    Operation,
    Target,
    VisibleScope,
    absent,
    decide,
    decide_beyond,
    scope,
)
from roost.ports import Clock, Store

MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A session that may be had; `session_id` is the generation, where one was named."""

    session: Session
    session_id: str | None = None


class Access:
    """The one way from a tool call to a session."""

    def __init__(self, store: Store, clock: Clock, reach: SessionReach) -> None:
        self.store = store
        self.clock = clock
        self.reach = reach

    def scope(self, operation: Operation, invocation: Invocation) -> VisibleScope:
        """What a list or search by this caller may hold."""
        return scope(operation, self.reach.caller(invocation))

    def shown(self, key: SessionKey, invocation: Invocation) -> str:
        """A key as this caller is shown it."""
        return display(key, self.reach.viewpoint(invocation))

    def addressee(self, exchange: Exchange, invocation: Invocation) -> str:
        """Where a message went, as this caller is shown it."""
        return str(exchange.sent.remote or self.shown(exchange.target, invocation))

    async def visible(self, keys: frozenset[SessionKey], invocation: Invocation) -> frozenset[SessionKey]:
        """Those of these sessions that the caller may know of."""
        if not keys:
            return frozenset()
        query = SessionQuery(
            scope=self.scope(Operation.STATUS, invocation),
            hidden=self.reach.hidden,
            keys=keys,
            archived=None,
            limit=len(keys),
        )
        return frozenset(row.key for row in (await self.store.list_sessions(query)).rows)

    async def find(self, operation: Operation, name: str, invocation: Invocation) -> Found:
        """The session that is meant by a key, an alias or a session id, if the caller may do this to it."""
        caller = self.reach.caller(invocation)
        first: tuple[Denied, str] | None = None
        for found in await self._meant(name, invocation, caller):
            decision = decide(operation, caller, await self._target(found.session))
            if isinstance(decision, Allowed):
                return found
            first = first or (decision, str(found.session.key))
        denied, target = first or (absent(caller), name)
        raise await self._refused(operation, invocation, denied, target)

    async def labelled(
        self, operation: Operation, label: str, agent: str | None, invocation: Invocation
    ) -> Found:
        """The session with this label, of this agent if one is named, if the caller may do this to it."""
        within = SessionQuery(
            scope=called_by(operation, self.reach.caller(invocation)),
            hidden=self.reach.hidden,
            label=label,
            agent=agent,
            limit=MOST_NAMED,
        )
        rows = (await self.store.list_sessions(within)).rows
        if not rows:
            # For the refusal only: it names its setting for what is the caller's own, whoever else has the same label.
            for seen in (own(invocation.cause.principal), EVERYTHING):
                anywhere = replace(within, scope=seen, limit=1)
                for row in (await self.store.list_sessions(anywhere)).rows:
                    await self.require(operation, Found(session=row), invocation)
            raise await self.absent(operation, label, invocation)
        if len(rows) > 1:
            names = ", ".join(sorted(self.shown(row.key, invocation) for row in rows))
            raise NotFound(f"several sessions are labelled {label!r}: {names}", hint="name one by its key")
        return Found(session=rows[0])

    async def admit(self, operation: Operation, key: SessionKey, invocation: Invocation) -> Session | None:
        """The main session under a key, if the caller may do this to it, be it there or not."""
        session = await self.store.session(key)
        target = (
            Target(key=key, agent=key.agent, owner=OWNER) if session is None else await self._target(session)
        )
        decision = decide(operation, self.reach.caller(invocation), target)
        if isinstance(decision, Denied):
            raise await self._refused(operation, invocation, decision, str(key))
        return session

    async def beyond(self, remote: RemoteSession, known: Collection[str], invocation: Invocation) -> None:
        """Raise unless the caller may send to a session of another gateway, which the configuration has to name."""
        caller = self.reach.caller(invocation)
        if remote.gateway not in known and caller.principal.is_owner and not caller.sandboxed:
            raise unknown(remote, known)
        decision = decide_beyond(caller, allowed_as(remote.gateway))
        if isinstance(decision, Denied):
            raise await self._refused(Operation.SEND, invocation, decision, str(remote))

    async def absent(self, operation: Operation, name: str, invocation: Invocation) -> RoostError:
        """The error for a session that is not there."""
        return await self._refused(operation, invocation, absent(self.reach.caller(invocation)), name)

    async def deny(
        self, operation: Operation, invocation: Invocation, rule: str, reason: str, target: str
    ) -> None:
        """Record what was refused for another reason than who may see whom."""
        await self.store.record_denial(
            Denial(
                at=self.clock.now(),
                operation=operation,
                principal=invocation.cause.principal,
                rule=rule,
                reason=reason,
                caller=invocation.key,
                target=target,
            )
        )

    async def require(self, operation: Operation, found: Found, invocation: Invocation) -> None:
        """Raise unless the caller may also do this to a session it found."""
        decision = decide(operation, self.reach.caller(invocation), await self._target(found.session))
        if isinstance(decision, Denied):
            raise await self._refused(operation, invocation, decision, str(found.session.key))

    def require_own(self, operation: Operation, session: Session, invocation: Invocation) -> None:
        """Raise unless the caller may do this to its own session, which is at hand."""
        own = Target(key=session.key, agent=session.key.agent, owner=session.owner)
        decision = decide(operation, self.reach.caller(invocation), own)
        if isinstance(decision, Denied):
            raise decision.error()

    async def _meant(self, name: str, invocation: Invocation, caller: AgentCaller) -> list[Found]:
        """The sessions a name may mean, the likelier one first."""
        try:
            reference = resolve(name, self.reach.viewpoint(invocation))
        except NotFound:
            if caller.sandboxed:
                return []
            raise
        by_key = await self.store.session(reference.key)
        found = [] if by_key is None else [Found(session=by_key)]
        if isinstance(reference, ByKeyOrId):
            by_id = await self.store.session_by_id(reference.session_id)
            if by_id is not None and by_id.key.kind not in self.reach.hidden:
                found.append(Found(session=by_id, session_id=reference.session_id))
        return found

    async def _target(self, session: Session) -> Target:
        key = session.key
        return Target(
            key=key,
            agent=key.agent,
            owner=session.owner,
            ancestors=await self.store.ancestors(key) if session.lineage.parent else (),
            participants=await self.store.participants(key) if session.facts.shared else frozenset(),
        )

    async def _refused(
        self, operation: Operation, invocation: Invocation, denied: Denied, target: str
    ) -> RoostError:
        """The error a caller is shown."""
        record = refusal(operation, self.reach.caller(invocation), denied, target, self.clock.now())
        if record is not None:
            await self.store.record_denial(record)
        return denied.error()
