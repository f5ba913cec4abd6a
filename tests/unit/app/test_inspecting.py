"""An audit of what runs."""

from functools import partial
from pathlib import Path

import pytest

from roost.app.inspecting import inspected
from roost.app.opening import open_held_store, open_store
from roost.config import Loaded, load
from roost.core.guests import admit, knock
from roost.core.leases import Gateway
from tests.unit.core.test_guests import knocking


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


@pytest.fixture
def with_channel(tmp_path: Path) -> Loaded:
    (tmp_path / "roost.json").write_text("{ channels: { telegram: {} } }")
    (tmp_path / "roost.json").chmod(0o600)
    tmp_path.chmod(0o700)
    return load({"ROOST_HOME": str(tmp_path)})


@pytest.mark.requirement("S26")
async def test_several_who_were_let_in_by_pairing_share_a_conversation(with_channel: Loaded) -> None:
    before = {one.id for one in await inspected(with_channel)}
    async with open_held_store(with_channel, Gateway(name="g", holder="h")) as store:
        for who in ("7", "8"):
            await store.change_guests(partial(knock, wanted=knocking(who)))
            await store.change_guests(partial(admit, code=f"CODE{who}", now=1))
    found = {one.id for one in await inspected(with_channel)}
    assert found - before == {"channels.dm.session_collision.telegram.allow_from"}
