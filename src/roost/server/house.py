"""What every request is answered with."""

from dataclasses import dataclass
from enum import StrEnum

import anyio

from roost.core.errors import NotFound
from roost.core.keys import SessionKey
from roost.core.messages import Usage
from roost.core.queries import LedgerQuery, SessionQuery
from roost.core.redaction import SecretScanner, covered
from roost.core.references import (
    ByKeyOrId,
    Viewpoint,
    by_session_id,
    refuse_mismatch,
    refuse_unknown,
    resolve,
)
from roost.core.runs import Run
from roost.core.sessions import Session
from roost.core.visibility import Operation, PersonCaller, scope
from roost.engine.gateway import Engine
from roost.engine.reaching import existing, reach
from roost.protocol.convert.rows import Rows
from roost.server.callers import Callers
from roost.server.clients import Clients
from roost.server.metrics import Meters
from roost.server.nodes import Nodes
from roost.server.sends import Sends
from roost.server.strangers import Strangers

MOST_COUNTED = 1_000


class Phase(StrEnum):
    STARTING = "starting"
    SERVING = "serving"
    STOPPING = "stopping"


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a gateway says of itself. `log` is the file its lines go to, if they go to one; `drain_ms` how long it takes
    to leave at most, if it can be asked to."""

    version: str
    boot_id: str
    started_at: int
    store_path: str
    log: str | None = None
    auth_mode: str = "token"
    drain_ms: int | None = None


class House:
    """A gateway as its door sees it. `leaving` is set when a client asked it to leave."""

    def __init__(self, engine: Engine, about: About) -> None:
        self.engine = engine
        self.store, self.clock, self.new_id = engine.store, engine.clock, engine.new_id
        self.about = about
        self.clients = Clients(self.covered)
        self.nodes = Nodes(self.clients, engine.clock)
        self.callers = Callers()
        self.sends = Sends()
        self.meters = Meters()
        self.strangers = Strangers(self.meters)
        self.phase = Phase.STARTING
        self.leaving = anyio.Event()

    @property
    def scanner(self) -> SecretScanner:
        scanner = self.engine.rules.commands.scanner
        assert scanner is not None, "who serves clients masks secrets"
        return scanner

    @property
    def rows(self) -> Rows:
        return Rows(self.scanner, self.engine.rules.routing.main_name)

    def covered(self, text: bytes) -> bytes:
        """What leaves the house, without the secrets of the configuration."""
        return covered(text, self.engine.rules.house.hidden)

    async def count(self, caller: PersonCaller, agent: str | None = None) -> int:
        """About how many sessions there are for the caller, of one agent or of all: to count them costs as many steps, so
        all are not counted at every call, nor anyone's own or an agent's beyond a page."""
        only = agent if len(self.engine.rules.commands.agents) > 1 else None
        if only is not None or not caller.rules_all:
            own = SessionQuery(
                scope=scope(Operation.LIST, caller), agent=only, archived=None, limit=MOST_COUNTED
            )
            return len((await self.store.list_sessions(own)).rows)
        return await self.engine.census.shown()

    async def used(self, run: Run) -> Usage:
        """What all calls of a run used, or about that where nobody counted."""
        query, used = LedgerQuery(key=run.key, since=run.started_at), Usage()
        for call in await self.store.ledger(query, offset=0, limit=MOST_COUNTED):
            if call.run_id == run.id:
                used = used.plus(call.usage)
        return used

    def key(self, text: str, agent: str | None = None) -> SessionKey:
        """The key a client means, in its full form. One of an agent that there is not is refused, and so is one of
        another agent than it names."""
        key = resolve(text, self._viewpoint(agent)).key
        refuse_mismatch(key, agent)
        return self.known(key)

    async def meant(
        self,
        operation: Operation,
        caller: PersonCaller,
        text: str,
        agent: str | None = None,
        usual: str | None = None,
    ) -> SessionKey:
        """As `key`, but a session that is there and may be done this to is also meant by its id, and where nothing is sent
        to it its agent may be gone. Where no agent is named a short name is one of the `usual` one's."""
        key = await self._meant(operation, caller, text, agent, usual)
        if operation is Operation.SEND or not await self._is_there(operation, caller, key):
            self.known(key)
        return key

    async def addressed(self, caller: PersonCaller, text: str, agent: str | None = None) -> SessionKey:
        """As `meant` by who says something: a command may be said where nobody answers any more."""
        key = await self._meant(Operation.SEND, caller, text, agent)
        return key if await self._is_there(Operation.SEND, caller, key) else self.known(key)

    async def find(
        self, operation: Operation, caller: PersonCaller, text: str, agent: str | None = None
    ) -> Session | None:
        """The session that is meant by a key, an alias or a session id, if the caller may do this to it."""
        reference = resolve(text, self._viewpoint(agent))
        session = await reach(self.store, operation, caller, reference.key, self.clock.now())
        if session is None and isinstance(reference, ByKeyOrId):
            by_id = await self.store.session_by_id(reference.session_id)
            if by_id is not None:
                session = await existing(self.store, operation, caller, by_id.key, self.clock.now())
        refuse_mismatch(reference.key if session is None else session.key, agent)
        return session

    async def found(
        self, operation: Operation, caller: PersonCaller, text: str, agent: str | None = None
    ) -> Session:
        """As `find`; raises `NotFound` where there is none."""
        session = await self.find(operation, caller, text, agent)
        if session is None:
            raise NotFound(f"No session found: {text}")
        return session

    async def by_id(
        self, operation: Operation, caller: PersonCaller, text: str, agent: str | None = None
    ) -> Session:
        """The session with an id; one that is not the caller's is told of as one that is not there."""
        session_id = by_session_id(text).session_id
        found = await self.store.session_by_id(session_id)
        session = None if found is None else await self._reached(operation, caller, found.key)
        if session is None:
            raise NotFound(f"No session found: {session_id}")
        refuse_mismatch(session.key, agent)
        return session

    def known(self, key: SessionKey) -> SessionKey:
        """A key, unless its agent is none that there is."""
        refuse_unknown(key.agent, self.engine.rules.commands.agents)
        return key

    async def _meant(
        self,
        operation: Operation,
        caller: PersonCaller,
        text: str,
        agent: str | None,
        usual: str | None = None,
    ) -> SessionKey:
        reference = resolve(text, self._viewpoint(agent or usual))
        key = reference.key
        if isinstance(reference, ByKeyOrId) and await self.store.session(key) is None:
            found = await self.store.session_by_id(reference.session_id)
            session = None if found is None else await self._reached(operation, caller, found.key)
            key = key if session is None else session.key
        refuse_mismatch(key, agent)
        return key

    async def _is_there(self, operation: Operation, caller: PersonCaller, key: SessionKey) -> bool:
        """Looked up only where it matters: an agent that is gone has left what there is."""
        if not key.agent or key.agent in self.engine.rules.commands.agents:
            return True
        return await self._reached(operation, caller, key) is not None

    async def _reached(self, operation: Operation, caller: PersonCaller, key: SessionKey) -> Session | None:
        """What is not the caller's is not there."""
        try:
            return await existing(self.store, operation, caller, key, self.clock.now())
        except NotFound:
            return None

    def _viewpoint(self, agent: str | None) -> Viewpoint:
        routing = self.engine.rules.routing
        return Viewpoint(
            agent=agent or routing.default_agent,
            main_name=routing.main_name,
            scope=routing.scope,
            traits=routing.traits,
        )
