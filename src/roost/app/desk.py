"""The session tools of an agent."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from roost.app.scanning import secret_scanner
from roost.app.spawnrules import spawn_rules
from roost.app.zones import zone_of
from roost.config import Loaded, policies
from roost.config.agents import Agent
from roost.config.casting import persona
from roost.core.addresses import Account
from roost.core.casting import answering
from roost.core.delegation import Delegation
from roost.core.errors import InvalidInput
from roost.core.listing import Glance
from roost.core.models import ModelSpec
from roost.core.reach import SessionReach
from roost.core.sending import SendRules
from roost.core.sessions import Session
from roost.core.spawnwishes import SpawnRules
from roost.core.statuscard import AnsweringModel
from roost.core.visibility import Level
from roost.engine.zones import zones_of
from roost.models.demo import SPEC as DEMO
from roost.models.registry import Registry
from roost.ports import Clock, Store, Tool
from roost.tools.access import Access
from roost.tools.agents_list import AgentsList, ListedAgent
from roost.tools.cron import Cron
from roost.tools.session_status import Models, SessionStatus
from roost.tools.sessions_history import SessionsHistory
from roost.tools.sessions_list import SessionsList
from roost.tools.sessions_search import SessionsSearch
from roost.tools.sessions_send import SessionsSend
from roost.tools.sessions_spawn import SessionsSpawn
from roost.tools.sessions_yield import SessionsYield
from roost.tools.subagents import Stop, Subagents
from roost.transfer.paths import transcript_path


@dataclass(frozen=True, slots=True, kw_only=True)
class _Terms:
    """What the settings say of an agent's tools."""

    reach: SessionReach
    spawning: SpawnRules
    sending: SendRules
    delegation: Delegation


class Desk:
    """Makes the session tools of an agent."""

    def __init__(
        self,
        loaded: Loaded,
        registry: Registry,
        store: Store,
        clock: Clock,
        *,
        threads: Collection[Account],
        stop: Stop,
    ) -> None:
        self._loaded = loaded
        self._settings = loaded.settings
        self._registry = registry
        self._store = store
        self._clock = clock
        self._scanner = secret_scanner(loaded)
        self._threads = threads
        self._stop = stop
        self._zones = zones_of(zone_of(loaded))
        self._terms: dict[str, _Terms] = {}
        self._personas = {one.id: persona(one, DEMO) for one in self._settings.agents.list}
        self._agents = tuple(map(_known_agent, self._settings.agents.list))

    def tools(self, agent: Agent, level: Level) -> tuple[Tool, ...]:
        """Those of a session whose tools reach no further than a level."""
        terms = self._terms_of(agent)
        access = Access(self._store, self._clock, replace(terms.reach, level=level))
        return (
            SessionsList(access, self._scanner, self.transcript_path_of),
            SessionsHistory(access, self._scanner),
            SessionsSearch(access, self._scanner),
            SessionsSend(access, self._scanner, terms.sending),
            SessionStatus(access, Models(find=self._model, answering=self._answering)),
            SessionsSpawn(access, terms.spawning),
            SessionsYield(access),
            Subagents(access, self._scanner, self._stop),
            Cron(self._store, self._clock, self._zones, tuple(one.id for one in self._agents)),
            AgentsList(terms.delegation, self._agents),
        )

    def _terms_of(self, agent: Agent) -> _Terms:
        """Worked out once: settings do not change."""
        terms = self._terms.get(agent.id)
        if terms is None:
            terms = self._terms[agent.id] = _Terms(
                reach=policies.session_reach(self._settings, agent),
                spawning=spawn_rules(self._settings, agent, self._registry.catalogue, self._threads),
                sending=policies.sending(self._settings),
                delegation=policies.delegation(agent),
            )
        return terms

    def _model(self, name: str) -> ModelSpec:
        return self._registry.catalogue.ask_for(name)

    def _answering(self, session: Session) -> AnsweringModel:
        name = session.key.agent or self._settings.agents.default.id
        # Nobody answers any more for an agent that is gone; what it has left is asked about all the same.
        known = self._personas.get(name) or persona(Agent(id=name), DEMO)
        return answering(session, known, self._registry.catalogue)

    def transcript_path_of(self, session: Session | Glance) -> str | None:
        agent = session.key.agent or self._settings.agents.default.id
        folder = self._loaded.transcript_folder(agent)
        if folder is None:
            return None
        try:
            return str(transcript_path(folder, session.session_id, session.key.topic))
        except InvalidInput:
            # A topic that cannot be part of a file's name.
            return None


def _known_agent(agent: Agent) -> ListedAgent:
    return ListedAgent(id=agent.id, name=agent.name, model=agent.model.primary)
