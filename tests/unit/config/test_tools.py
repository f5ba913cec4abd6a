import pytest

from roost.config.amounts import ByteSize
from roost.core.visibility import Level
from tests.unit.config.given import refused, settings


@pytest.mark.requirement("D68")
def test_session_tools_reach_their_own_tree_unless_told_otherwise() -> None:
    tools = settings({}).tools
    assert tools.sessions.visibility is Level.TREE
    assert tools.agent_to_agent.enabled is False
    assert tools.agent_to_agent.allow == ()


@pytest.mark.requirement("D68")
@pytest.mark.parametrize("level", ["self", "tree", "agent", "all"])
def test_every_level_of_visibility_is_known(level: str) -> None:
    assert (
        settings({"tools": {"sessions": {"visibility": level}}}).tools.sessions.visibility.name.lower()
        == level
    )


def test_the_messaging_profile_of_the_seeds_loads() -> None:
    tools = settings(
        '{tools: {profile: "messaging", alsoAllow: ["sessions_spawn", "sessions_yield", "subagents"]}}'
    ).tools
    assert tools.profile == "messaging"
    assert tools.also_allow == ("sessions_spawn", "sessions_yield", "subagents")


@pytest.mark.parametrize(
    "document",
    [
        {"tools": {"allow": ["a"], "alsoAllow": ["b"]}},
        {"tools": {"byProvider": {"p": {"allow": [], "alsoAllow": []}}}},
        {"agents": {"list": [{"id": "a", "tools": {"allow": ["a"], "alsoAllow": ["b"]}}]}},
    ],
)
def test_allow_and_also_allow_do_not_stand_in_one_scope(document: object) -> None:
    [path] = refused(document)
    assert path.endswith(".alsoAllow")


def test_they_may_stand_in_two_scopes() -> None:
    given = settings({"tools": {"allow": ["a"], "byProvider": {"p": {"alsoAllow": ["b"]}}}}).tools
    assert (given.allow, given.by_provider["p"].also_allow) == (("a",), ("b",))


@pytest.mark.requirement("S21")
def test_an_empty_allow_list_stays_a_list() -> None:
    tools = settings({"tools": {"allow": [], "subagents": {"tools": {"allow": []}}}}).tools
    assert tools.allow == ()
    assert tools.subagents.tools.allow == ()


def test_attachments_have_the_specified_limits() -> None:
    attachments = settings({}).tools.sessions_spawn.attachments
    assert (attachments.enabled, attachments.max_files, attachments.retain_on_session_keep) == (
        False,
        50,
        False,
    )
    assert (attachments.max_total_bytes, attachments.max_file_bytes) == (ByteSize(5242880), ByteSize(1048576))
    given = settings({"tools": {"sessions_spawn": {"attachments": {"maxFiles": 3}}}})
    assert given.tools.sessions_spawn.attachments.max_files == 3
