"""The terms on which a session was spawned."""

from roost.core.terms import SpawnContext, SpawnMode, Terms


def test_terms_that_say_nothing_allow_no_further_children() -> None:
    terms = Terms()
    assert (terms.mode, terms.rights.spawns, terms.max_depth) == (SpawnMode.RUN, 0, 1)
    assert SpawnContext("fork") is SpawnContext.FORK
