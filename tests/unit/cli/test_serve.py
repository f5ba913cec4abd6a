"""`roost gateway run` on the terminal."""

import os
import signal
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from roost.cli.serve import _unless, serve
from roost.config import load
from roost.config.gateway import Bind
from roost.core.errors import ConfigInvalid
from tests.unit.cli.conftest import Screen


async def test_it_says_where_it_listens_and_stops_when_it_is_told_to(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(serve, load({"ROOST_HOME": str(home)}), 0, None)
            await to_thread.run_sync(screen.shows, "Ctrl-C")
            os.kill(os.getpid(), signal.SIGTERM)
    assert "listens on ws://127.0.0.1:" in screen.getvalue()
    assert str(home / "gateway.token") in screen.getvalue()
    assert screen.getvalue().splitlines()[-1].startswith("stopping")


@pytest.mark.parametrize("person", [True, False])
async def test_the_page_is_named_with_its_token_only_to_a_person(
    home: Path, monkeypatch: pytest.MonkeyPatch, *, person: bool
) -> None:
    screen = Screen()
    monkeypatch.setattr(screen, "isatty", lambda: person)
    monkeypatch.setattr("sys.stdout", screen)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(serve, load({"ROOST_HOME": str(home)}), 0, None)
            await to_thread.run_sync(screen.shows, "Ctrl-C")
            os.kill(os.getpid(), signal.SIGTERM)
    token = (home / "gateway.token").read_text().strip()
    assert "open http://127.0.0.1:" in screen.getvalue()
    assert (f"/#token={token}" in screen.getvalue()) is person


async def test_it_is_not_open_to_others_without_auth(home: Path) -> None:
    (home / "roost.json").write_text('{ gateway: { auth: { mode: "none" } } }')
    with pytest.raises(ConfigInvalid, match="beyond loopback"):
        await serve(load({"ROOST_HOME": str(home)}), 0, Bind("lan"))


async def test_what_is_under_way_is_waited_for_until_the_next_signal() -> None:
    begun, given_up = anyio.Event(), anyio.Event()

    async def linger() -> None:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            given_up.set()

    with anyio.fail_after(60), anyio.open_signal_receiver(signal.SIGUSR1) as signals:
        async with anyio.create_task_group() as group:
            group.start_soon(_unless, signals, linger)
            await begun.wait()
            os.kill(os.getpid(), signal.SIGUSR1)
    assert given_up.is_set()
