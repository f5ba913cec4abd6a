import pytest

from roost.config.amounts import Duration
from roost.config.sandbox import SandboxMode, SandboxVisibility
from tests.unit.config.given import refused, settings


def test_without_agents_there_is_one_named_main() -> None:
    agents = settings({}).agents
    assert [agent.id for agent in agents.list] == ["main"]
    assert agents.default.id == "main"


def test_children_have_the_specified_limits() -> None:
    children = settings({}).agents.default.subagents
    assert (children.max_concurrent, children.max_spawn_depth, children.max_children_per_agent) == (8, 1, 5)
    assert (children.archive_after_minutes, children.run_timeout_seconds) == (60, 0)
    assert children.announce_timeout_ms == 120_000
    assert children.allow_agents is None
    assert children.require_agent_id is False


@pytest.mark.parametrize(
    ("key", "bad"),
    [
        ("maxSpawnDepth", 0),
        ("maxSpawnDepth", 6),
        ("maxChildrenPerAgent", 21),
        ("maxConcurrent", 0),
        ("announceTimeoutMs", 0),
    ],
)
def test_limits_of_children_outside_their_range_are_refused(key: str, bad: int) -> None:
    path = f"agents.defaults.subagents.{key}"
    assert path in refused({"agents": {"defaults": {"subagents": {key: bad}}}})


def test_a_run_may_take_two_days() -> None:
    assert settings({}).agents.defaults.timeout_seconds == 48 * 3600


@pytest.mark.parametrize(
    ("agents", "chosen"),
    [
        ([{"id": "a"}, {"id": "b", "default": True}], "b"),
        ([{"id": "a"}, {"id": "main"}], "main"),
        ([{"id": "a"}, {"id": "b"}], "a"),
    ],
)
def test_exactly_one_agent_is_the_default(agents: list[object], chosen: str) -> None:
    given = settings({"agents": {"list": agents}}).agents
    assert [agent.id for agent in given.list if agent.default] == [chosen]
    assert given.default.id == chosen


@pytest.mark.requirement("D22")
def test_an_agent_has_its_own_values_and_the_defaults_for_the_rest() -> None:
    agent = settings(
        {
            "agents": {
                "defaults": {
                    "workspace": "~/work",
                    "model": {"primary": "p/a", "fallbacks": ["p/b"]},
                    "sandbox": {"mode": "all", "workspaceAccess": "rw"},
                    "subagents": {"maxSpawnDepth": 2, "model": "p/small"},
                    "heartbeat": {"every": "1h", "target": "none"},
                },
                "list": [
                    {
                        "id": "Ops",
                        "model": "p/c",
                        "sandbox": {"mode": "off"},
                        "subagents": {"allowAgents": ["*"]},
                        "heartbeat": {"every": "0m"},
                    }
                ],
            }
        }
    ).agents.default
    assert agent.id == "ops"
    assert agent.workspace == "~/work"
    assert (agent.model.primary, agent.model.fallbacks) == ("p/c", ("p/b",))
    assert (agent.sandbox.mode, agent.sandbox.workspace_access) == (SandboxMode.OFF, "rw")
    assert (agent.subagents.max_spawn_depth, agent.subagents.allow_agents) == (2, ("*",))
    assert agent.subagents.model is not None
    assert agent.subagents.model.primary == "p/small"
    assert (agent.heartbeat.every, agent.heartbeat.target) == (Duration(0), "none")


def test_a_map_of_agents_says_the_same_as_a_list() -> None:
    entry = {"name": "B", "tools": {"deny": ["exec"]}, "heartbeat": {"every": "2h"}}
    as_map = settings({"agents": {"entries": {"b": entry}}})
    as_list = settings({"agents": {"list": [{"id": "b", **entry}]}})
    assert as_map == as_list


@pytest.mark.parametrize(
    ("agents", "path"),
    [
        ({"list": [{"id": "a"}, {"id": "A"}]}, "agents.list[1].id"),
        ({"list": [{"id": "a"}], "entries": {"a": {}}}, "agents.entries.a"),
        ({"list": [{"id": "a", "default": True}, {"id": "b", "default": True}]}, "agents.list[1].default"),
        (
            {"list": [{"id": "a", "default": True}], "entries": {"b": {"default": True}}},
            "agents.entries.b.default",
        ),
        ({"entries": {"A": {}, "a": {}}}, "agents.entries.A"),
        ({"list": [{"id": "-a"}]}, "agents.list[0].id"),
        ({"list": [{"name": "a"}]}, "agents.list[0].id"),
    ],
)
def test_two_of_one_id_two_defaults_and_bad_ids_are_refused(agents: object, path: str) -> None:
    assert list(refused({"agents": agents})) == [path]


@pytest.mark.requirement("D30")
def test_the_sandbox_block_of_the_seeds_loads() -> None:
    document = {"agents": {"defaults": {"sandbox": {"sessionToolsVisibility": "spawned"}}}}
    assert settings(document).agents.default.sandbox.session_tools_visibility is SandboxVisibility.SPAWNED
    document["agents"]["defaults"]["sandbox"]["sessionToolsVisibility"] = "all"
    assert settings(document).agents.default.sandbox.session_tools_visibility is SandboxVisibility.ALL
