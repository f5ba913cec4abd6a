"""How the lines of a file lay, as text and back."""

import pytest

from roost.transfer.layout import Layout, Stretch, stretches

HEADER = '{"type":"session","id":"s"}'


@pytest.mark.parametrize(
    "layout",
    [
        Layout(),
        Layout(first=HEADER),
        Layout(first=f"{HEADER}\r", open_end=0),
        Layout(open_end=7),
        Layout(branch_of="s", places=(Stretch(0, 1), Stretch(4, 3))),
        Layout(branch_of="s", places=(), open_end=2),
    ],
)
def test_a_layout_is_read_as_it_was_written(layout: Layout) -> None:
    assert Layout.parse(str(layout)) == layout


def test_a_plain_file_needs_no_more_than_its_first_line() -> None:
    assert str(Layout(first=HEADER)) == HEADER


def test_what_was_not_imported_has_no_layout() -> None:
    assert Layout.parse(None) is None


@pytest.mark.parametrize(
    "said", ["{", "[]", '{"branchOf":1,"places":7}', '{"places":[1,[1],[1,2,3]]}', '{"places":{"a":1}}']
)
def test_what_cannot_be_read_is_as_if_it_had_not_been_said(said: str) -> None:
    assert Layout.parse(f"{HEADER}\n{said}") == Layout(first=HEADER)


def test_a_place_that_is_no_number_is_the_beginning() -> None:
    assert Layout.parse('\n{"branchOf":"s","places":[["a",-1]],"openEnd":null}') == Layout(
        branch_of="s", places=(Stretch(0, 0),), open_end=0
    )


@pytest.mark.parametrize(
    ("places", "joined"),
    [
        ((), ()),
        ((3,), (Stretch(3, 1),)),
        ((0, 1, 2, 5, 7, 8), (Stretch(0, 3), Stretch(5, 1), Stretch(7, 2))),
    ],
)
def test_places_next_to_each_other_are_joined(places: tuple[int, ...], joined: tuple[Stretch, ...]) -> None:
    assert stretches(places) == joined
