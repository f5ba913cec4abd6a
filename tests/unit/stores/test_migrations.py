from pathlib import Path

import pytest

from roost.core.errors import StoreUnavailable
from roost.stores.migrations import Migration, fingerprint, refuse_newer, refuse_older, steps_in


def test_the_steps_of_a_folder_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "0002_more.sql").write_text("two")
    (tmp_path / "0001_first.sql").write_text("one")
    (tmp_path / "notes.txt").write_text("nothing")
    assert steps_in(tmp_path) == (Migration(1, "one"), Migration(2, "two"))


def test_a_store_that_has_not_taken_all_steps_is_told_apart_from_none_at_all() -> None:
    steps = (Migration(1, ""), Migration(2, ""))
    refuse_older("there", 2, steps)
    with pytest.raises(StoreUnavailable, match="older Roost \\(schema 1, this one knows 2"):
        refuse_older("there", 1, steps)
    with pytest.raises(StoreUnavailable, match="no store of Roost in there"):
        refuse_older("there", 0, steps)


def test_a_store_that_has_taken_steps_we_do_not_know_is_refused() -> None:
    steps = (Migration(1, ""), Migration(2, ""))
    refuse_newer(2, steps)
    with pytest.raises(StoreUnavailable, match="schema 3, this one knows 2"):
        refuse_newer(3, steps)


def test_steps_are_known_by_all_they_do_in_their_order() -> None:
    one, two = Migration(1, "one"), Migration(2, "two")
    known = [fingerprint(steps) for steps in ((), (one,), (one, two), (two, one), (Migration(1, "onetwo"),))]
    assert len(set(known)) == len(known)
    assert fingerprint((one, two)) == fingerprint([Migration(1, "one"), Migration(2, "two")])
