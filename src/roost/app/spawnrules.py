"""What is configured about the children of an agent, as the tools that spawn and look after them go by it."""

from collections.abc import Collection
from dataclasses import replace

from roost.app.toolpolicies import rights_of_child
from roost.config import Settings, policies
from roost.config.agents import Agent
from roost.core.addresses import Account
from roost.core.catalogue import Catalogue
from roost.core.spawnwishes import ChildAgent, Models, SpawnRules, ThreadRules
from roost.core.visibility import Level
from roost.models.demo import SPEC as DEMO


def spawn_rules(
    settings: Settings, agent: Agent, catalogue: Catalogue, threads: Collection[Account]
) -> SpawnRules:
    """`threads` are the accounts of channels that have them."""
    agents = {one.id: one for one in settings.agents.list}
    own = agent.subagents

    def child(name: str, depth: int) -> ChildAgent:
        found = agents[name]
        chosen = found.subagents.model
        rights = rights_of_child(settings, found, depth)
        if not _sees(settings, agent.id, name):
            rights = replace(rights, level=min(rights.level, Level.TREE))
        return ChildAgent(
            rights=rights,
            model=chosen.primary if chosen else None,
            own_model=found.model.primary or str(DEMO.ref),
        )

    return SpawnRules(
        delegation=policies.delegation(agent),
        agents=frozenset(agents),
        child=child,
        models=Models(ask_for=catalogue.ask_for, find=catalogue.find),
        max_depth=own.max_spawn_depth,
        max_children=own.max_children_per_agent,
        limit_seconds=own.run_timeout_seconds,
        require_agent=own.require_agent_id,
        threads=ThreadRules(
            policy=policies.thread_policy(settings), known=lambda address: address.served_by in threads
        ),
    )


def _sees(settings: Settings, agent: str, other: str) -> bool:
    """Whether sessions of an agent may look into those of another, which they would else do through a child of that one."""
    a2a = policies.agent_to_agent(settings)
    crosses = settings.tools.sessions.visibility is Level.ALL and a2a.enabled
    return agent == other or (crosses and a2a.names(agent) and a2a.names(other))
