import pytest

from roost.core.keys import SessionKey
from roost.core.sessions import Base, Generation, OpenedBy
from roost.core.timeline import Segment, context, continued

KEY = SessionKey.parse("agent:main:main")


def generation(
    number: int, opened_by: OpenedBy, base: Base | None = None, *, archived: bool = False
) -> Generation:
    return Generation(
        session_id=f"g{number}",
        key=KEY,
        number=number,
        opened_at=number * 100,
        opened_by=opened_by,
        base=base,
        archived=archived,
    )


FIRST = generation(1, OpenedBy.FIRST)


def test_a_generation_without_a_base_is_its_own_context() -> None:
    reset = generation(2, OpenedBy.RESET)
    assert context([FIRST, reset], "g2") == (Segment(session_id="g2"),)


@pytest.mark.requirement("P9")
def test_going_back_takes_up_where_the_base_says() -> None:
    reset = generation(2, OpenedBy.DAILY)
    back = generation(3, OpenedBy.BACK, Base(session_id="g1", seq=40))
    assert context([FIRST, reset, back], "g3") == (
        Segment(session_id="g1", through=40),
        Segment(session_id="g3"),
    )


def test_a_branch_of_a_branch_follows_the_whole_chain() -> None:
    branch = generation(2, OpenedBy.BRANCH, Base(session_id="g1", seq=7))
    fork = generation(3, OpenedBy.FORK, Base(session_id="g2", seq=3))
    assert context([FIRST, branch, fork], "g3") == (
        Segment(session_id="g1", through=7),
        Segment(session_id="g2", through=3),
        Segment(session_id="g3"),
    )


def test_a_base_before_any_entry_adds_nothing_of_that_generation() -> None:
    branch = generation(2, OpenedBy.BRANCH, Base(session_id="g1", seq=7))
    fork = generation(3, OpenedBy.FORK, Base(session_id="g2", seq=0))
    assert context([FIRST, branch, fork], "g3") == (
        Segment(session_id="g1", through=7),
        Segment(session_id="g3"),
    )


def test_a_missing_base_or_a_circle_of_bases_ends_the_chain() -> None:
    lost = generation(2, OpenedBy.FORK, Base(session_id="elsewhere", seq=9))
    assert context([lost], "g2") == (Segment(session_id="g2"),)
    one = generation(1, OpenedBy.FORK, Base(session_id="g2", seq=5))
    other = generation(2, OpenedBy.FORK, Base(session_id="g1", seq=6))
    assert context([one, other], "g1") == (Segment(session_id="g2", through=5), Segment(session_id="g1"))
    assert context([FIRST], "unknown") == ()


def test_a_context_can_be_read_up_to_a_place() -> None:
    back = generation(2, OpenedBy.BACK, Base(session_id="g1", seq=40))
    assert context([FIRST, back], "g2", 3) == (
        Segment(session_id="g1", through=40),
        Segment(session_id="g2", through=3),
    )
    assert context([FIRST, back], "g2", 0) == (Segment(session_id="g1", through=40),)


def test_who_may_not_delete_a_session_is_told_what_goes_on_from_it() -> None:
    assert str(KEY) in continued(KEY).message
    fork = SessionKey.parse("agent:main:dashboard:one")
    hint = continued(KEY, by=[fork]).hint
    assert hint is not None
    assert hint.endswith(f"delete first what goes on from it: {fork}")
