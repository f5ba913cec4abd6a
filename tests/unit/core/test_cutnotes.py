import pytest

from roost.core.cutnotes import STATE_KIND, cut_note, is_cut_note, projection_of
from roost.core.entries import Entry
from roost.core.jsonvalue import JsonValue
from roost.core.messages import Body, Compaction, Notice
from roost.core.pruning import Cut, Projection

FIRST = Cut(entry_id="e1", note="trimmed", head=10, tail=5)
SECOND = Cut(entry_id="e2", note="image", text=True)
CLEARED = Cut(entry_id="e1", note="cleared")


def entries(*bodies: Body) -> tuple[Entry, ...]:
    return tuple(Entry(session_id="s", seq=n, id=f"n{n}", body=body) for n, body in enumerate(bodies, 1))


def note(before: Projection, after: Projection) -> Notice:
    written = cut_note(before, after, 7)
    assert written is not None
    return written


def test_what_was_cut_is_read_back_as_it_was_written() -> None:
    first = Projection(cuts=(FIRST,))
    second = Projection(cuts=(FIRST, SECOND))
    third = Projection(cuts=(CLEARED, SECOND))
    told = entries(note(Projection(), first), note(first, second), note(second, third))
    assert projection_of(told[:1]) == first
    assert projection_of(told[:2]) == second
    assert projection_of(told) == third


def test_only_what_changed_is_written() -> None:
    known = Projection(cuts=(FIRST,))
    assert cut_note(known, known, 7) is None
    cuts = note(known, Projection(cuts=(FIRST, SECOND))).data["cuts"]
    assert isinstance(cuts, list)
    assert len(cuts) == 1


def test_a_compaction_starts_from_an_empty_projection() -> None:
    condensed = Compaction(summary="s", first_kept_id=None, tokens_before=1, at=8)
    assert projection_of(entries(note(Projection(), Projection(cuts=(FIRST,))), condensed)) == Projection()


def test_other_lines_are_no_cuts() -> None:
    other = Notice(kind=STATE_KIND, at=1, data={"customType": "other"})
    assert not is_cut_note(other)
    assert projection_of(entries(other)) == Projection()
    assert not is_cut_note(Notice(kind="label", at=1, data={"customType": "pruning"}))


@pytest.mark.parametrize(
    "cuts",
    [
        None,
        "all",
        [1],
        [{}],
        [{"entryId": "e", "note": 1, "head": 0, "tail": 0}],
        [{"entryId": "e", "note": "n", "head": "0", "tail": 0}],
        [{"entryId": "e", "note": "n", "head": 0, "tail": -1}],
    ],
)
def test_a_line_from_elsewhere_that_is_not_understood_cuts_nothing(cuts: JsonValue) -> None:
    line = Notice(kind=STATE_KIND, at=1, data={"customType": "pruning", "cuts": cuts})
    assert projection_of(entries(line)) == Projection()
