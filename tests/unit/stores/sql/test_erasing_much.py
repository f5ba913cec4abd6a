"""Somebody is erased who said a lot."""

from roost.stores.sql.erasing import Fields
from roost.stores.tables import drive
from tests.growth import grows_linearly
from tests.unit.stores.sql.test_erasing import EVE, GROUP, Rows, left


def test_the_more_is_hers_the_longer_no_other_row_takes() -> None:
    def crowd(text: str) -> dict[str, list[Fields]]:
        rows = Rows()
        for number in range(len(text)):
            rows.add("runs", id=f"r{number}", key=GROUP, principal=str(EVE), body="{}")
            rows.add("denials", seq=number, principal="owner")
        return drive(left(rows))

    assert grows_linearly(crowd, "x", size=2_000)
