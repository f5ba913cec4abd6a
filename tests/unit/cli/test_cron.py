"""Jobs on the command line, against a gateway that runs."""

import json
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from roost.app.serving import Served
from roost.cli.cron import Wish
from roost.cli.main import main
from roost.core.errors import InvalidInput
from tests.unit.cli.conftest import serving

Told = Callable[..., str]


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Told:
    def run(*arguments: str, code: int = 0) -> str:
        assert main(("cron", *arguments)) == code, capsys.readouterr()
        return capsys.readouterr().out

    return run


def as_json(told: Told, *arguments: str) -> Any:
    return json.loads(told(*arguments, "--json"))


def test_a_job_is_set_looked_at_changed_and_removed(served: Served, told: Told) -> None:
    assert "no jobs" in told()
    assert " is due in " in told("add", "weather", "--cron", "@daily", "--tz", "Europe/Berlin", "-m", "rain?")
    (job,) = as_json(told, "list")
    assert job["schedule"] == {"kind": "cron", "expr": "@daily", "tz": "Europe/Berlin"}
    name = str(job["id"])
    assert "weather" in told("list")
    assert "isolated" in told("show", name)
    assert as_json(told, "show", name)["name"] == "weather"
    assert "is due" in told("edit", name, "--name", "sky", "--every", "2h", "--tell", "last")
    changed = as_json(told, "show", name)
    assert (changed["name"], changed["schedule"]["everyMs"]) == ("sky", 7_200_000)
    assert changed["delivery"] == {"mode": "announce", "channel": "last"}
    assert "every 2h " in told()
    assert "rests" in told("pause", name)
    assert told("list") == "no jobs\n1 more is paused: `roost cron list --paused`\n"
    assert as_json(told, "list") == []
    assert "more" not in told("list", "--paused")
    assert "paused" in told("list", "--paused")
    assert "goes on" in told("pause", name, "--undo")
    assert "nothing was due yet" in told("runs", name)
    assert "nothing was due yet" in told("runs")
    assert "has begun" in told("run", name)
    assert as_json(told, "runs", name)["total"] == 1
    assert "what" in told("runs", name)
    assert as_json(told, "runs")["total"] == 1
    assert "sky" in told("runs")
    assert "is gone" in told("rm", name)
    told("show", name, code=1)


def test_a_job_is_meant_by_its_name_its_id_or_the_beginning_of_that(served: Served, told: Told) -> None:
    job = as_json(told, "add", "sweep the hall", "--every", "2h", "-m", "sweep")
    assert as_json(told, "show", "sweep the hall")["id"] == job["id"]
    assert "sweep the hall rests" in told("pause", "sweep the hall")
    assert as_json(told, "show", job["id"][:-1])["enabled"] is False
    assert "goes on" in told("pause", "sweep the hall", "--undo")
    assert "has begun" in told("run", "sweep the hall")
    assert as_json(told, "runs", "sweep the hall")["total"] == 1
    assert "is due" in told("edit", "sweep the hall", "--name", "sweep")
    assert "sweep is gone" in told("rm", "sweep")


def test_a_name_that_several_jobs_have_is_refused_with_their_ids(
    served: Served, told: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = {as_json(told, "add", "tea", "--every", "2h", "-m", "tea?")["id"] for _ in range(2)}
    assert main(["cron", "rm", "tea"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("roost: several jobs are called tea (give the id of one: ")
    assert all(one in said for one in ids)
    assert main(["cron", "rm", "coffee"]) == 1
    assert capsys.readouterr().err == (
        "roost: there is no job coffee (`roost cron list --paused` shows all)\n"
    )
    assert main(["cron", "rm", ""]) == 1


def test_what_is_not_given_stays_as_it_was(served: Served, told: Told) -> None:
    told("add", "weather", "--cron", "0 7 * * *", "--tz", "Europe/Berlin", "-m", "rain?", "--timeout", "10m")
    told("edit", "weather", "--cron", "0 8 * * *")
    told("edit", "weather", "-m", "snow?", "--thinking", "high")
    job = as_json(told, "edit", "weather", "-m", "hail?")
    assert job["schedule"] == {"kind": "cron", "expr": "0 8 * * *", "tz": "Europe/Berlin"}
    turn = {"message": "hail?", "timeoutSeconds": 600, "thinking": "high"}
    assert turn.items() <= job["payload"].items()
    moved = as_json(told, "edit", "weather", "--cron", "0 8 * * *", "--tz", "Asia/Tokyo")
    assert moved["schedule"]["tz"] == "Asia/Tokyo"
    other = as_json(told, "edit", "weather", "--every", "2h", "--event", "look out", "--session", "main")
    assert "tz" not in other["schedule"]
    assert other["payload"] == {"kind": "systemEvent", "text": "look out"}


def test_a_job_that_rests_is_said_to_be_paused_when_it_is_changed(served: Served, told: Told) -> None:
    told("add", "tea", "--every", "2h", "-m", "tea?")
    told("pause", "tea")
    assert told("edit", "tea", "--every", "3h") == "tea is paused\n"
    told("pause", "tea", "--undo")
    assert "tea is due in " in told("edit", "tea", "--every", "4h")


def test_an_event_is_set_for_one_moment(served: Served, told: Told) -> None:
    job = as_json(told, "add", "tea", "--at", "20m", "--event", "the tea is ready", "--once")
    assert (job["sessionTarget"], job["deleteAfterRun"]) == ("main", True)
    assert job["payload"] == {"kind": "systemEvent", "text": "the tea is ready"}
    assert job["schedule"]["at"].endswith("Z")
    assert re.search(r"once, in \d+m \(20\d\d-", told("list"))


def test_what_is_given_is_asked_for_and_nothing_else() -> None:
    assert Wish().params() == {}
    wish = Wish(message="go", model="a/b", thinking="high", timeout="10m", tell="https://example.org")
    assert wish.params() == {
        "payload": {
            "kind": "agentTurn",
            "message": "go",
            "model": "a/b",
            "thinking": "high",
            "timeoutSeconds": 600.0,
        },
        "delivery": {"mode": "webhook", "to": "https://example.org"},
    }
    assert Wish(tell="telegram/work:7").params()["delivery"] == {
        "mode": "announce",
        "channel": "telegram",
        "accountId": "work",
        "to": "7",
    }
    assert Wish(tell="telegram:7").params()["delivery"] == {
        "mode": "announce",
        "channel": "telegram",
        "to": "7",
    }


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (Wish(at="20m", every="1h"), "one schedule"),
        (Wish(every="0s"), "every 0s"),
        (Wish(every="1h", tz="Europe/Berlin"), "--cron too"),
        (Wish(message="go", event="gone"), "-m or --event"),
        (Wish(event="gone", model="a/b"), "-m too"),
        (Wish(timeout="5m"), "-m too"),
    ],
)
def test_what_would_count_for_nothing_is_refused(wish: Wish, said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        wish.params()
    assert said in str(refused.value)


def test_what_is_missing_is_named_as_it_is_typed(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["add", "x", "-m", "go"], ["add", "x", "--every", "5m"], ["edit", "x"]):
        assert main(["cron", *words]) == 1
    time, work, change = capsys.readouterr().err.splitlines()
    assert "--at, --every or --cron" in time
    assert "-m or --event" in work
    assert "nothing is to be changed" in change


def test_a_schedule_goes_by_the_zone_that_the_environment_of_the_gateway_names(
    home: Path, told: Told
) -> None:
    with serving(home, TZ="Asia/Tokyo"):
        job = as_json(told, "add", "z", "--cron", "0 7 * * *", "-m", "x")
    due = datetime.fromtimestamp(job["state"]["nextRunAtMs"] / 1_000, ZoneInfo("Asia/Tokyo"))
    assert (due.hour, due.minute) == (7, 0)
