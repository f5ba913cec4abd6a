"""Runs by the names that clients gave their messages."""

from dataclasses import replace

import pytest

from roost.core.principals import OWNER
from roost.server.sends import Send, Sends
from roost.testing.builders import MAIN

FIRST = Send(name="one", principal=OWNER, key=MAIN, run_id="r-1")
SECOND = Send(name="two", principal=OWNER, key=MAIN, run_id="r-2")


def test_a_run_goes_by_the_name_of_its_message_and_else_by_its_own() -> None:
    sends = Sends()
    sends.expect(FIRST)
    assert (sends.name("r-1"), sends.name("r-9")) == ("one", "r-9")
    assert (sends.of("r-1"), sends.of("r-9")) == (FIRST, None)
    sends.begun("r-1")
    sends.begun("r-9")
    assert (sends.name("r-1"), sends.waiting(MAIN), sends.awaited()) == ("one", (), frozenset())


def test_what_opened_no_run_is_forgotten() -> None:
    sends = Sends()
    sends.expect(FIRST)
    sends.expect(SECOND)
    sends.withdraw(FIRST)
    sends.withdraw(FIRST)
    assert sends.name("r-1") == "r-1"
    assert (sends.waiting(MAIN), sends.awaited()) == ((SECOND,), frozenset({MAIN}))


def test_only_so_many_are_remembered() -> None:
    sends = Sends(most=1)
    sends.expect(FIRST)
    sends.expect(SECOND)
    assert (sends.name("r-1"), sends.name("r-2")) == ("r-1", "two")
    assert sends.waiting(MAIN) == (SECOND,)


def test_while_a_message_arrives_its_run_has_its_name_and_is_known_to_be_in_doubt() -> None:
    sends = Sends()
    with sends.arriving(FIRST):
        assert (sends.arrives("r-1"), sends.name("r-1"), sends.waiting(MAIN)) == (True, "one", (FIRST,))
    assert (sends.arrives("r-1"), sends.name("r-1"), sends.waiting(MAIN)) == (False, "one", (FIRST,))


def test_what_does_not_arrive_is_forgotten() -> None:
    sends = Sends()
    with pytest.raises(TimeoutError), sends.arriving(FIRST):
        raise TimeoutError
    assert (sends.arrives("r-1"), sends.of("r-1"), sends.awaited()) == (False, None, frozenset())


def test_a_run_that_was_inherited_keeps_the_name_of_its_heir() -> None:
    sends, heir = Sends(), replace(SECOND, run_id="r-1")
    sends.expect(FIRST)
    sends.expect(heir)
    sends.withdraw(FIRST)
    assert (sends.of("r-1"), sends.waiting(MAIN)) == (heir, (heir,))
