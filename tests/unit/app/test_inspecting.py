"""An audit of what runs."""

from pathlib import Path

import pytest

from roost.app.inspecting import inspected
from roost.app.opening import open_store
from roost.config import Loaded, load
from roost.core.leases import Gateway


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    tmp_path.chmod(0o700)
    return load({"ROOST_HOME": str(tmp_path)})


@pytest.mark.requirement("S26")
async def test_where_a_gateway_of_the_store_listens_is_looked_at(loaded: Loaded) -> None:
    assert await inspected(loaded) == ()
    async with open_store(loaded) as store:
        await store.acquire_lease(Gateway(name="g", holder="h", address="ws://0.0.0.0:7"))
        (found,) = await inspected(loaded)
    assert found.id == "gateway.bind_clear_text"


async def test_a_store_that_cannot_be_asked_leaves_the_rest_of_the_audit(
    tmp_path: Path, loaded: Loaded
) -> None:
    file = tmp_path / "roost.db"
    file.touch(mode=0o600)
    file.write_bytes(b"nonsense" * 1_000)
    assert [one.id for one in await inspected(loaded)] == ["gateway.not_seen"]
