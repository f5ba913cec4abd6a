import logging
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from roost.app import database_file, open_engine, open_store
from roost.config import load
from roost.core.errors import ConfigInvalid
from roost.core.leases import Gateway
from roost.stores.sqlite import SqliteStore
from roost.testing.builders import MAIN
from tests.unit.app.given import provider


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


async def test_an_engine_is_put_together_from_the_configuration(tmp_path: Path) -> None:
    loaded = provider(tmp_path, apiKey="sk-local-0123456789", models=[{"id": "small", "cost": {"input": 1}}])
    async with open_engine(loaded, [], {}) as engine, engine.serving(Gateway(name="t", holder="t")) as lease:
        assert lease.epoch == 1
        await anyio.wait_all_tasks_blocked()
        assert "configuration" in {part.name for part in engine.health().parts}


async def test_warnings_go_to_the_error_output_without_the_credentials_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = provider(tmp_path, apiKey="plain words of the owner")
    async with open_engine(loaded, [], {}):
        logging.getLogger("roost.test").warning("it is %s", "plain words of the owner")
    told = capsys.readouterr().err
    assert "roost.test: it is" in told
    assert "plain words" not in told


def test_starting_loads_no_library_of_a_provider() -> None:
    script = "import sys, roost.app; print([name for name in ('pydantic_ai', 'openai', 'anthropic', 'google.genai') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
