from typing import Any

import pytest

from roost.core.delegation import Delegation
from roost.core.tools import ToolTraits
from roost.tools.agents_list import AgentsList, ListedAgent
from tests.unit.tools.calls import error_of
from tests.unit.tools.houses import House

AGENTS = (ListedAgent(id="ops", name="Operations", model="local/small"), ListedAgent(id="main"))


async def listed(named: frozenset[str] | None) -> dict[str, Any]:
    return await House().ask(AgentsList(Delegation(agent="main", named=named), AGENTS))


@pytest.mark.requirement("D01", "D22")
async def test_by_default_only_its_own_agent_may_be_spawned_under() -> None:
    assert await listed(None) == {
        "requester": "main",
        "allowAny": False,
        "agents": [{"id": "main", "configured": True}],
    }


@pytest.mark.requirement("D22")
async def test_those_that_are_named_and_configured_are_listed_and_its_own_only_if_it_is_named() -> None:
    ops = {"id": "ops", "name": "Operations", "configured": True, "model": "local/small"}
    own = {"id": "main", "configured": True}
    named = {"requester": "main", "allowAny": False}
    assert await listed(frozenset({"ops", "gone"})) == {**named, "agents": [ops]}
    assert await listed(frozenset({"ops", "main"})) == {**named, "agents": [own, ops]}
    assert await listed(frozenset()) == {**named, "agents": []}
    assert await listed(frozenset({"*"})) == {"requester": "main", "allowAny": True, "agents": [own, ops]}


async def test_it_takes_no_arguments() -> None:
    tool = AgentsList(Delegation(agent="main"), AGENTS)
    assert "takes no `all`" in error_of(await House().call(tool, all=True))
    assert tool.spec.name == "agents_list"
    assert tool.traits == ToolTraits(reenterable=True, parallel=True)
