"""Somebody is erased who said a lot."""

from roost.stores.sql.descent import Fields
from roost.stores.tables import drive
from tests.growth import grows_linearly
from tests.unit.stores.sql.erased import EVE, GROUP, Rows, left


def test_the_more_is_hers_the_longer_no_other_row_takes() -> None:
    def crowd(text: str) -> dict[str, list[Fields]]:
        rows = Rows()
        for number in range(len(text)):
            rows.add("runs", id=f"r{number}", key=GROUP, principal=str(EVE), body="{}")
            rows.add("denials", seq=number, principal="owner")
        return drive(left(rows))

    assert grows_linearly(crowd, "x", size=2_000)


def test_a_conversation_that_began_anew_often_is_gone_through_once() -> None:
    def resets(text: str) -> dict[str, list[Fields]]:
        rows = Rows()
        rows.add("sessions", id=2, key=GROUP, principal="owner")
        for number in range(len(text)):
            based = f"s{number - 1}" if number else None
            rows.add("generations", id=number, session=2, session_id=f"s{number}", base_session_id=based)
        return drive(left(rows))

    assert grows_linearly(resets, "x", size=1_500)


async def test_transcripts_that_go_on_from_each_other_in_a_circle_are_gone_through() -> None:
    rows = Rows()
    rows.add("sessions", id=2, key=GROUP, principal="owner")
    for number, based in ((3, "s4"), (4, "s3"), (5, "s4")):
        rows.add("generations", id=number, session=2, session_id=f"s{number}", base_session_id=based)
    assert len((await left(rows))["generations"]) == 3
