import pytest

from roost.core.branches import Branch, Branches, branches
from roost.core.entries import EntryDraft
from roost.core.messages import Notice


def line(entry_id: str, parent_id: str | None) -> EntryDraft:
    return EntryDraft(id=entry_id, parent_id=parent_id, body=Notice(kind="custom", at=0, data={}))


def leaf(target: str | None, parent_id: str | None = None) -> EntryDraft:
    return EntryDraft(
        id="leaf", parent_id=parent_id, body=Notice(kind="leaf", at=0, data={"targetId": target})
    )


def test_a_file_without_branches_is_one_path() -> None:
    found = branches([line("a", None), line("b", "a"), line("c", "b")])
    assert found == Branches(active=(0, 1, 2), others=(), problems=())
    assert branches([]) == Branches(active=(), others=(), problems=())


def test_the_last_line_is_the_leaf_and_what_was_left_behind_is_a_branch_with_its_base() -> None:
    found = branches(
        [line("a", None), line("b", "a"), line("c", "b"), line("d", "a"), line("e", "c"), line("f", "d")]
    )
    assert found.active == (0, 3, 5)
    assert found.others == (Branch(base=0, lines=(1, 2, 4)),)


def test_a_branch_of_a_branch_goes_on_from_it() -> None:
    found = branches([line("a", None), line("b", "a"), line("c", "b"), line("d", "b"), line("e", "a")])
    assert found.active == (0, 4)
    assert found.others == (Branch(base=0, lines=(1, 3)), Branch(base=1, lines=(2,)))


def test_several_roots_are_several_branches() -> None:
    found = branches([line("a", None), line("b", "a"), line("c", None)])
    assert found.active == (2,)
    assert found.others == (Branch(base=None, lines=(0, 1)),)


def test_a_marker_at_the_end_says_where_the_conversation_stands() -> None:
    found = branches([line("a", None), line("b", "a"), line("c", "b"), leaf("b", "c")])
    assert found.active == (0, 1)
    assert found.others == (Branch(base=1, lines=(2, 3)),)
    assert branches([line("a", None), leaf(None, "a")]).active == ()


def test_a_marker_before_the_last_line_no_longer_counts() -> None:
    assert branches([line("a", None), line("b", "a"), leaf("a", "b"), line("c", "a")]).active == (0, 3)


def test_a_marker_that_points_nowhere_is_reported_and_the_last_line_is_the_leaf() -> None:
    found = branches([line("a", None), leaf("gone", "a")])
    assert found.active == (0, 1)
    assert found.problems == ("the leaf marker points to no line",)


@pytest.mark.requirement("S25")
def test_a_circle_of_parents_ends_and_is_reported() -> None:
    found = branches([line("a", "b"), line("b", "a"), line("c", "c")])
    assert found.active == (2,)
    assert found.others == (Branch(base=None, lines=(0, 1)),)
    assert found.problems == (
        "line 1: its parent is not before it",
        "line 3: its parent is not before it",
    )


@pytest.mark.requirement("S25")
def test_a_missing_parent_makes_a_root_and_a_doubled_id_means_the_nearest_before() -> None:
    found = branches([line("a", None), line("b", "gone"), line("a", "b"), line("c", "a")])
    assert found.active == (1, 2, 3)
    assert found.others == (Branch(base=None, lines=(0,)),)
    assert found.problems == ("line 2: its parent is not before it", "line 3: its id is used before")


def test_a_long_file_is_read_without_recursion() -> None:
    lines = [line("0", None), *(line(str(n), str(n - 1)) for n in range(1, 20_000))]
    assert len(branches(lines).active) == 20_000
