import pytest

from roost.core.errors import Forbidden, InvalidInput
from roost.core.keys import SessionKey
from roost.core.labels import LONGEST_LABEL, namesakes, read_label, refuse_namer, refuse_taken
from roost.core.principals import OWNER, Principal, person
from roost.core.visibility import Operation, PersonCaller, scope
from roost.testing.builders import MAIN, session


def test_a_label_has_one_spelling_and_a_longest() -> None:
    assert read_label("  The \t kitchen\n") == "The kitchen"
    assert read_label(" \n") is None
    assert read_label(" x" * (LONGEST_LABEL // 2)) == " ".join("x" * (LONGEST_LABEL // 2))
    assert read_label("x" * LONGEST_LABEL) == "x" * LONGEST_LABEL
    with pytest.raises(InvalidInput, match="at most 512"):
        read_label("x" * (LONGEST_LABEL + 1))


@pytest.mark.parametrize("caller", [OWNER, person("telegram", "7")])
def test_a_name_is_looked_for_among_what_its_namer_may_see_and_all_of_that(caller: Principal) -> None:
    query = namesakes("Trip", PersonCaller(principal=caller))
    assert query.scope == scope(Operation.LIST, PersonCaller(principal=caller))
    assert (query.label, query.archived) == ("Trip", None)


def test_a_label_is_one_sessions_alone() -> None:
    refuse_taken("Trip", MAIN, [])
    refuse_taken("Trip", MAIN, [session()])
    with pytest.raises(InvalidInput, match="already in use"):
        refuse_taken("Trip", SessionKey.named("main", "other"), [session()])


def test_a_session_is_named_by_its_owner_and_the_gateways() -> None:
    alice = person("telegram", "7")
    refuse_namer(PersonCaller(principal=OWNER), alice)
    refuse_namer(PersonCaller(principal=alice), alice)
    for owner in (OWNER, person("telegram", "8")):
        with pytest.raises(Forbidden, match="only its owner"):
            refuse_namer(PersonCaller(principal=alice), owner)
