import subprocess
import sys
from pathlib import Path

import apsw
import asyncpg
import pytest

from roost.app.moving import check_store, copy_store, glance_at_store, migrate_store
from roost.app.opening import open_engine
from roost.clock import SystemClock
from roost.config import Loaded, load
from roost.core.addressed import Addressed
from roost.core.errors import InvalidInput, LeaseHeld, StoreCorrupt
from roost.core.leases import Gateway
from roost.core.principals import OWNER
from roost.ports import Accepted
from roost.stores.postgres import PostgresStore
from roost.stores.sqlite import SqliteStore
from roost.testing.builders import MAIN
from tests import postgres
from tests.contract.scenes import opened
from tests.unit.app.given import answers


def here(tmp_path: Path) -> Loaded:
    return load({"ROOST_HOME": str(tmp_path)})


async def test_a_store_is_made_once_and_then_up_to_date(tmp_path: Path, postgres_server: str) -> None:
    for place in (None, f"{postgres_server}&schema=made"):
        before, known = await migrate_store(here(tmp_path), place)
        assert before in (0, known)
        assert await migrate_store(here(tmp_path), place) == (known, known)


async def test_a_store_is_described(tmp_path: Path) -> None:
    await answers(here(tmp_path), "hi")
    found = await check_store(here(tmp_path), None)
    assert (found.where, found.version, found.faults) == (str(tmp_path / "roost.db"), found.known, ())
    assert found.rows["sessions"] == 1
    assert found.rows["entries"] == 2
    assert await check_store(here(tmp_path), str(tmp_path)) == found


async def test_a_server_is_described_while_a_gateway_works_on_it(
    tmp_path: Path, postgres_server: str
) -> None:
    await postgres.empty(postgres_server)
    store = await PostgresStore.open(postgres_server, SystemClock())
    await store.acquire_lease(Gateway(name="busy", holder="1"))
    found = await check_store(here(tmp_path), postgres_server)
    assert (found.gateways, found.rows["gateways"]) == (("busy",), 1)
    assert found.where.endswith("/postgres")
    await store.close()


async def test_one_that_is_not_up_to_date_is_only_said_to_be(tmp_path: Path, postgres_server: str) -> None:
    found = await check_store(here(tmp_path), f"{postgres_server}&schema=not_made")
    assert (found.version, found.rows) == (0, {})


async def test_conversations_go_on_after_a_copy(tmp_path: Path, postgres_server: str) -> None:
    server = f"{postgres_server}&schema=moved"
    await answers(here(tmp_path), "hi")
    totals: list[int] = []
    rows = await copy_store(here(tmp_path), None, server, totals.append, lambda rows: None)
    assert totals == [2 * sum(rows.values())]
    there = load({"ROOST_HOME": str(tmp_path), "ROOST_DATABASE_URL": server})
    async with open_engine(there, [], {}) as engine, engine.serving(Gateway(name="there", holder="1")):
        said = Addressed(key=MAIN, principal=OWNER, text="more", run_id="r-2", idempotency_key="m-2")
        accepted = await engine.inbox.say(said)
        assert isinstance(accepted, Accepted)
        waited = await engine.waits.for_message(accepted.record.inbound.id, 60_000)
        assert waited.reply
    found = await check_store(there, None)
    assert (found.rows["sessions"], found.rows["entries"], found.faults) == (1, 4, ())
    back = tmp_path / "back" / "roost.db"
    await copy_store(there, None, str(back), totals.append, lambda rows: None)
    assert (await check_store(there, str(back))).faults == ()


@pytest.mark.parametrize(
    "address", ["postgresql://roost:secret@db.test/roost?connections=3", "postgresql://db.test:5432/roost"]
)
async def test_a_store_is_not_copied_to_itself_and_nothing_is_opened_to_find_out(
    tmp_path: Path, address: str
) -> None:
    there = load({"ROOST_HOME": str(tmp_path), "ROOST_DATABASE_URL": "postgresql://ida@db.test/roost"})
    with pytest.raises(InvalidInput, match="are one store"):
        await copy_store(there, None, address, lambda total: None, lambda rows: None)
    with pytest.raises(InvalidInput, match="are one store"):
        await copy_store(here(tmp_path), None, str(tmp_path), lambda total: None, lambda rows: None)
    assert not (tmp_path / "roost.db").exists()


async def test_a_store_in_use_is_not_copied(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "roost.db", SystemClock())
    await store.acquire_lease(Gateway(name="busy", holder="process 7"))
    await opened(store)
    await store.close()
    with pytest.raises(LeaseHeld, match=r"busy .process 7."):
        await copy_store(
            here(tmp_path), None, str(tmp_path / "new.db"), lambda total: None, lambda rows: None
        )
    assert not (tmp_path / "new.db").exists()


def test_without_its_driver_a_server_is_refused_with_what_to_install(tmp_path: Path) -> None:
    program = (
        "import sys, anyio; sys.modules['asyncpg'] = None\n"
        "from roost.app.moving import check_store\nfrom roost.config import load\n"
        f"loaded = load({{'ROOST_HOME': {str(tmp_path)!r}}})\n"
        "try:\n    anyio.run(check_store, loaded, 'postgresql://h/d')\n"
        "except Exception as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert 'pip install "roost[postgres]"' in done.stdout


async def test_a_glance_tells_a_sound_file_from_a_damaged_one_and_leaves_large_ones_alone(
    tmp_path: Path,
) -> None:
    assert await glance_at_store(here(tmp_path)) is None
    await migrate_store(here(tmp_path), None)
    found = await glance_at_store(here(tmp_path))
    assert found is not None
    assert (found.looked, found.fault) == (True, None)
    large = await glance_at_store(here(tmp_path), largest=1)
    assert large is not None
    assert not large.looked
    content = bytearray((tmp_path / "roost.db").read_bytes())
    content[4096 * 20 : 4096 * 21] = b"\xff" * 4096
    (tmp_path / "roost.db").write_bytes(content)
    damaged = await glance_at_store(here(tmp_path))
    assert damaged is not None
    assert damaged.fault is not None
    server = load({"ROOST_HOME": str(tmp_path), "ROOST_DATABASE_URL": "postgresql://db.example/roost"})
    assert await glance_at_store(server) is None


async def test_a_store_of_another_build_is_told_and_not_looked_into(
    tmp_path: Path, postgres_server: str
) -> None:
    await answers(here(tmp_path), "hi")
    connection = apsw.Connection(str(tmp_path / "roost.db"))
    connection.execute("ALTER TABLE runs ADD COLUMN mood TEXT")
    connection.close()
    server = await asyncpg.connect(postgres_server)
    await migrate_store(here(tmp_path), f"{postgres_server}&schema=early")
    await server.execute("ALTER TABLE early.roost_schema DROP COLUMN made_by; DROP TABLE early.denials")
    await server.close()
    for place in (None, f"{postgres_server}&schema=early"):
        with pytest.raises(StoreCorrupt, match="of another build of Roost"):
            await check_store(here(tmp_path), place)
