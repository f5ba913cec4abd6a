import pytest

from roost.core.models import ModelRef
from roost.core.rights import Rights
from roost.core.toolpolicy import (
    FILE_TOOLS,
    ORCHESTRATOR_TOOLS,
    SESSION_TOOLS,
    ChildLayer,
    Profile,
    Stage,
    ToolPolicy,
    ToolRules,
    effective_tools,
    of_provider,
    of_sessions,
)

ALL = (
    *sorted(FILE_TOOLS),
    "exec",
    *sorted(SESSION_TOOLS),
    "agents_list",
    "sessions_search",
    "conversations_send",
    "message",
    "cron",
    "gateway",
)


def names(policy: ToolPolicy) -> set[str]:
    return set(effective_tools(ALL, policy).names)


def removed(policy: ToolPolicy) -> dict[str, Stage]:
    return {one.name: one.stage for one in effective_tools(ALL, policy).removed}


def test_without_any_rule_every_tool_is_there_in_its_order_and_once() -> None:
    effective = effective_tools((*ALL, *ALL), ToolPolicy())
    assert effective.names == ALL
    assert effective.removed == ()


@pytest.mark.requirement("D54")
@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        (Profile.MINIMAL, {"session_status"}),
        (Profile.CODING, {*FILE_TOOLS, "exec", *SESSION_TOOLS}),
        (
            Profile.MESSAGING,
            {"sessions_list", "sessions_history", "sessions_send", "session_status", "message"},
        ),
        (Profile.FULL, set(ALL)),
    ],
)
def test_a_profile_gives_its_set(profile: Profile, expected: set[str]) -> None:
    policy = ToolPolicy(tools=ToolRules(profile=profile))
    assert names(policy) == expected
    assert set(removed(policy).values()) <= {Stage.PROFILE}


@pytest.mark.requirement("D54")
def test_also_allow_adds_to_the_profile() -> None:
    policy = ToolPolicy(tools=ToolRules(profile=Profile.MINIMAL, also_allow=("sessions_spawn", "group:fs")))
    assert names(policy) == {"session_status", "sessions_spawn", *FILE_TOOLS}


@pytest.mark.requirement("D54")
def test_what_also_allow_adds_a_later_stage_can_remove() -> None:
    policy = ToolPolicy(
        tools=ToolRules(profile=Profile.MINIMAL, also_allow=("exec",)), agent=ToolRules(deny=("exec",))
    )
    assert names(policy) == {"session_status"}
    assert removed(policy)["exec"] is Stage.AGENT


def test_the_agents_profile_and_additions_stand_in_for_the_general_ones() -> None:
    tools = ToolRules(profile=Profile.CODING, also_allow=("cron",))
    assert names(ToolPolicy(tools=tools, agent=ToolRules(profile=Profile.MINIMAL))) == {
        "session_status",
        "cron",
    }
    assert names(ToolPolicy(tools=tools, agent=ToolRules(profile=Profile.MINIMAL, also_allow=()))) == {
        "session_status"
    }


def test_an_agents_wider_list_brings_nothing_back() -> None:
    policy = ToolPolicy(tools=ToolRules(allow=("read",)), agent=ToolRules(allow=("read", "write")))
    assert names(policy) == {"read"}
    assert removed(policy)["write"] is Stage.TOOLS


def test_deny_wins_over_allow_in_the_same_scope() -> None:
    assert names(ToolPolicy(tools=ToolRules(allow=("read", "exec"), deny=("exec",)))) == {"read"}


def test_an_empty_allow_list_allows_nothing() -> None:
    assert names(ToolPolicy(agent=ToolRules(allow=()))) == set()


def test_names_may_be_patterns_groups_and_the_old_name_of_exec_in_any_case() -> None:
    assert names(ToolPolicy(tools=ToolRules(allow=("sessions_*",)))) == {
        name for name in ALL if name.startswith("sessions_")
    }
    assert names(ToolPolicy(tools=ToolRules(allow=("Group:FS", " READ ")))) == FILE_TOOLS
    assert names(ToolPolicy(tools=ToolRules(allow=("bash",)))) == {"exec"}
    assert (
        SESSION_TOOLS | {"agents_list", "conversations_send"}
        <= removed(ToolPolicy(tools=ToolRules(deny=("group:sessions",)))).keys()
    )


def test_each_stage_signs_for_what_it_removed_and_the_first_one_counts() -> None:
    policy = ToolPolicy(
        tools=ToolRules(profile=Profile.CODING, deny=("write",)),
        agent=ToolRules(deny=("edit", "write")),
        provider=(ToolRules(deny=("exec",)),),
        chat=(ToolRules(deny=("list",)), ToolRules(allow=("read", "session_status", "cron"))),
        inherited=Rights(deny=frozenset({"session_status"})),
    )
    assert names(policy) == {"read"}
    found = removed(policy)
    assert found["cron"] is Stage.PROFILE
    assert found["exec"] is Stage.PROVIDER
    assert found["write"] is Stage.TOOLS
    assert found["edit"] is Stage.AGENT
    assert found["list"] is Stage.CHAT
    assert found["sessions_send"] is Stage.CHAT
    assert found["session_status"] is Stage.INHERITED


def test_a_providers_profile_narrows_with_its_own_additions() -> None:
    policy = ToolPolicy(provider=(ToolRules(profile=Profile.MINIMAL, also_allow=("read",)),))
    assert names(policy) == {"session_status", "read"}


def test_a_sandbox_takes_away_what_reaches_the_gateway_itself() -> None:
    assert removed(ToolPolicy(sandboxed=True)) == {"cron": Stage.SANDBOX, "gateway": Stage.SANDBOX}


@pytest.mark.requirement("D24")
def test_a_leaf_has_no_session_tool_and_nothing_that_speaks_for_the_owner() -> None:
    policy = ToolPolicy(child=ChildLayer())
    assert names(policy) == {*FILE_TOOLS, "exec"}
    assert set(removed(policy).values()) == {Stage.SUBAGENT}


@pytest.mark.requirement("D66")
def test_an_orchestrator_keeps_what_it_needs_to_lead_children() -> None:
    assert names(ToolPolicy(child=ChildLayer(orchestrator=True))) == {
        *FILE_TOOLS,
        "exec",
        *ORCHESTRATOR_TOOLS,
    }


@pytest.mark.requirement("D24")
def test_an_explicit_list_gives_session_tools_back_to_a_leaf_but_never_spawning() -> None:
    allow = ("read", "sessions_send", "session_status", "sessions_spawn", "cron")
    assert names(ToolPolicy(child=ChildLayer(allow=allow))) == {"read", "sessions_send", "session_status"}
    assert names(ToolPolicy(child=ChildLayer(allow=("*",)))) == {*FILE_TOOLS, "exec"}
    assert "sessions_spawn" in names(ToolPolicy(child=ChildLayer(orchestrator=True, allow=allow)))


def test_a_childs_deny_wins_and_its_list_cannot_bring_back_what_is_gone() -> None:
    child = ChildLayer(allow=("read", "write", "exec"), deny=("exec",))
    assert names(ToolPolicy(tools=ToolRules(deny=("write",)), child=child)) == {"read"}


@pytest.mark.requirement("S15")
def test_a_child_has_nothing_its_parent_lacks() -> None:
    policy = ToolPolicy(inherited=Rights(allow=frozenset({"read", "exec"}), deny=frozenset({"exec"})))
    assert names(policy) == {"read"}


def test_a_rule_for_the_model_goes_before_one_for_its_provider() -> None:
    model, provider = ToolRules(deny=("exec",)), ToolRules(deny=("read",))
    scopes = {"acme/large": model, "acme": provider}
    assert of_provider(scopes, ModelRef("acme", "large")) == (model,)
    assert of_provider(scopes, ModelRef("acme", "small")) == (provider,)
    assert of_provider(scopes, ModelRef("other", "small")) == ()


def test_the_tools_of_sessions_are_those_of_their_group() -> None:
    assert {name for name in ALL if of_sessions(name)} == {
        *SESSION_TOOLS,
        "agents_list",
        "sessions_search",
        "conversations_send",
    }
