import re

import pytest

from roost.core.errors import StoreCorrupt
from roost.stores.structures import refuse_incomplete, refuse_unlike

EXPECTED = {"runs": "table", "runs_queued": "index"}


def test_what_is_made_as_expected_is_taken() -> None:
    refuse_unlike("here", 1, EXPECTED, dict(EXPECTED))
    refuse_incomplete("here", EXPECTED, dict(EXPECTED))


@pytest.mark.parametrize(
    ("present", "named"),
    [
        ({**EXPECTED, "runs": "another table"}, "schema 1 and differs from that in runs$"),
        ({**EXPECTED, "theirs": "CREATE TABLE theirs"}, "differs from that in theirs$"),
        ({**EXPECTED, "theirs": "CREATE UNIQUE INDEX theirs"}, "differs from that in theirs$"),
        ({"runs": "another table"}, "differs from that in runs, runs_queued$"),
    ],
)
def test_what_is_made_otherwise_is_of_another_build(present: dict[str, str], named: str) -> None:
    with pytest.raises(StoreCorrupt, match="here is of another build of Roost") as refused:
        refuse_unlike("here", 1, EXPECTED, present)
    assert re.search(named, refused.value.message)
    assert "export" in refused.value.hint


def test_an_index_that_the_owner_made_changes_nothing() -> None:
    refuse_unlike("here", 1, EXPECTED, {**EXPECTED, "theirs": "CREATE INDEX theirs ON runs (state)"})


def test_what_is_missing_is_damage_that_can_be_repaired() -> None:
    refuse_unlike("here", 1, EXPECTED, {"runs": "table"})
    with pytest.raises(StoreCorrupt, match=r"here is damaged: it lacks runs_queued \(") as refused:
        refuse_incomplete("here", EXPECTED, {"runs": "table"})
    assert "roost repair" in refused.value.hint


def test_of_many_only_some_are_named() -> None:
    many = {f"t{number}": "table" for number in range(9)}
    with pytest.raises(StoreCorrupt, match="lacks t0, t1, t2, t3, t4 and 4 more "):
        refuse_incomplete("here", many, {})
