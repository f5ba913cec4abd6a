"""Where files lie."""

from pathlib import Path

from roost.app.places import backup_folder, database_file, export_folder


def test_the_embedded_store_lies_in_its_home() -> None:
    assert database_file(Path("/h")) == Path("/h/roost.db")


def test_backups_and_exports_have_folders_of_their_own() -> None:
    assert {backup_folder(Path("/h")), export_folder(Path("/h"))} == {Path("/h/backups"), Path("/h/exports")}
