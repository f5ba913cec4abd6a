import pytest

from roost.core.delegation import Delegation

AGENTS = ("ops", "main", "lab")


@pytest.mark.requirement("D22")
@pytest.mark.parametrize(
    ("named", "allowed"),
    [
        (None, ("main",)),
        (frozenset(), ("main",)),
        (frozenset({"ops", "gone"}), ("main", "ops")),
        (frozenset({"*"}), ("main", "lab", "ops")),
    ],
)
def test_a_session_spawns_under_its_own_agent_and_those_that_are_named(
    named: frozenset[str] | None, allowed: tuple[str, ...]
) -> None:
    delegation = Delegation(agent="main", named=named)
    assert delegation.among(AGENTS) == allowed
    assert [delegation.allows(agent) for agent in AGENTS] == [agent in allowed for agent in AGENTS]


def test_only_a_star_means_any() -> None:
    assert Delegation(agent="main", named=frozenset({"*"})).any
    assert not Delegation(agent="main", named=frozenset({"ops"})).any
    assert not Delegation(agent="main").any


def test_a_list_that_is_configured_must_hold_whoever_is_named() -> None:
    assert Delegation(agent="main").names("main")
    assert not Delegation(agent="main").names("ops")
    assert not Delegation(agent="main", named=frozenset({"ops"})).names("main")
    assert Delegation(agent="main", named=frozenset({"ops"})).names("ops")
    assert Delegation(agent="main", named=frozenset({"*"})).names("main")
