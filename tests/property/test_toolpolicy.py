"""Whatever a policy says, it only takes tools away, and says of each who did."""

from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.rights import Rights
from roost.core.toolpolicy import ChildLayer, Profile, ToolPolicy, ToolRules, effective_tools
from tests.scale import examples

TOOLS = ("read", "write", "exec", "sessions_list", "sessions_spawn", "session_status", "cron", "own_tool")
WORDS = st.sampled_from((*TOOLS, "*", "sessions_*", "group:fs", "group:sessions", "bash", "unknown"))
LISTS = st.lists(WORDS, max_size=4).map(tuple)
SCOPES = st.builds(
    ToolRules,
    profile=st.none() | st.sampled_from(Profile),
    allow=st.none() | LISTS,
    also_allow=st.none() | LISTS,
    deny=LISTS,
)
POLICIES = st.builds(
    ToolPolicy,
    tools=SCOPES,
    agent=SCOPES,
    provider=st.lists(SCOPES, max_size=2).map(tuple),
    chat=st.lists(SCOPES, max_size=2).map(tuple),
    sandboxed=st.booleans(),
    child=st.none() | st.builds(ChildLayer, orchestrator=st.booleans(), allow=st.none() | LISTS, deny=LISTS),
    inherited=st.builds(
        Rights,
        allow=st.none() | st.frozensets(st.sampled_from(TOOLS)),
        deny=st.frozensets(st.sampled_from(TOOLS)),
    ),
)


@settings(max_examples=examples(50, 2000))
@given(policy=POLICIES)
def test_every_tool_is_either_kept_or_removed_by_one_stage(policy: ToolPolicy) -> None:
    effective = effective_tools(TOOLS, policy)
    assert sorted((*effective.names, *(one.name for one in effective.removed))) == sorted(TOOLS)


@settings(max_examples=examples(50, 2000))
@given(policy=POLICIES, name=st.sampled_from(TOOLS))
def test_a_name_that_any_list_denies_is_gone(policy: ToolPolicy, name: str) -> None:
    denying = [policy.tools, policy.agent, *policy.provider, *policy.chat]
    denied = any(name in scope.deny for scope in denying) or name in policy.inherited.deny
    assert not (denied and name in effective_tools(TOOLS, policy).names)


@settings(max_examples=examples(50, 2000))
@given(policy=POLICIES)
def test_the_ceiling_is_never_exceeded(policy: ToolPolicy) -> None:
    assert all(policy.inherited.permits(name) for name in effective_tools(TOOLS, policy).names)
