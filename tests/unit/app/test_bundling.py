"""Sessions as files to take elsewhere."""

import stat
import zipfile
from pathlib import Path

import pytest

from roost.app.bundling import bundle_session, forget_bundle, known_bundles
from roost.app.opening import open_held_store
from roost.config import Loaded, load
from roost.core.errors import Conflict, NotFound
from roost.core.leases import Gateway
from roost.testing import builders
from roost.testing.builders import MAIN

SECRET = "open-sesame-with-a-long-tail"


@pytest.fixture
async def loaded(tmp_path: Path) -> Loaded:
    """A home with a session in which the token of the gateway was said before it was one."""
    home = load({"ROOST_HOME": str(tmp_path / "home")})
    async with open_held_store(home, Gateway(name="test", holder="test")) as store:
        await store.change_session(MAIN, lambda _: (builders.opening(builders.session(MAIN), "s"),))
        await store.append(MAIN, (builders.said("e", f"it is {SECRET}"),))
    (tmp_path / "home" / "roost.json").write_text(f'{{ gateway: {{ auth: {{ token: "{SECRET}" }} }} }}')
    return load({"ROOST_HOME": str(tmp_path / "home")})


def files_in(folder: Path) -> list[str]:
    return [one.name for one in folder.iterdir() if one.is_file()]


async def test_a_bundle_is_its_owners_and_is_remembered(loaded: Loaded, tmp_path: Path) -> None:
    key, packed = await bundle_session(loaded, "main", tmp_path / "x")
    assert (key, packed.sessions, packed.lines) == (MAIN, 1, 2)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o600
    assert known_bundles(loaded) == (tmp_path / "x",)
    assert files_in(tmp_path) == ["x"]


async def test_one_is_made_while_a_gateway_serves(loaded: Loaded, tmp_path: Path) -> None:
    async with open_held_store(loaded, Gateway(name="other", holder="other")):
        _, packed = await bundle_session(loaded, "main", tmp_path / "x")
    assert packed.sessions == 1


async def test_what_is_configured_stands_under_its_name(loaded: Loaded, tmp_path: Path) -> None:
    await bundle_session(loaded, "main", tmp_path / "x")
    with zipfile.ZipFile(tmp_path / "x") as opened:
        text = opened.read("s.jsonl").decode()
    assert "it is {{secret:gateway.auth.token}}" in text


async def test_no_file_is_overwritten_and_none_is_left_half_written(loaded: Loaded, tmp_path: Path) -> None:
    assert known_bundles(loaded) == ()
    (tmp_path / "x").write_text("mine")
    with pytest.raises(Conflict, match="already"):
        await bundle_session(loaded, "main", tmp_path / "x")
    assert (tmp_path / "x").read_text() == "mine"
    with pytest.raises(NotFound, match="no session"):
        await bundle_session(loaded, "other", tmp_path / "y")
    with pytest.raises(Conflict, match="could not be written"):
        await bundle_session(loaded, "main", tmp_path / "none" / "z")
    assert files_in(tmp_path) == ["x"]
    assert known_bundles(loaded) == ()


async def test_one_of_any_name_is_remembered_until_it_is_forgotten(loaded: Loaded, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("x", "two\nlines", "or\u2028so")]
    for file in files:
        await bundle_session(loaded, "main", file)
    assert known_bundles(loaded) == tuple(files)
    forget_bundle(loaded, files[1])
    assert known_bundles(loaded) == (files[0], files[2])
