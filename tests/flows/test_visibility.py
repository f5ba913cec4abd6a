"""What a list or a search shows is what the guard allows, row by row."""

from dataclasses import dataclass
from itertools import product

import pytest

from roost.core.keys import SessionKey
from roost.core.principals import OWNER, Principal, PrincipalKind, person
from roost.core.queries import SearchQuery, SessionQuery
from roost.core.routing import RoutingRules
from roost.core.runs import Run
from roost.core.scopes import DmScope
from roost.core.search import parse_query
from roost.core.visibility import (
    AgentCaller,
    AgentToAgent,
    Allowed,
    Caller,
    Level,
    Operation,
    PersonCaller,
    Target,
    decide,
    scope,
)
from roost.testing.builders import MAIN, opening, said, session
from tests.contract.scenes import always
from tests.flows.agents import spawn
from tests.flows.driver import Driver, House, Said, dm, in_group

ALICE, BOB = person("telegram", "7"), person("discord", "8")
OPERATOR = Principal(PrincipalKind.OPERATOR, "desk")
OPS = SessionKey.named("ops", "main")
A2A = (
    AgentToAgent(),
    AgentToAgent(enabled=True),
    AgentToAgent(enabled=True, allow=None),
    AgentToAgent(enabled=True, allow=frozenset({"main", "ops"})),
    AgentToAgent(enabled=True, allow=frozenset({"ops"})),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    targets: tuple[Target, ...]

    def allowed(self, operation: Operation, caller: Caller) -> set[SessionKey]:
        return {one.key for one in self.targets if decide(operation, caller, one) == Allowed()}


async def family(driver: Driver, run: Run) -> None:
    """A child and a grandchild of the session of a run."""
    await driver.take(run)
    await spawn(driver, run, "canary")
    await driver.finish(run, Said(text="canary"))
    child = await driver.started()
    await driver.take(child)
    await spawn(driver, child, "canary")
    await driver.finish(child, Said(yielded=True))
    grandchild = await driver.started()
    await driver.take(grandchild)


@pytest.fixture
async def world(driver: Driver) -> World:
    """Two agents, an owner, two people and a group, with children here and there."""
    driver.house = House(rules=RoutingRules(dm_scope=DmScope.OWNER_MAIN))
    for envelope in (dm("canary", "1"), dm("canary", "7"), dm("canary", "8", channel="discord")):
        await driver.hear(envelope)
        await family(driver, await driver.started())
    await driver.hear(in_group("canary", "7"))
    await driver.take(await driver.started())
    under_another = SessionKey.parse("agent:ops:subagent:abroad")
    rows = (
        session(OPS, owner=OWNER),
        session(SessionKey.parse("agent:ops:explicit:of-alice"), owner=ALICE),
        session(under_another, owner=OWNER, parent=MAIN),
    )
    for row in rows:
        await driver.store.change_session(row.key, always(opening(row, f"first-{row.key}")))
        await driver.store.append(row.key, (said(f"entry-{row.key}", "canary"),))
    page = await driver.store.list_sessions(SessionQuery(limit=100))
    assert len(page.rows) == 13
    return World(
        targets=tuple(
            [
                Target(
                    key=row.key,
                    agent=row.key.agent,
                    owner=row.owner,
                    ancestors=await driver.store.ancestors(row.key),
                )
                for row in page.rows
            ]
        )
    )


def people() -> list[Caller]:
    return [PersonCaller(principal=principal) for principal in (OWNER, ALICE, BOB, OPERATOR)]


def agents(world: World) -> list[Caller]:
    return [
        AgentCaller(
            agent=target.agent,
            key=target.key,
            principal=principal,
            level=level,
            sandboxed=sandboxed,
            lifted=lifted,
            a2a=a2a,
        )
        for target, principal, level, (sandboxed, lifted), a2a in product(
            world.targets,
            (OWNER, ALICE, BOB),
            Level,
            ((False, False), (True, False), (True, True)),
            A2A,
        )
    ]


@pytest.mark.requirement("P8", "D30", "D68")
async def test_a_list_shows_exactly_what_the_guard_allows(driver: Driver, world: World) -> None:
    shown: dict[object, set[SessionKey]] = {}
    for caller in (*people(), *agents(world)):
        wanted = scope(Operation.LIST, caller)
        if wanted not in shown:
            page = await driver.store.list_sessions(SessionQuery(scope=wanted, limit=100))
            shown[wanted] = {row.key for row in page.rows}
        assert shown[wanted] == world.allowed(Operation.LIST, caller), caller


@pytest.mark.requirement("P8", "P26", "D68")
async def test_a_search_finds_exactly_what_the_guard_allows(driver: Driver, world: World) -> None:
    found: dict[object, set[SessionKey]] = {}
    for caller in (*people(), *agents(world)):
        wanted = scope(Operation.SEARCH, caller)
        if wanted not in found:
            query = SearchQuery(query=parse_query("canary"), scope=wanted, limit=100)
            found[wanted] = {hit.key for hit in await driver.store.search(query)}
        assert found[wanted] == world.allowed(Operation.SEARCH, caller), caller


@pytest.mark.requirement("P2", "P8")
async def test_other_peoples_rows_are_in_no_answer(driver: Driver, world: World) -> None:
    own = {target.key for target in world.targets if target.owner == ALICE}
    alices = SessionKey.parse("agent:main:telegram:direct:7")
    callers: list[Caller] = [
        PersonCaller(principal=ALICE),
        AgentCaller(
            agent="main",
            key=alices,
            principal=ALICE,
            level=Level.ALL,
            a2a=AgentToAgent(enabled=True, allow=None),
        ),
    ]
    for caller in callers:
        for operation in (Operation.LIST, Operation.SEARCH, Operation.HISTORY):
            assert world.allowed(operation, caller) == own
