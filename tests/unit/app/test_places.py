"""Where files lie."""

from pathlib import Path

from roost.app.places import database_file


def test_the_embedded_store_lies_in_its_home() -> None:
    assert database_file(Path("/h")) == Path("/h/roost.db")
