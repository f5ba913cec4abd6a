"""A person is erased from every file that is known; what is out of reach is named."""

import json
from pathlib import Path

import pytest

from roost.app.backups import back_up
from roost.app.erasing import erase, who
from roost.app.opening import open_store
from roost.app.places import export_folder
from roost.config import load
from roost.core.errors import InvalidInput, StoreUnavailable
from roost.core.exports import folder_name
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.testing import builders
from tests.contract.scenes import change

HERS = SessionKey.parse("agent:main:telegram:direct:7")


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
    remedy = f"name it with --backup; if it is gone, take its line out of {tmp_path / 'home' / 'backups' / 'elsewhere'}"
    assert remedy in done.unreached[0].why


@pytest.mark.requirement("F11")
async def test_a_backup_that_no_file_can_be_does_not_keep_the_others_from_being_gone_through(
    tmp_path: Path,
) -> None:
    loaded = load({"ROOST_HOME": str(tmp_path / "home")})
    async with open_store(loaded):
        pass
    kept = await back_up(loaded, tmp_path / "kept.db")
    moved = kept.rename(tmp_path / "moved.db")
    kept.mkdir()
    (tmp_path / "file").touch()
    below = tmp_path / "file" / "below.db"
    done = await erase(loaded, who(loaded, "telegram:7"), (below, moved))
    assert [one.path for one in done.rewritten] == [tmp_path / "home" / "roost.db", moved]
    assert [one.path for one in done.unreached] == [kept, below]


@pytest.mark.requirement("F11")
async def test_files_that_cannot_be_removed_are_named(tmp_path: Path) -> None:
    (tmp_path / "roost.json").write_text('{session: {mirror: "files/{agentId}"}}')
    loaded = load({"ROOST_HOME": str(tmp_path)})
    async with open_store(loaded) as store:
        lease = await store.acquire_lease(Gateway(name="g", holder="h"))
        await change(store, builders.opening(builders.session(HERS), "s-1"), key=HERS)
        await store.release_lease(lease)
    export, files = export_folder(tmp_path) / folder_name(HERS), tmp_path / "files" / "main"
    export.parent.mkdir()
    export.write_text("no folder")
    (files / "a.jsonl").mkdir(parents=True)
    (files / "sessions.json").write_text(json.dumps({str(HERS): {"files": ["a.jsonl"]}}))
    done = await erase(loaded, who(loaded, "telegram:7"))
    assert [one.sessions for one in done.rewritten] == [1]
    assert [one.path for one in done.unreached] == [export, files]
    assert done.removed == ()
