"""Configurations of earlier releases, and what each of them showed to whom: a later release shows the same, or less.

Each file in `releases` is of one release and stays as it is. `python -m tests.flows.test_upgrades` prints that of this one.
"""

import json
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from roost.app.toolpolicies import is_sandboxed
from roost.config import ConfigSource, Settings
from roost.config.policies import channel_policy, session_reach
from roost.core.keys import SessionKey
from roost.core.principals import OWNER, person
from roost.core.visibility import AgentCaller, Allowed, Operation, Target, decide

RELEASES = Path(__file__).parent / "releases"
ALICE = person("telegram", "7")
OWN = SessionKey.parse("agent:main:telegram:direct:1")
CHILD = SessionKey.parse("agent:main:subagent:1")
MAIN = SessionKey.parse("agent:main:main")
ELSEWHERE = SessionKey.parse("agent:other:main")
ALICES = SessionKey.parse("agent:main:telegram:direct:7")
TARGETS = {
    "own": Target(key=OWN, agent="main", owner=OWNER),
    "child": Target(key=CHILD, agent="main", owner=OWNER, ancestors=(OWN,)),
    "same agent": Target(key=MAIN, agent="main", owner=OWNER),
    "other agent": Target(key=ELSEWHERE, agent="other", owner=OWNER),
    "other person": Target(key=ALICES, agent="main", owner=ALICE),
}
TWO: dict[str, Any] = {"agents": {"list": [{"id": "main"}, {"id": "other"}]}}
DOCUMENTS: tuple[dict[str, Any], ...] = (
    {},
    TWO,
    {**TWO, "tools": {"sessions": {"visibility": "self"}}},
    {**TWO, "tools": {"sessions": {"visibility": "agent"}}},
    {**TWO, "tools": {"sessions": {"visibility": "all"}}},
    {**TWO, "tools": {"sessions": {"visibility": "all"}, "agentToAgent": {"enabled": True}}},
    {**TWO, "tools": {"sessions": {"visibility": "all"}, "agentToAgent": {"enabled": True, "allow": ["*"]}}},
    {**TWO, "tools": {"agentToAgent": {"enabled": True, "allow": ["*"]}}},
    {"tools": {"sessions": {"visibility": "all"}}, "agents": {"defaults": {"sandbox": {"mode": "all"}}}},
    {
        "tools": {"sessions": {"visibility": "all"}},
        "agents": {"defaults": {"sandbox": {"mode": "all", "sessionToolsVisibility": "all"}}},
    },
    {
        "session": {"dmScope": "owner-main"},
        "channels": {"telegram": {"dmPolicy": "open", "allowFrom": ["*"]}},
    },
    {"channels": {"telegram": {"allowFrom": ["1"]}}, "commands": {"ownerAllowFrom": ["telegram:1"]}},
)


def _seen(given: Settings) -> Iterator[str]:
    agent = next(one for one in given.agents.list if one.id == "main")
    reach = session_reach(given, agent)
    for principal in (OWNER, ALICE):
        caller = AgentCaller(
            agent="main",
            key=OWN if principal == OWNER else ALICES,
            principal=principal,
            level=reach.level,
            sandboxed=is_sandboxed(agent, OWN, reach.main_name),
            lifted=reach.lifted,
            a2a=reach.a2a,
        )
        for operation, (name, target) in product(Operation, TARGETS.items()):
            if isinstance(decide(operation, caller, target), Allowed):
                yield f"{principal} {operation} {name}"
    door = channel_policy(given, "telegram")
    yield from (f"owner is {name}" for name in door.owner_ids)
    yield from (f"{name} is let in" for name in door.allow_from)


def _shown(document: object) -> list[str]:
    source = ConfigSource({"HOME": "/people/someone"})
    return sorted(_seen(source.interpret(json.dumps(document), exists=True).settings))


@pytest.mark.requirement("P8")
@pytest.mark.parametrize("release", sorted(RELEASES.glob("*.json")), ids=lambda file: file.stem)
def test_the_configuration_of_an_earlier_release_shows_no_more_than_it_did(release: Path) -> None:
    rows = json.loads(release.read_text())
    assert len(rows) >= 10
    for row in rows:
        wider = set(_shown(row["document"])) - set(row["shown"])
        assert wider == set(), row["document"]


@pytest.mark.requirement("P8")
def test_left_alone_an_agent_sees_itself_and_what_it_spawned() -> None:
    seen = {line.rpartition(" ")[2] for line in _shown({}) if line.startswith("owner list")}
    assert seen == {"own", "child"}
    assert not [line for line in _shown({}) if line.startswith("person") and line.endswith("own")]


if __name__ == "__main__":
    rows = [{"document": document, "shown": _shown(document)} for document in DOCUMENTS]
    sys.stdout.write(json.dumps(rows, indent=1) + "\n")
