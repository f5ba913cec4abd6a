"""Under which agents a session may spawn others: `subagents.allowAgents` of the agent that asks."""

from collections.abc import Iterable
from dataclasses import dataclass

ANY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegation:
    """Who may be named in a spawn: whom `named` holds, its own agent only if it is among them; `*` is everybody, None its
    own agent alone. A spawn that names nobody is its own agent's and is not asked about here."""

    agent: str
    named: frozenset[str] | None = None

    @property
    def any(self) -> bool:
        return self.named is not None and ANY in self.named

    def names(self, agent: str) -> bool:
        return agent == self.agent if self.named is None else self.any or agent in self.named

    def among(self, agents: Iterable[str]) -> tuple[str, ...]:
        """Those of these agents that may be named, its own first, the others by id."""
        return tuple(sorted(filter(self.names, agents), key=lambda agent: (agent != self.agent, agent)))
