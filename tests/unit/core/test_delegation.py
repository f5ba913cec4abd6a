import pytest

from roost.core.delegation import Delegation

AGENTS = ("ops", "main", "lab")


@pytest.mark.requirement("D22")
@pytest.mark.parametrize(
    ("named", "among"),
    [
        (None, ("main",)),
        (frozenset(), ()),
        (frozenset({"ops", "gone"}), ("ops",)),
        (frozenset({"ops", "main"}), ("main", "ops")),
        (frozenset({"*"}), ("main", "lab", "ops")),
    ],
)
def test_whom_a_list_holds_may_be_named_its_own_agent_too_and_without_a_list_its_own_alone(
    named: frozenset[str] | None, among: tuple[str, ...]
) -> None:
    delegation = Delegation(agent="main", named=named)
    assert delegation.among(AGENTS) == among
    assert [delegation.names(agent) for agent in AGENTS] == [agent in among for agent in AGENTS]


def test_only_a_star_means_any() -> None:
    assert Delegation(agent="main", named=frozenset({"*"})).any
    assert not Delegation(agent="main", named=frozenset({"ops"})).any
    assert not Delegation(agent="main").any
