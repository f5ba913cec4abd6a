"""A person is erased from every file that is known; what is out of reach is named."""

from pathlib import Path

import pytest

from roost.app.backups import back_up
from roost.app.erasing import erase, who
from roost.app.opening import open_store
from roost.config import load
from roost.core.errors import InvalidInput, StoreUnavailable


def test_a_person_goes_by_the_links_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "roost.json").write_text('{session: {identityLinks: {eve: ["telegram:7", "discord:8"]}}}')
    loaded = load({"ROOST_HOME": str(tmp_path)})
    names = {"person:eve", "person:telegram:7", "person:discord:8"}
    assert {str(one) for one in who(loaded, "discord:8").principals} == names
    assert who(loaded, "eve").secret != who(loaded, "eve").secret
    with pytest.raises(InvalidInput):
        who(loaded, "nobody")


async def test_store_and_backups_are_gone_through_and_what_cannot_be_reached_is_named(tmp_path: Path) -> None:
    loaded = load({"ROOST_HOME": str(tmp_path / "home")})
    with pytest.raises(StoreUnavailable):
        await erase(loaded, who(loaded, "telegram:7"))
    async with open_store(loaded):
        pass
    own, lost = await back_up(loaded, None), await back_up(loaded, tmp_path / "lost.db")
    kept = await back_up(loaded, tmp_path / "kept.db")
    lost.unlink()
    done = await erase(loaded, who(loaded, "telegram:7"), (tmp_path / "more.db",))
    assert [one.path for one in done.rewritten] == [tmp_path / "home" / "roost.db", own, kept]
    assert [one.path for one in done.unreached] == [lost, tmp_path / "more.db"]
    assert all("there is no store" in one.why for one in done.unreached)
