import logging
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from roost.app.opening import open_engine, open_store
from roost.app.places import database_file
from roost.config import load
from roost.core.errors import StoreUnavailable
from roost.core.leases import Gateway
from roost.stores.sqlite import SqliteStore
from roost.testing.builders import MAIN
from tests import postgres
from tests.imported import imported
from tests.unit.app.given import provider


async def test_without_a_database_the_embedded_store_is_opened_in_the_home_folder(tmp_path: Path) -> None:
    async with open_store(load({"ROOST_HOME": str(tmp_path)})) as store:
        assert isinstance(store, SqliteStore)
        assert await store.session(MAIN) is None
    assert database_file(tmp_path).exists()


async def test_a_server_that_the_environment_names_is_opened_and_nothing_else(
    tmp_path: Path, postgres_server: str
) -> None:
    await postgres.empty(postgres_server)
    async with open_store(
        load({"ROOST_HOME": str(tmp_path), "ROOST_DATABASE_URL": postgres_server})
    ) as store:
        assert await store.session(MAIN) is None
        # By the server's clock: a lease is as long as it says.
        lease = await store.acquire_lease(Gateway(name="here", holder="1"))
        assert await store.renew_lease(lease) != lease
    assert not database_file(tmp_path).exists()


async def test_a_server_that_is_not_there_is_told_without_its_password(tmp_path: Path) -> None:
    address = "postgresql://ann:hunter2@127.0.0.1:1/roost"
    with pytest.raises(StoreUnavailable) as refused:
        async with open_store(load({"ROOST_HOME": str(tmp_path), "ROOST_DATABASE_URL": address})):
            pass
    assert "127.0.0.1:1/roost" in str(refused.value)
    assert "hunter2" not in str(refused.value)
    assert not database_file(tmp_path).exists()


def test_without_the_driver_the_error_names_what_to_install(tmp_path: Path) -> None:
    script = (
        "import asyncio, sys\n"
        "sys.modules['asyncpg'] = None\n"
        "from roost.app.opening import open_store\n"
        "from roost.config import load\n"
        f"loaded = load({{'ROOST_HOME': {str(tmp_path)!r}, 'ROOST_DATABASE_URL': 'postgresql://h/d'}})\n"
        "try:\n    asyncio.run(open_store(loaded).__aenter__())\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("ConfigInvalid a PostgreSQL server is named, and asyncpg is missing")
    assert 'pip install "roost[postgres]"' in done.stdout


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


@pytest.mark.parametrize(
    ("loaded", "unneeded"),
    [
        ("roost.app.embedding", ("pydantic_ai", "openai", "anthropic", "google.genai", "asyncpg", "httpx2")),
        (
            "roost.app.serving",
            ("roost.client", "roost.remotes", "roost.models.openai", "roost.transfer.export"),
        ),
    ],
)
def test_starting_loads_nothing_that_is_not_configured(loaded: str, unneeded: tuple[str, ...]) -> None:
    assert sorted(imported(loaded) & set(unneeded)) == []
