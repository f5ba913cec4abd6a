"""`agents_list`: the agents under which a session may spawn others."""

from collections.abc import Iterable
from dataclasses import dataclass

from roost.core import toolnames
from roost.core.delegation import Delegation
from roost.core.jsonvalue import JsonObject
from roost.core.models import ToolSpec
from roost.core.tools import Invocation, ToolOutcome, ToolTraits
from roost.ports import Report
from roost.tools.arguments import Arguments, object_schema
from roost.tools.outcomes import found, looked_up


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedAgent:
    """A configured agent."""

    id: str
    name: str | None = None
    model: str | None = None


class AgentsList:
    traits = ToolTraits(reenterable=True, parallel=True)
    spec = ToolSpec(
        name=toolnames.AGENTS_LIST,
        description=(
            "List the agents under which you may spawn a session, as JSON: give an `id` as `agentId` to sessions_spawn. "
            "Your own agent comes first if it may be named; a spawn without `agentId` is your own agent's."
        ),
        parameters=object_schema({}),
    )

    def __init__(self, delegation: Delegation, agents: Iterable[ListedAgent]) -> None:
        self._delegation = delegation
        self._agents = {agent.id: agent for agent in agents}

    async def run(self, invocation: Invocation, report: Report) -> ToolOutcome:
        return await looked_up(self._list(invocation))

    async def _list(self, invocation: Invocation) -> ToolOutcome:
        Arguments(self.spec, invocation.arguments)
        agents = [_shown(self._agents[name]) for name in self._delegation.among(self._agents)]
        told: JsonObject = {
            "requester": self._delegation.agent,
            "allowAny": self._delegation.any,
            "agents": agents,
        }
        return found(told, told)


def _shown(agent: ListedAgent) -> JsonObject:
    name = {} if agent.name is None else {"name": agent.name}
    model = {} if agent.model is None else {"model": agent.model}
    return {"id": agent.id, **name, "configured": True, **model}
