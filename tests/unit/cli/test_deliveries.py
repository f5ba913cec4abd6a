"""What did not arrive, over a gateway that runs and a place that fails."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from queue import Queue
from typing import Any

import anyio
import pytest

from roost.app.opening import open_held_store
from roost.app.serving import Served
from roost.cli.main import UNREACHABLE, main
from roost.config import load
from roost.core.deliveries import DeliveryState
from roost.core.effects import AddDelivery
from roost.core.errors import InvalidInput, NotFound
from roost.core.leases import Gateway
from roost.protocol.families.operations import MOST_DELIVERIES
from roost.testing import builders
from tests.contract.scenes import change, opened
from tests.unit.cli.conftest import serving

LIMIT_S = 60


@contextmanager
def place(codes: list[int]) -> Iterator[tuple[str, Queue[int]]]:
    """Somewhere a message is sent to, the answers it gives in turn, and what it has answered."""
    answered: Queue[int] = Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            code = codes.pop(0)
            self.send_response(code)
            self.send_header("content-length", "0")
            self.end_headers()
            answered.put(code)

        def log_message(self, *said: object) -> None:
            """Nobody reads it."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/x", answered
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def open_to_here(home: Path) -> None:
    text = (home / "roost.json").read_text().strip().removesuffix("} }")
    (home / "roost.json").write_text(f'{text}, egress: {{ allow: ["127.0.0.1/32"] }} }} }}')


def listed(capsys: pytest.CaptureFixture[str], *more: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main(["deliveries", *more, "--json"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["deliveries"]
    return found


def test_a_dead_letter_is_shown_and_given_up(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deliveries"]) == 0
    assert capsys.readouterr().out == "nothing failed and nothing is uncertain\n"
    assert main(["send", "-m", "hi there", "--to", "http://127.0.0.1:9/x", "--channel", "webhook"]) == 1
    (dead,) = listed(capsys)
    assert (dead["state"], dead["text"]) == ("failed", "hi there")
    assert main(["deliveries", "list"]) == 0
    shown = capsys.readouterr().out
    assert f"{dead['id']}  failed  webhook:http://127.0.0.1:9/x" in shown
    assert main(["deliveries", "dismiss", dead["id"]]) == 0
    assert capsys.readouterr().out == f"{dead['id']} is given up\n"
    assert listed(capsys) == []
    assert [one["id"] for one in listed(capsys, "--state", "dismissed")] == [dead["id"]]
    assert main(["deliveries", "--state", "sending"]) == 0
    assert capsys.readouterr().out == "none\n"
    assert main(["deliveries", "retry", dead["id"]]) == 1
    assert "arrives twice (say --yes" in capsys.readouterr().err
    assert main(["deliveries", "retry", dead["id"], "--yes"]) == 0
    assert capsys.readouterr().out == f"{dead['id']} is sent again\n"


@pytest.mark.usefixtures("open_to_here")
def test_an_uncertain_one_is_sent_again_only_on_a_word(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with place([500, 200]) as (url, answered), serving(home):
        assert main(["send", "-m", "hi", "--to", url, "--channel", "webhook"]) == 1
        assert answered.get(timeout=LIMIT_S) == 500
        (unsure,) = listed(capsys)
        assert unsure["state"] == "uncertain"
        assert main(["deliveries", "retry", unsure["id"]]) == 1
        out, err = capsys.readouterr()
        assert (out, "arrives twice (say --yes" in err) == ("", True)
        assert main(["deliveries", "retry", unsure["id"], "--json"]) == 1
        out, err = capsys.readouterr()
        refused = json.loads(err)["error"]
        assert (out, refused["hint"]) == ("", "say --yes to send it again")
        assert refused["code"] == InvalidInput.code
        assert main(["deliveries", "retry", "nothere", "--json"]) == 1
        assert json.loads(capsys.readouterr().err)["error"]["code"] == NotFound.code
        assert main(["deliveries", "retry", unsure["id"], "--yes"]) == 0
        assert capsys.readouterr().out == f"{unsure['id']} is sent again\n"
        assert answered.get(timeout=LIMIT_S) == 200
    assert answered.empty()


async def leave_uncertain(home: Path, names: Sequence[str]) -> None:
    async with open_held_store(
        load({"ROOST_HOME": str(home)}), Gateway(name="before", holder="test")
    ) as store:
        session = await opened(store)
        unsure = [replace(builders.delivery(name), state=DeliveryState.UNCERTAIN) for name in names]
        await change(store, *(AddDelivery(delivery=one) for one in unsure), key=session.key)


def test_an_uncertain_one_beyond_those_that_are_listed_is_no_other(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"delivery-{number}" for number in range(MOST_DELIVERIES + 1)]
    anyio.run(leave_uncertain, home, names)
    with serving(home):
        assert main(["deliveries", "retry", names[-1]]) == 1
        assert "arrives twice" in capsys.readouterr().err
        assert main(["deliveries", "dismiss", names[-1]]) == 0
        capsys.readouterr()
        assert main(["deliveries", "dismiss", names[-1]]) == 1
        assert f"delivery {names[-1]} is dismissed" in capsys.readouterr().err


@pytest.mark.usefixtures("open_to_here")
def test_a_dead_letter_is_sent_again(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with place([404, 200]) as (url, answered), serving(home):
        assert main(["send", "-m", "hi", "--to", url, "--channel", "webhook"]) == 1
        assert answered.get(timeout=LIMIT_S) == 404
        (dead,) = listed(capsys)
        assert main(["deliveries", "retry", dead["id"], "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["state"] == "intent"
        assert answered.get(timeout=LIMIT_S) == 200
        assert main(["deliveries", "retry", "nothing"]) == 1
        said = capsys.readouterr().err
        assert "no delivery nothing" in said
        assert "`roost deliveries` shows those that wait for a word" in said


def test_only_a_gateway_that_runs_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deliveries"]) == UNREACHABLE
    assert "roost gateway run" in capsys.readouterr().err
