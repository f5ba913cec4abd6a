"""The table of guards at the door of `/tools/invoke`: the tools of a run, called by a person in a session."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import httpx2
import pytest

from roost.core.jsonvalue import JsonValue
from roost.core.runs import Run
from roost.core.sessions import Session
from roost.core.tools import Place
from roost.engine.rules import Part
from roost.ports import Tool
from roost.server.http.tools import ACTING
from tests.contract.scenes import known
from tests.flows.askers import VIEWS, Configured, assert_told, cells_of
from tests.flows.doors import BETWEEN_PROBES_MS, DOORS, Answer, Cell, ToolDoor
from tests.flows.guards import NOWHERE, Box, Who, plant, promised
from tests.flows.served import Gate, gates
from tests.scale import FULL, chosen

TOKENS = {Who.OWNER: "secret-token", Who.PERSON: "bob-token", Who.GUEST: "bob-token"}
SCOPES = {"x-openclaw-scopes": "operator.write, operator.tools.sessions"}
TOOL_DOORS = tuple(one for one in DOORS if isinstance(one, ToolDoor))
STEP = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoked(Cell):
    """The same tools, over HTTP. A guest may not call them in a group that is not his."""

    http: httpx2.AsyncClient

    @property
    def enters(self) -> bool:
        return self.asker.who is not Who.GUEST

    async def use(self, tool: str, **arguments: JsonValue) -> Answer:
        body = {"tool": tool, "args": arguments, "sessionKey": str(self.asker.key)}
        answer = await self.http.post("/tools/invoke", json=body)
        told = answer.json()
        if told["ok"]:
            return Answer(allowed=True, words=told["result"]["content"][0]["text"])
        assert answer.status_code in (400, 404), told
        return Answer(allowed=False, words=told["error"]["message"])


@asynccontextmanager
async def planted(folder: Path) -> AsyncIterator[Gate]:
    with anyio.fail_after(120):
        async with gates("memory", folder) as gate:
            await plant(gate.house.store)
            yield gate


async def invoking(gate: Gate, configured: Configured) -> AsyncIterator[Invoked]:
    """The askers of the table, each with a browser; every fifth of them at the reduced scale."""
    number = 0
    async for cell in cells_of(gate.house.store, configured):
        number += 1
        if not FULL and not chosen(number, STEP):
            continue
        await _cast(gate, cell.asker.box, tuple(cell.tools.values()))
        async with gate.browser(TOKENS[cell.asker.who], **SCOPES) as http:
            yield Invoked(
                asker=cell.asker,
                store=cell.store,
                clock=cell.clock,
                tools=cell.tools,
                access=cell.access,
                http=http,
            )


async def _cast(gate: Gate, box: Box, tools: tuple[Tool, ...]) -> None:
    def cast(session: Session, run: Run) -> Part:
        part = gate.bench.cast(session, run)
        return replace(part, place=Place(workspace="/w", sandboxed=box is not Box.NONE), tools=tools)

    await gate.engine.reload(replace(gate.engine.rules, cast=cast))


@pytest.mark.requirement("P8", "S9", "S10", "S16", "S17", "S20")
@pytest.mark.parametrize("door", TOOL_DOORS, ids=lambda door: door.name)
async def test_a_tool_called_over_http_reaches_what_is_promised(
    door: ToolDoor, tmp_path: Path, configured: Configured
) -> None:
    off = door.tool in ACTING
    async with planted(tmp_path) as gate:
        async for cell in invoking(gate, configured):
            absent = await door.probe(cell, NOWHERE)
            for relation, key in cell.asker.targets.items():
                expected = cell.enters and not off and bool(door.expected(relation, cell.asker))
                before = await known(cell.store, key)
                cell.clock.advance(BETWEEN_PROBES_MS)
                answer = await door.probe(cell, key)
                assert answer.allowed is expected, (cell.asker, relation, answer.words)
                if expected:
                    continue
                assert await known(cell.store, key) == before
                if off or not cell.enters:
                    assert answer == absent
                else:
                    assert_told(answer.words, absent.words, relation, cell.asker, plainly=door.records)


@pytest.mark.requirement("P8", "S20")
async def test_a_list_asked_for_over_http_shows_what_is_promised(
    tmp_path: Path, configured: Configured
) -> None:
    async with planted(tmp_path) as gate:
        async for cell in invoking(gate, configured):
            for view in VIEWS:
                if not cell.enters:
                    assert not (await cell.use(view.tool, **view.arguments)).allowed
                    continue
                shown = await view.shown(cell)
                for relation, key in cell.asker.targets.items():
                    expected = promised(view.operation, relation, cell.asker)
                    assert (key in shown) is expected, (cell.asker, relation)
