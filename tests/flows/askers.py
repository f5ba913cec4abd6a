"""Those who ask in the table of guards, each with the tools of its configuration, and what each is told."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from roost.app.desk import Desk
from roost.app.providers import open_models
from roost.config import Loaded, load, policies
from roost.core.jsonvalue import JsonValue
from roost.core.keys import SessionKey
from roost.core.references import resolve
from roost.core.visibility import Level, Operation
from roost.ports import Store
from roost.testing.clock import FakeClock
from roost.tools.access import Access
from tests.flows.doors import Cell
from tests.flows.guards import Asker, Box, Relation, Who, is_elses, setting_named

Configured = dict[tuple[Level, Box], Loaded]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A tool that shows what sessions there are."""

    operation: Operation
    tool: str
    rows: str
    field: str
    arguments: dict[str, JsonValue]

    async def shown(self, cell: Cell) -> set[SessionKey]:
        told = json.loads((await cell.use(self.tool, **self.arguments)).words)
        seen_from = cell.access.reach.viewpoint(cell.call())
        return {resolve(row[self.field], seen_from).key for row in told[self.rows]}


VIEWS = (
    View(
        operation=Operation.LIST, tool="sessions_list", rows="sessions", field="key", arguments={"limit": 200}
    ),
    View(
        operation=Operation.SEARCH,
        tool="sessions_search",
        rows="results",
        field="sessionKey",
        arguments={"query": "canary", "limit": 25},
    ),
)


def settings_of(level: Level, box: Box) -> dict[str, object]:
    kept = "all" if box is Box.LIFTED else "spawned"
    return {
        "agents": {
            "defaults": {
                "sandbox": {"sessionToolsVisibility": kept},
                "subagents": {"maxChildrenPerAgent": 20},
            },
            "list": [{"id": "main", "default": True}, {"id": "ops"}, {"id": "closed"}],
        },
        "tools": {
            "sessions": {"visibility": level.name.lower()},
            "agentToAgent": {"enabled": True, "allow": ["main", "ops"]},
        },
    }


def configured_in(folder: Path) -> Configured:
    found = {}
    for level, box in product(Level, Box):
        (folder / "roost.json").write_text(json.dumps(settings_of(level, box)))
        found[level, box] = load({"ROOST_HOME": str(folder)})
    return found


async def cells_of(store: Store, configured: Configured) -> AsyncIterator[Cell]:
    """One for each asker, with the tools that its configuration gives."""
    clock = FakeClock()
    for (level, box), loaded in configured.items():
        agent = loaded.settings.agents.default
        reach = policies.session_reach(loaded.settings, agent)
        async with open_models(loaded.settings, clock) as models:
            desk = Desk(loaded, models, store, clock, threads=frozenset(), stop=lambda run_id, reason: False)
            tools = desk.tools(agent, level)
            for who, inner in product(Who, (False, True)):
                yield Cell(
                    asker=Asker(who=who, inner=inner, level=level, box=box),
                    store=store,
                    clock=clock,
                    tools={one.spec.name: one for one in tools},
                    access=Access(store, clock, reach),
                )


def assert_told(words: str, absent: str, relation: Relation, asker: Asker, *, plainly: bool) -> None:
    """A sandboxed caller cannot tell denied from absent, nor anyone what is someone else's from nothing."""
    assert "canary" not in words
    if not plainly or asker.box is not Box.NONE or is_elses(relation, asker):
        assert words == absent, (asker, relation)
    elif setting := setting_named(relation, asker):
        assert setting in words, (asker, relation)
