"""What is configured and what is stored, in a few lines."""

from pathlib import Path

from roost import __version__
from roost.cli.overview import overview
from roost.config import load


async def test_it_opens_the_store_and_says_what_is_there(home: Path) -> None:
    said = await overview(load({"ROOST_HOME": str(home)}))
    assert said.startswith(f"Roost {__version__}\n")
    assert f"{home / 'roost.db'}, sound" in said
    assert (home / "roost.db").exists()


async def test_what_the_owner_should_hear_about_the_configuration_is_said(home: Path) -> None:
    (home / "roost.json").write_text('{ session: { reset: { mode: "idle" } } }')
    assert "warning " in await overview(load({"ROOST_HOME": str(home)}))
