"""The tool policy of an agent's runs, from the configuration."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from roost.app.desk import Desk
from roost.app.providers import open_models
from roost.app.toolpolicies import ToolTurn, level_of, policy_of, rights_of_child, spawns_of
from roost.clock import SystemClock
from roost.config import Settings, load
from roost.config.policies import channel_policy
from roost.core import toolnames
from roost.core.addresses import ChatType
from roost.core.admission import Admitted, decide
from roost.core.envelopes import Conversation, Envelope, Sender
from roost.core.models import ModelRef
from roost.core.principals import OWNER, Principal, person
from roost.core.rights import Rights
from roost.core.runs import Request
from roost.core.sessions import Lineage, Session
from roost.core.terms import Terms
from roost.core.toolpolicy import ORCHESTRATOR_TOOLS, SESSION_TOOLS, effective_tools
from roost.core.visibility import Level
from roost.stores.memory import MemoryStore
from tests import samples
from tests.samples import CHILD, MAIN


def settings(home: Path, **document: object) -> Settings:
    (home / "roost.json").write_text(json.dumps(document))
    return load({"ROOST_HOME": str(home)}).settings


def spawned(rights: Rights) -> Session:
    return samples.session(CHILD)._replace(lineage=Lineage(parent=MAIN, depth=1, terms=Terms(rights=rights)))


DEMO = ModelRef("demo", "demo")


def tools(found: Settings, session: Session, *, by: Principal = OWNER, model: ModelRef = DEMO) -> set[str]:
    run = samples.run("r", key=session.key, request=Request())
    turn = ToolTurn(session=session, run=replace(run, cause=replace(run.cause, principal=by)), model=model)
    policy = policy_of(found, found.agents.default, turn, sandboxed=False)
    return set(effective_tools(toolnames.EVERY, policy).names)


def test_a_provider_may_have_fewer_tools_by_what_all_and_by_what_the_agent_says(tmp_path: Path) -> None:
    agents = {"list": [{"id": "main", "tools": {"byProvider": {"demo/demo": {"deny": ["write"]}}}}]}
    found = settings(tmp_path, agents=agents, tools={"byProvider": {"demo": {"deny": ["exec"]}}})
    every = tools(found, samples.session(), model=ModelRef("other", "x"))
    assert every - tools(found, samples.session()) == {"exec", "write"}
    assert every - tools(found, samples.session(), model=ModelRef("demo", "big")) == {"exec"}


def test_a_channel_a_group_and_a_sender_take_tools_away_each_its_own(tmp_path: Path) -> None:
    group = {
        "tools": {"deny": ["write"]},
        "toolsBySender": {"7": {"deny": ["edit"]}, "*": {"allow": ["read"]}},
    }
    channels = {
        "telegram": {
            "tools": {"deny": ["exec"]},
            "groups": {"-100": group, "*": {"tools": {"allow": ["list"]}}},
            "accounts": {"work": {"tools": {"deny": ["list"]}}},
        }
    }
    found = settings(tmp_path, channels=channels)
    room = samples.session(samples.GROUP, facts=samples.GROUP_FACTS)
    every = set(toolnames.EVERY)
    assert every - tools(found, room, by=person("telegram", "7")) == {"exec", "write", "edit"}
    assert tools(found, room, by=person("telegram", "8")) == {"read"}
    other = room._replace(facts=room.facts._replace(peer="-200"))
    assert tools(found, other) == {"list"}
    at_work = other._replace(facts=other.facts._replace(account="work", peer="-300"))
    assert tools(found, at_work) == set()
    elsewhere = room._replace(facts=room.facts._replace(channel="slack"))
    assert tools(found, elsewhere) == every


@pytest.mark.requirement("D54")
@pytest.mark.parametrize(
    ("channel", "native_id", "entry"),
    [
        ("slack", "U024BE7LH", "U024BE7LH"),
        ("telegram", "7", "7"),
        ("telegram", "7", "telegram:7"),
        ("telegram", "7", "bob"),
    ],
)
def test_what_is_denied_to_a_sender_is_denied_as_the_channel_admits_them(
    channel: str, native_id: str, entry: str, tmp_path: Path
) -> None:
    own = {"allowFrom": [native_id], "toolsBySender": {entry: {"deny": ["exec"]}}}
    links = {"identityLinks": {"bob": ["telegram:7"]}}
    found = settings(tmp_path, channels={channel: {"dmPolicy": "allowlist", **own}}, session=links)
    chat = Conversation(chat_type=ChatType.DIRECT, peer=native_id)
    said = Envelope(channel=channel, sender=Sender(id=native_id), conversation=chat, text="hi")
    admitted = decide(said, channel_policy(found, channel))
    assert isinstance(admitted, Admitted)
    session = samples.session(facts=samples.GROUP_FACTS._replace(channel=channel, peer=native_id))
    assert set(toolnames.EVERY) - tools(found, session, by=admitted.principal) == {"exec"}


def test_a_group_is_named_in_whatever_case_the_channel_shows_ids(tmp_path: Path) -> None:
    groups = {"C01": {"tools": {"deny": ["exec"]}}, "*": {"tools": {"deny": ["read"]}}}
    found = settings(tmp_path, channels={"slack": {"groups": groups}})
    for peer, denied in (("C01", "exec"), ("c01", "exec"), ("C02", "read")):
        room = samples.session(samples.GROUP, facts=samples.GROUP_FACTS._replace(channel="slack", peer=peer))
        assert set(toolnames.EVERY) - tools(found, room) == {denied}


@pytest.mark.requirement("D24", "D66")
def test_a_leaf_has_no_session_tools_and_an_orchestrator_its_own(tmp_path: Path) -> None:
    found = settings(tmp_path)
    assert tools(found, samples.session()) == set(toolnames.EVERY)
    leaf = tools(found, spawned(Rights(spawns=0)))
    assert leaf == {"read", "write", "edit", "list", "exec"}
    assert tools(found, spawned(Rights(spawns=1))) == leaf | ORCHESTRATOR_TOOLS


@pytest.mark.requirement("D24")
def test_the_tools_of_children_are_configured(tmp_path: Path) -> None:
    found = settings(tmp_path, tools={"subagents": {"tools": {"allow": ["read", "sessions_list"]}}})
    assert tools(found, spawned(Rights())) == {"read", "sessions_list"}
    denied = settings(tmp_path, tools={"subagents": {"tools": {"deny": ["exec"]}}})
    assert "exec" not in tools(denied, spawned(Rights()))


@pytest.mark.requirement("S15")
def test_what_a_child_was_given_is_not_widened_by_what_is_configured_later(tmp_path: Path) -> None:
    child = spawned(Rights(allow=frozenset({"read"}), level=Level.SELF))
    generous = settings(tmp_path, tools={"sessions": {"visibility": "all"}})
    assert tools(generous, child) == {"read"}
    assert level_of(generous, child) is Level.SELF
    assert level_of(generous, samples.session()) is Level.ALL


def test_an_agent_as_a_child_has_what_its_own_policy_leaves_it(tmp_path: Path) -> None:
    agents = {
        "defaults": {"subagents": {"maxSpawnDepth": 2}},
        "list": [{"id": "main", "tools": {"deny": ["exec"]}, "sandbox": {"mode": "non-main"}}],
    }
    found = settings(tmp_path, agents=agents)
    rights = rights_of_child(found, found.agents.default, 1)
    assert (rights.sandboxed, rights.spawns, rights.level) == (True, 1, Level.TREE)
    assert rights.allow is not None
    assert "exec" not in rights.allow
    assert rights.allow & SESSION_TOOLS == ORCHESTRATOR_TOOLS
    assert rights_of_child(found, found.agents.default, 2).allow == rights.allow - ORCHESTRATOR_TOOLS


def test_levels_of_children_are_counted_from_the_top_or_from_what_was_given(tmp_path: Path) -> None:
    agent = settings(tmp_path).agents.default
    assert spawns_of(agent, samples.session()) == 1
    assert spawns_of(agent, spawned(Rights(spawns=3))) == 3
    unknown = samples.session(CHILD)._replace(lineage=Lineage(parent=MAIN, depth=1))
    assert spawns_of(agent, unknown) == 0


async def test_every_session_tool_is_one_that_policies_know(tmp_path: Path) -> None:
    loaded, clock = load({"ROOST_HOME": str(tmp_path)}), SystemClock()
    async with open_models(loaded.settings, clock) as models:
        desk = Desk(loaded, models, MemoryStore(clock), clock, threads=(), stop=lambda run, reason: None)
        made = desk.tools(loaded.settings.agents.default, Level.TREE)
    assert {tool.spec.name for tool in made} <= set(toolnames.EVERY)
