import json

import pytest

from roost.app.serving import Served
from roost.cli.main import UNREACHABLE, main
from roost.cli.send import Place


def test_a_place_is_named_by_channel_account_and_thread() -> None:
    place = Place(to="7", channel="telegram/work", thread="t")
    assert place.address() == {
        "to": "7",
        "channel": "telegram",
        "accountId": "work",
        "threadId": "t",
    }
    assert Place(to="7").address() == {"to": "7"}


def test_a_message_for_nobody_says_what_to_do(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["send", "-m", "hi", "--to", "7", "--session", "main"]) == 1
    assert main(["send", "-m", "hi", "--channel", "telegram"]) == 1
    assert main(["send", "-m", "hi", "--to", "7"]) == 1
    assert main(["send", "-m", "hi", "--to", "http://127.0.0.1:9/x", "--channel", "webhook"]) == 1
    told = capsys.readouterr().err.splitlines()
    assert told == [
        "roost: a message goes to a session or to a place (leave one of them out)",
        "roost: a channel without a place (give --to)",
        "roost: no channel is given (name one; there are: webhook)",
        told[3],
    ]
    assert told[3].startswith("roost: it was not sent: ")
    assert told[3].endswith("(look at `roost deliveries`)")


def test_help_says_which_channel_is_meant_where_none_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["send", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "Default: the only one on which people write; a URL needs webhook." in said


def test_only_a_gateway_that_runs_has_channels(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["send", "-m", "hi", "--to", "7"]) == UNREACHABLE
    assert "gateway" in capsys.readouterr().err


def test_a_message_to_a_session_is_taken(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["send", "-m", "hi", "--key", "n-1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "started"
