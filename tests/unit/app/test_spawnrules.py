"""What is configured about the children of an agent."""

import json
from pathlib import Path

import pytest

from roost.app.providers import open_models
from roost.app.spawnrules import spawn_rules
from roost.clock import SystemClock
from roost.config import load
from roost.core.addresses import Account, Address
from roost.core.terms import SpawnContext
from roost.core.visibility import Level
from roost.models.demo import SPEC as DEMO


async def test_every_setting_of_children_is_gone_by(tmp_path: Path) -> None:
    subagents = {
        "maxSpawnDepth": 3,
        "maxChildrenPerAgent": 7,
        "runTimeoutSeconds": 9,
        "requireAgentId": True,
        "allowAgents": ["ops"],
        "model": str(DEMO.ref),
    }
    threads = {"idleHours": 1, "maxAgeHours": 2, "spawnSessions": False, "defaultSpawnContext": "isolated"}
    document = {
        "agents": {"list": [{"id": "main", "subagents": subagents}, {"id": "ops"}]},
        "session": {"threadBindings": threads},
    }
    (tmp_path / "roost.json").write_text(json.dumps(document))
    settings = load({"ROOST_HOME": str(tmp_path)}).settings
    async with open_models(settings, SystemClock()) as models:
        rules = spawn_rules(settings, settings.agents.default, models.catalogue, {Account("discord")})
    assert (rules.max_depth, rules.max_children, rules.limit_seconds) == (3, 7, 9)
    assert rules.require_agent
    assert [name for name in sorted(rules.agents) if rules.delegation.names(name)] == ["ops"]
    assert (rules.child("main", 1).model, rules.child("ops", 1).model) == (str(DEMO.ref), None)
    assert rules.child("ops", 1).own_model == str(DEMO.ref)
    bound = rules.threads
    settings_here = bound.policy.of(Address(channel="discord", to="x", thread="t"))
    assert (settings_here.spawns, settings_here.idle_ms, settings_here.max_age_ms) == (
        False,
        3_600_000,
        7_200_000,
    )
    assert settings_here.context is SpawnContext.ISOLATED
    assert bound.known(Address(channel="discord", to="x", thread="t"))
    assert not bound.known(Address(channel="telegram", to="x"))


EVERYONE = {"enabled": True, "allow": ["*"]}
THESE_TWO = {"enabled": True, "allow": ["main", "ops"]}


@pytest.mark.requirement("S15", "P8")
@pytest.mark.parametrize(
    ("visibility", "a2a", "other"),
    [
        ("tree", EVERYONE, Level.TREE),
        ("agent", EVERYONE, Level.TREE),
        ("all", {}, Level.TREE),
        ("all", {"enabled": True, "allow": ["ops"]}, Level.TREE),
        ("all", {"enabled": True, "allow": ["main"]}, Level.TREE),
        ("all", THESE_TWO, Level.ALL),
        ("all", EVERYONE, Level.ALL),
    ],
)
async def test_a_child_of_another_agent_sees_of_its_sessions_no_more_than_whoever_spawned_it(
    tmp_path: Path, visibility: str, a2a: dict[str, object], other: Level
) -> None:
    document = {
        "agents": {"list": [{"id": "main", "subagents": {"allowAgents": ["*"]}}, {"id": "ops"}]},
        "tools": {"sessions": {"visibility": visibility}, "agentToAgent": a2a},
    }
    (tmp_path / "roost.json").write_text(json.dumps(document))
    settings = load({"ROOST_HOME": str(tmp_path)}).settings
    async with open_models(settings, SystemClock()) as models:
        rules = spawn_rules(settings, settings.agents.default, models.catalogue, ())
    assert rules.child("ops", 1).rights.level is other
    assert rules.child("main", 1).rights.level is Level.parse(visibility)
