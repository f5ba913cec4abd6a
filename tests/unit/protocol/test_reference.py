import runpy
from pathlib import Path

import pytest

from roost.protocol import reference
from roost.protocol.events import EVERY as EVENTS
from roost.protocol.frames import ErrorCode
from roost.protocol.methods import EVERY
from roost.protocol.reference import page

PAGE = Path(__file__).parents[3] / "docs" / "protocol.md"


def test_the_committed_page_is_the_one_the_table_gives() -> None:
    assert PAGE.read_text() == page(), "run: python -m roost.protocol.reference > docs/protocol.md"


def test_the_page_is_printed_by_its_module(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(reference.__file__, run_name="__main__")
    assert capsys.readouterr().out == page()


def test_the_page_names_every_method_with_its_parameters() -> None:
    sections = page().split("\n### ")
    for method in EVERY:
        (section,) = [one for one in sections if one.startswith(f"{method.name}\n")]
        assert method.about, method.name
        for field in method.params.model_fields.values():
            assert f"| `{field.alias}`" in section


def test_the_page_names_every_event_and_every_error() -> None:
    text = page()
    for name in (*EVENTS, *ErrorCode):
        assert f"| `{name}` |" in text


def test_every_row_of_a_table_has_as_many_cells_as_its_head() -> None:
    lines = page().replace("\\|", "").splitlines()
    for number, line in enumerate(lines):
        if line.startswith("|---"):
            width = line.count("|")
            table = [lines[number - 1], *lines[number + 1 :]]
            for row in table[: table.index("") if "" in table else None]:
                assert row.count("|") == width, row


def test_types_are_told_as_people_read_them() -> None:
    text = page()
    assert "| `queueMode`? | `steer` \\| `followup` \\| `collect` \\| `interrupt` \\| null |  |" in text
    assert "| `limit`? | integer 1–1000 | `200` |" in text
    assert "| `archived`? | boolean \\| `all` | `false` |" in text
    assert "`status`: `aborted` or `no-active-run`" in text
    assert "`nextOffset`: integer or null" in text
    assert "`ok`: `true`" in text
    assert "`ok`: object" not in text
