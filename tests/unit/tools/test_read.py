from pathlib import Path

import pytest

from roost.core.jsonvalue import JsonValue
from roost.core.tools import ToolTraits
from roost.tools.read import MOST_BYTES, Read
from tests.unit.tools.calls import call, error_of, text_of


async def test_a_file_is_returned_exactly_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("one\r\ntwo — ü".encode())
    outcome = await call(Read(), tmp_path, path="a.txt")
    assert text_of(outcome) == "one\r\ntwo — ü"
    assert outcome.details == {"path": "a.txt", "bytes": 15, "lines": 2}


async def test_an_empty_file_is_empty(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    assert text_of(await call(Read(), tmp_path, path="a.txt")) == ""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"offset": 2, "limit": 1}, "2\n[lines 2 to 2 of 4; go on with offset 3]"),
        ({"offset": 3}, "3\n4\n[lines 3 to 4 of 4]"),
        ({"limit": "2"}, "1\n2\n[lines 1 to 2 of 4; go on with offset 3]"),
        ({"limit": 4}, "1\n2\n3\n4"),
    ],
)
async def test_lines_are_chosen_and_the_rest_is_told(
    tmp_path: Path, given: dict[str, JsonValue], expected: str
) -> None:
    (tmp_path / "a.txt").write_text("1\n2\n3\n4")
    assert text_of(await call(Read(), tmp_path, path="a.txt", **given)) == expected


async def test_an_offset_behind_the_end_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n2\n")
    assert "has only 2 lines" in error_of(await call(Read(), tmp_path, path="a.txt", offset=3))


async def test_a_long_file_is_cut_at_a_line_and_says_where_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(("x" * 1023 + "\n") * 300)
    text = text_of(await call(Read(), tmp_path, path="a.txt"))
    assert text.endswith("[lines 1 to 256 of 300; go on with offset 257]")
    assert len(text) < MOST_BYTES + 100


async def test_a_line_too_long_for_itself_is_cut(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("y" * (MOST_BYTES + 1) + "\nnext")
    text = text_of(await call(Read(), tmp_path, path="a.txt"))
    assert text.endswith("go on with offset 2]")
    assert text_of(await call(Read(), tmp_path, path="a.txt", offset=2)).startswith("next\n")


async def test_a_binary_file_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\x7fELF\0\0")
    assert "is binary (6 bytes)" in error_of(await call(Read(), tmp_path, path="a.bin"))


async def test_wrong_arguments_are_an_outcome_that_says_how(tmp_path: Path) -> None:
    assert "`path` is missing" in error_of(await call(Read(), tmp_path))


def test_reading_again_after_a_crash_does_no_harm() -> None:
    assert Read().traits == ToolTraits(reenterable=True, parallel=True)
