import pytest

from roost.core.errors import Conflict, InvalidInput, NotFound
from roost.core.keys import SessionKey
from roost.core.points import (
    LONGEST_NAME,
    MOST_POINTS,
    Changed,
    Pointed,
    deleting,
    difference,
    saving,
)
from roost.core.principals import OWNER
from roost.core.sessions import Base, Generation, OpenedBy, Overrides, Session, SessionStatus, Summary
from roost.core.timeline import Segment
from roost.testing import builders
from roost.testing.builders import MAIN

CHILD, OTHER = (SessionKey.parse(f"agent:main:subagent:{name}") for name in ("one", "two"))


def generation(number: int, base: Base | None = None) -> Generation:
    return Generation(
        session_id=f"g{number}", key=MAIN, number=number, opened_at=1, opened_by=OpenedBy.FIRST, base=base
    )


def row(
    session_id: str = "g1", entries: int = 0, model: str | None = None, key: SessionKey = MAIN
) -> Session:
    return builders.session(key)._replace(
        session_id=session_id, summary=Summary(entries=entries, model=model)
    )


def pointed(session: Session, *children: Session) -> Pointed:
    return Pointed(session=session, children=children, generations=GENERATIONS)


# The second starts afresh; the third goes back to the middle of the first, the fourth to before its beginning.
GENERATIONS = (
    generation(1),
    generation(2),
    generation(3, Base(session_id="g1", seq=4)),
    generation(4, Base(session_id="g1", seq=0)),
)


def test_a_point_says_where_the_session_is_and_what_was_set() -> None:
    (point,) = saving(" before ", 5, OWNER)(pointed(row(entries=3, model="m"), row("c", 2, key=CHILD)))
    assert (point.key, point.name, point.at, point.by) == (MAIN, "before", 5, OWNER)
    assert (point.base, point.model) == (Base(session_id="g1", seq=3), "m")
    assert [(one.key, one.session_id, one.entries) for one in point.children] == [(CHILD, "c", 2)]


def test_the_model_that_was_chosen_is_the_one_that_would_answer() -> None:
    session = row(model="m")._replace(overrides=Overrides(model="chosen"))
    assert pointed(session).now("now", 1, OWNER).model == "chosen"


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * (LONGEST_NAME + 1)])
def test_a_name_is_short_and_on_one_line(name: str) -> None:
    with pytest.raises(InvalidInput, match="1 to 64"):
        saving(name, 1, OWNER)


def test_a_name_is_given_once_and_free_again_after_it_was_deleted() -> None:
    one = pointed(row())
    kept = Pointed(session=one.session, points=saving("a", 1, OWNER)(one))
    with pytest.raises(Conflict, match="already"):
        saving("a", 2, OWNER)(kept)
    assert [point.name for point in saving("b", 2, OWNER)(kept)] == ["a", "b"]
    assert deleting("a")(kept) == ()


def test_there_are_only_so_many() -> None:
    one = pointed(row())
    for number in range(MOST_POINTS):
        one = Pointed(session=one.session, points=saving(str(number), 1, OWNER)(one))
    with pytest.raises(Conflict, match="100 save points"):
        saving("more", 1, OWNER)(one)


def test_who_asks_for_one_that_is_not_there_is_told_which_are() -> None:
    one = pointed(row())
    with pytest.raises(NotFound, match="no save point 'x'") as none:
        deleting("x")(one)
    assert none.value.hint == "there are none yet"
    kept = Pointed(session=one.session, points=saving("a", 1, OWNER)(one))
    with pytest.raises(NotFound) as some:
        kept.point("x")
    assert some.value.hint == "there are: a"


def differing(
    before: tuple[str, int], after: tuple[str, int]
) -> tuple[tuple[Segment, ...], tuple[Segment, ...]]:
    first, second = (pointed(row(*one)).now("x", 1, OWNER) for one in (before, after))
    found = difference(first, second, GENERATIONS)
    return found.gone, found.new


def part(session_id: str, after: int, through: int) -> Segment:
    return Segment(session_id=session_id, after=after, through=through)


@pytest.mark.parametrize(
    ("before", "after", "gone", "new"),
    [
        (("g1", 3), ("g1", 3), (), ()),
        (("g1", 3), ("g1", 5), (), (part("g1", 3, 5),)),
        (("g1", 5), ("g1", 3), (part("g1", 3, 5),), ()),
        (("g1", 0), ("g1", 2), (), (part("g1", 0, 2),)),
        (("g1", 5), ("g2", 1), (part("g1", 0, 5),), (part("g2", 0, 1),)),
        (("g1", 6), ("g3", 2), (part("g1", 4, 6),), (part("g3", 0, 2),)),
        (("g1", 4), ("g3", 2), (), (part("g3", 0, 2),)),
        (("g1", 2), ("g3", 1), (), (part("g1", 2, 4), part("g3", 0, 1))),
        (("g3", 1), ("g3", 4), (), (part("g3", 1, 4),)),
        (("g1", 2), ("g4", 1), (part("g1", 0, 2),), (part("g4", 0, 1),)),
    ],
)
def test_what_only_one_of_them_has_is_told_once(
    before: tuple[str, int], after: tuple[str, int], gone: tuple[Segment, ...], new: tuple[Segment, ...]
) -> None:
    assert differing(before, after) == (gone, new)
    assert differing(after, before) == (new, gone)


def test_settings_model_and_children_are_compared() -> None:
    first = pointed(row(model="m")._replace(overrides=Overrides(thinking="low")), row("c", 1, key=CHILD))
    gone_on = row("c", 1, key=CHILD)._replace(status=SessionStatus.DONE)
    second = pointed(
        row(model="n")._replace(overrides=Overrides(thinking="high", queue_cap=3)),
        gone_on,
        row("d", key=OTHER),
    )
    before, after = first.now("a", 1, OWNER), second.now("b", 1, OWNER)
    found = difference(before, after, GENERATIONS)
    assert found.settings == (
        Changed(name="thinking", before="low", after="high"),
        Changed(name="queue_cap", before=None, after=3),
    )
    assert found.model == Changed(name="model", before="m", after="n")
    assert (found.born, found.left, found.moved) == ((OTHER,), (), (CHILD,))
    back = difference(after, before, GENERATIONS)
    assert (back.born, back.left, back.moved) == ((), (OTHER,), (CHILD,))
    same = difference(before, before, GENERATIONS)
    assert (same.settings, same.model, same.moved) == ((), None, ())
