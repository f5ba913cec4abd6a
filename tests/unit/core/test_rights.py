import pytest

from roost.core.rights import Rights, meet, of_child
from roost.core.visibility import Level

ALL = Rights(level=Level.ALL, spawns=5)


def test_a_deny_wins_and_an_allow_list_means_only_these() -> None:
    rights = Rights(allow=frozenset({"read", "exec"}), deny=frozenset({"exec"}))
    assert [tool for tool in ("read", "exec", "cron") if rights.permits(tool)] == ["read"]
    assert ALL.permits("anything")


@pytest.mark.requirement("S15")
def test_a_child_of_a_sandboxed_parent_is_sandboxed_whatever_it_asks_for() -> None:
    assert of_child(Rights(sandboxed=True), ALL).sandboxed
    assert of_child(ALL, Rights(sandboxed=True)).sandboxed


@pytest.mark.requirement("S15")
def test_a_child_reaches_the_network_from_a_sandbox_only_where_its_parent_does() -> None:
    assert of_child(Rights(sandboxed=True), ALL).network
    assert not of_child(Rights(sandboxed=True, network=False), ALL).network
    assert not of_child(ALL, Rights(sandboxed=True, network=False)).network


@pytest.mark.requirement("D25", "S15")
def test_each_level_of_children_has_one_less_below_it() -> None:
    assert of_child(Rights(spawns=2), ALL).spawns == 1
    assert of_child(Rights(spawns=0), ALL).spawns == 0
    assert of_child(ALL, Rights(spawns=1)).spawns == 1


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (None, None, None),
        (None, frozenset({"a"}), frozenset({"a"})),
        (frozenset({"a"}), None, frozenset({"a"})),
        (frozenset({"a", "b"}), frozenset({"b", "c"}), frozenset({"b"})),
    ],
)
def test_the_meet_allows_what_both_allow(
    one: frozenset[str] | None, other: frozenset[str] | None, both: frozenset[str] | None
) -> None:
    assert meet(Rights(allow=one), Rights(allow=other)).allow == both
