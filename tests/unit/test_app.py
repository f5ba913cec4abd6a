"""What the composition root puts together."""

from pathlib import Path

import pytest

from roost.app import database_file, open_store, secret_scanner
from roost.config import load
from roost.core.errors import ConfigInvalid
from roost.stores.sqlite import SqliteStore
from roost.testing.builders import MAIN


async def test_without_a_database_the_embedded_store_is_opened_in_the_home_folder(tmp_path: Path) -> None:
    async with open_store(load({"ROOST_HOME": str(tmp_path)})) as store:
        assert isinstance(store, SqliteStore)
        assert await store.session(MAIN) is None
    assert database_file(tmp_path).exists()


async def test_a_database_that_this_roost_cannot_use_is_refused_before_anything_is_opened(
    tmp_path: Path,
) -> None:
    environ = {"ROOST_HOME": str(tmp_path), "ROOST_DATABASE_URL": "postgresql://somewhere/roost"}
    with pytest.raises(ConfigInvalid, match="embedded store"):
        async with open_store(load(environ)):
            pass
    assert not database_file(tmp_path).exists()


def test_configured_secrets_are_found_whatever_their_form(tmp_path: Path) -> None:
    scanner = secret_scanner(
        load({"ROOST_HOME": str(tmp_path), "ROOST_GATEWAY_TOKEN": "plain words of the owner"})
    )
    text = "it is `plain words of the owner`, or ghp_" + "a1B2" * 9
    assert [text[span.start : span.end][:5] for span in scanner.find(text)] == ["plain", "ghp_a"]
