"""People who ask to be let in and who are, over a gateway that runs."""

from functools import partial
from pathlib import Path

import anyio
import pytest

from roost.app.opening import open_held_store
from roost.cli.main import main
from roost.clock import SystemClock
from roost.config import load
from roost.core import guests
from roost.core.leases import Gateway
from tests.unit.cli.conftest import Told, as_json, serving
from tests.unit.core.test_guests import knocking


async def leave_asking(home: Path) -> None:
    held = open_held_store(load({"ROOST_HOME": str(home)}), Gateway(name="before", holder="test"))
    now = SystemClock().now()
    async with held as store:
        for who in ("7", "8"):
            await store.change_guests(partial(guests.knock, wanted=knocking(who, at=now)))


def test_who_asks_is_let_in_turned_away_and_shown_out(
    home: Path, told: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    anyio.run(leave_asking, home)
    with serving(home):
        first, second = told("people").splitlines()[-2:]
        assert first.split()[0] == second.split()[0] == "asks"
        assert "CODE" not in first
        assert told("people", "approve", "code7") == "7 on telegram is let in\n"
        (asking,) = as_json(told, "people", "list")["asking"]
        assert told("people", "reject", asking["requestId"]) == "8 on telegram is not let in\n"
        (person,) = as_json(told, "people", "list")["people"]
        shown = told("people").splitlines()
        assert shown[-1].split()[:6] == ["let", "in", person["personId"], "telegram", "default", "7"]
        assert told("people", "remove", person["personId"]) == "7 on telegram is let in no longer\n"
        assert told("people") == "nobody was let in by pairing, and nobody asks\n"
        for verb, missing in (
            ("approve", "nobody who asks has the code x"),
            ("reject", "nobody asks as x"),
            ("remove", "nobody is let in as x"),
        ):
            assert main(["people", verb, "x"]) == 1
            assert missing in capsys.readouterr().err
