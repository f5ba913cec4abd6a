"""Under which agents a session may spawn others: `subagents.allowAgents` of the agent that asks."""

from collections.abc import Iterable
from dataclasses import dataclass

ANY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegation:
    """Its own agent is always allowed; others only if they are named. `named` None names nobody, `*` everybody."""

    agent: str
    named: frozenset[str] | None = None

    @property
    def any(self) -> bool:
        return self.named is not None and ANY in self.named

    def allows(self, agent: str) -> bool:
        return agent == self.agent or self.any or (self.named is not None and agent in self.named)

    def names(self, agent: str) -> bool:
        """Whether a spawn may ask for this agent by name: a list that is configured must hold it, its own too."""
        return self.allows(agent) if self.named is None else self.any or agent in self.named

    def among(self, agents: Iterable[str]) -> tuple[str, ...]:
        """Those of these agents that are allowed, its own first, the others by id."""
        return tuple(sorted(filter(self.allows, agents), key=lambda agent: (agent != self.agent, agent)))
