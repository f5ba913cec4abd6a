"""Generations that go on from each other, and what is heard of what was said in one."""

from roost.stores.sql.descent import Descent


def descent(*bases: str | None) -> Descent:
    """Generations `g0`, `g1` …, each known to the next one as `s0`, `s1` …, with the bases given."""
    found = Descent()
    for number, base in enumerate(bases):
        found.note({"id": f"g{number}", "session_id": f"s{number}", "base_session_id": base})
    return found


def test_what_was_said_is_heard_in_all_that_goes_on_from_there_and_nowhere_else() -> None:
    found = descent(None, "s0", "s1", None, "s3", "s1")
    found.hear({"g1"})
    assert found.heard_in == {"g1", "g2", "g5"}


def test_a_base_that_is_not_there_is_one_of_which_nothing_is_heard() -> None:
    found = descent("gone", "s0")
    found.hear({"g1"})
    assert found.heard_in == {"g1"}


def test_generations_that_go_on_from_each_other_in_a_circle_end_the_search() -> None:
    found = descent("s1", "s0", "s1", None)
    found.hear({"g3"})
    assert found.heard_in == {"g3"}
    found.hear({"g0"})
    assert found.heard_in == {"g0", "g1", "g2", "g3"}
