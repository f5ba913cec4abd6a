from pathlib import Path

import pytest

from roost.core.tools import ToolTraits
from roost.tools.edit import Edit
from tests.unit.tools.calls import call, error_of, text_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text("".join(f"line {number}\n" for number in range(1, 21)))
    return tmp_path


async def test_an_exact_piece_is_replaced_and_shown_in_its_place(folder: Path) -> None:
    outcome = await call(Edit(), folder, path="a.py", oldText="line 10\n", new_text="ten\nmore\n")
    assert "line 9\nten\nmore\nline 11\n" in (folder / "a.py").read_text()
    assert text_of(outcome).startswith(
        "replaced 1 place in `a.py`. It now reads:\n8: line 8\n9: line 9\n10: ten\n"
    )
    assert outcome.details == {"path": "a.py", "replaced": 1}


async def test_a_piece_that_is_there_more_than_once_shows_where(folder: Path) -> None:
    text = error_of(await call(Edit(), folder, path="a.py", oldText="line 1", newText="x"))
    assert "is in the file 11 times" in text
    assert "1: line 1\n2: line 2\n3: line 3\n…\n8: line 8" in text
    assert "replaceAll" in text
    assert "x" not in (folder / "a.py").read_text()


async def test_every_occurrence_is_replaced_on_request(folder: Path) -> None:
    outcome = await call(Edit(), folder, path="a.py", oldText="line", newText="row", replace_all=True)
    assert text_of(outcome).startswith("replaced 20 places")
    assert "line" not in (folder / "a.py").read_text()


async def test_a_piece_that_is_not_there_shows_what_is_near(folder: Path) -> None:
    text = error_of(await call(Edit(), folder, path="a.py", oldText="  line 20\n  more", newText="x"))
    assert "not in the file; its first line is near:\n18: line 18" in text
    text = error_of(await call(Edit(), folder, path="a.py", oldText="absent", newText="x"))
    assert "near" not in text
    assert "read the file again" in text
    assert error_of(await call(Edit(), folder, path="a.py", oldText=" \n \n", newText="x"))


async def test_other_line_ends_are_named(folder: Path) -> None:
    (folder / "a.py").write_bytes(b"a\r\nb\r\n")
    assert r"end with \r\n" in error_of(await call(Edit(), folder, path="a.py", oldText="a\nb", newText="x"))


@pytest.mark.parametrize(
    ("old", "new", "said"), [("", "x", "is empty"), ("line 2", "line 2", "are the same")]
)
async def test_an_edit_that_says_nothing_is_refused(folder: Path, old: str, new: str, said: str) -> None:
    assert said in error_of(await call(Edit(), folder, path="a.py", oldText=old, newText=new))


async def test_a_file_that_is_no_text_is_left_alone(folder: Path) -> None:
    (folder / "a.py").write_bytes(b"\xff\xfe")
    assert "no UTF-8 text" in error_of(await call(Edit(), folder, path="a.py", oldText="a", newText="b"))


@pytest.mark.requirement("P24")
async def test_a_mask_cannot_be_edited_in(folder: Path) -> None:
    outcome = await call(Edit(), folder, path="a.py", oldText="line 20", newText="token=***")
    assert "masked secret" in error_of(outcome)


def test_an_edit_is_not_repeated_after_a_crash() -> None:
    assert Edit().traits == ToolTraits()
