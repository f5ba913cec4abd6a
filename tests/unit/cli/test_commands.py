"""The commands, one by one, without a gateway that runs: they work all the same."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from roost.app.serving import Served
from roost.cli import digging
from roost.cli.main import main
from roost.protocol.families.own import Cleaned
from roost.protocol.families.sessions import MOST_ROWS
from tests.unit.cli.conftest import Told, as_json


def test_the_first_run_asks_nothing_and_works(told: Told) -> None:
    assert "begin one" in told("sessions")
    assert "one conversation" in told("agent", "--message", "what is a session?")
    assert "agent:main:main" in told("sessions", "list", "--active", "5", "--limit", "1")
    assert "assistant: A session is" in told("sessions", "history", "main")
    shown = told("status")
    assert "none runs" in shown
    assert "what is a session?" in shown


@pytest.mark.parametrize(
    "asked",
    [
        *(("sessions", verb) for verb in ("show", "history", "tree", "export", "reset", "archive")),
        *((verb,) for verb in ("explain", "timeline", "denials", "ledger", "exchanges")),
        ("sessions", "search", "x", "--session"),
    ],
)
def test_a_session_that_is_not_there_is_told_with_what_to_do(
    asked: tuple[str, ...], served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*asked, "nowhere"]) == 1
    assert capsys.readouterr().err == (
        "roost: no session nowhere (`roost sessions list` shows those there are)\n"
    )


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (("agent", "--message"), 0),
        (("sessions", "search"), 0),
        (("cron", "add", "tea", "--every", "1h", "--message"), 0),
    ],
)
def test_bytes_that_are_no_text_are_sent_with_a_mark_in_their_place(
    asked: tuple[str, ...], code: int, served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*asked, "caf\udce9"]) == code, capsys.readouterr()


def test_what_is_refused_for_another_reason_is_told_as_it_was(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["timeline", "nowhere", "--limit", "0"]) == 1
    assert "limit" in capsys.readouterr().err


def test_a_filter_that_nothing_fits_is_not_taken_for_an_empty_store(served: Served, told: Told) -> None:
    assert "begin one" in told("sessions")
    for narrowed in (["--search", "zebra"], ["--active", "5"], ["--archived"]):
        assert told("sessions", *narrowed) == "no session fits\n"


def test_programs_read_json(served: Served, told: Told) -> None:
    final = as_json(told, "agent", "-m", "what is a session?", "--agent", "main")
    assert "one conversation" in final["result"]["payloads"][0]["text"]
    assert as_json(told, "sessions")["count"] == 1
    assert as_json(told, "sessions", "show", "main")["key"] == "agent:main:main"
    assert as_json(told, "sessions", "history", "main")["totalMessages"] == 2
    assert as_json(told, "sessions", "search", "conversation")["results"][0]["role"] == "assistant"
    assert as_json(told, "sessions", "tree")["tree"]["key"] == "agent:main:main"
    assert as_json(told, "sessions", "cleanup", "--dry-run")["dryRun"] is True
    assert as_json(told, "status")["runtimeVersion"] == "1"
    assert as_json(told, "agents")["defaultId"] == "main"
    assert as_json(told, "models")["models"][0]["provider"] == "demo"
    assert as_json(told, "usage")["totals"]["calls"] == 1
    assert "Session:" in as_json(told, "explain")["reasons"][0]["text"]
    assert [one["about"] for one in as_json(told, "explain", "main", "Reset")["reasons"]] == ["reset"]
    assert len(as_json(told, "timeline")["messages"]) == 2
    assert as_json(told, "denials")["denials"] == []
    assert as_json(told, "ledger", "main")["totals"]["calls"] == 1
    assert as_json(told, "exchanges")["exchanges"] == []
    assert as_json(told, "send", "-m", "/status")["status"] == "started"
    assert json.loads(told("logs", "--json", "--limit", "1"))["level"] == "info"
    assert len(as_json(told, "sessions", "export", "main")["results"][0]["files"]) == 1
    assert as_json(told, "sessions", "archive", "main", "--undo")["ok"] is True
    assert all(one["well"] for one in as_json(told, "doctor", "--fix"))


def test_people_read_tables_and_lines(served: Served, told: Told) -> None:
    assert "has started" in told("agent", "-m", "spawn a helper to count to 5")
    assert "demo/demo" in told("models")
    assert "main" in told("agents")
    assert "tokens in" in told("usage")
    assert told("explain", "model").startswith("Model:")
    assert told("explain", "main", "route").startswith("Session: agent:main:main")
    assert told("explain", "agent:main:main").count(":") > 6
    assert told("explain", "route", "--session", "main").startswith("Session: agent:main:main")
    told("explain", "main", "weather", code=1)
    told("explain", "weather", code=1)
    assert "assistant: " in told("timeline", "main")
    early = told("timeline", "--limit", "1")
    assert "--before 1:" in early
    assert "user: " in told("timeline", "--before", early.split("--before ")[1].split(")")[0])
    assert "demo/demo" in told("ledger", "--tree", "main")
    assert "nothing was sent" in told("exchanges")
    assert "nothing was refused" in told("denials", "main")
    assert "taken as" in told("send", "-m", "/status", "--key", "k1")
    assert "INFO" in told("logs")
    assert "count to 5" in told("sessions", "search", "helper", "--session", "main")
    assert "nothing found" in told("sessions", "search", "zebra")
    assert "  agent:main:subagent:" in told("sessions", "tree")
    assert "with secrets as they are" in told("sessions", "export", "main", "--raw")
    assert "old enough" in told("sessions", "cleanup")
    assert "main" in told("sessions", "show", "main")
    assert "and more" in told("sessions", "--limit", "1")


def test_sessions_are_begun_anew_put_away_and_removed(served: Served, told: Told) -> None:
    told("agent", "-m", "hello", "--session", "old")
    assert "begins anew" in told("sessions", "reset", "old")
    assert "is archived" in told("sessions", "archive", "old")
    assert "agent:main:old" in told("sessions", "--archived")
    assert "is back" in told("sessions", "archive", "old", "--undo")
    assert told("sessions", "delete", "old", code=1) == ""
    assert "is gone" in told("sessions", "delete", "old", "--yes")
    told("sessions", "delete", "old", "--yes", code=1)
    told("sessions", "show", "old", code=1)
    told("sessions", "export", "old", code=1)
    assert as_json(told, "sessions")["count"] == 0
    told("sessions", "history", "old", code=1)


def test_what_cannot_be_removed_is_told_before_anybody_agrees(
    served: Served, told: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    told("agent", "-m", "hello")
    assert main(["sessions", "delete", "nope"]) == 1
    assert "no session nope" in capsys.readouterr().err
    assert main(["sessions", "delete", "main"]) == 1
    assert "never removed (reset it instead)" in capsys.readouterr().err
    assert main(["sessions", "search", " "]) == 1
    assert "nothing to search for" in capsys.readouterr().err


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("nodes show x", "there is no node x (`roost nodes` shows those there are)"),
        ("nodes invoke x camera.snap", "there is no node x (`roost nodes` shows those there are)"),
        ("cron add x -m go --every 0s", "a job cannot be due every 0s (write 90s, 30m, 2h or 1d)"),
    ],
)
def test_what_is_not_there_is_told_in_the_words_of_who_typed(
    command: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command.split()) == 1
    assert capsys.readouterr().err == f"roost: {said}\n"


def test_a_file_that_was_named_must_be_there(told: Told, tmp_path: Path) -> None:
    told("status", "--config", str(tmp_path / "nowhere.json"), code=1)
    told("config", "set", "gateway.port", "18790", "--config", str(tmp_path / "new.json"))
    assert told("config", "get", "gateway.port", "--config", str(tmp_path / "new.json")) == "18790\n"


def test_a_shell_can_complete(told: Told) -> None:
    assert "roost" in told("completion", "bash")


def test_what_retention_removes_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    swept = Cleaned(
        dryRun=True,
        mode="enforce",
        removed=["a"],
        archived=["b"],
        generations=0,
        events=0,
        records=0,
        stores=[],
    )
    digging.show_cleaned(swept)
    assert capsys.readouterr().out == "would remove  a\nwould archive  b\n"


@pytest.mark.requirement("D36")
@pytest.mark.parametrize("setting", ["store", "mirror"])
def test_transcripts_lie_where_they_are_configured_to(home: Path, told: Told, setting: str) -> None:
    before = (home / "roost.json").read_text().strip().removesuffix("}")
    (home / "roost.json").write_text(
        f'{before}, session: {{ {setting}: "agents/{{agentId}}/sessions/sessions.json" }} }}'
    )
    told("agent", "-m", "what is a session?")
    folder = home / "agents" / "main" / "sessions"
    (row,) = json.loads((folder / "sessions.json").read_text()).values()
    header, *entries = map(json.loads, (folder / f"{row['sessionId']}.jsonl").read_text().splitlines())
    assert (header["type"], header["id"]) == ("session", row["sessionId"])
    assert [entry["message"]["role"] for entry in entries if entry["type"] == "message"] == [
        "user",
        "assistant",
    ]
    assert "is gone" not in told("sessions", "delete", "main", "--yes", code=1)
    told("agent", "-m", "hello", "--session", "other")
    told("sessions", "delete", "other", "--yes")
    # A command that has to leave before its files are removed leaves them to the next one.
    for _ in range(20):
        if len(list(folder.glob("*.jsonl"))) == 1:
            return
        told("status")
    pytest.fail("the transcript of a session that is gone is still there")


@pytest.mark.requirement("D48")
def test_a_gateway_is_asked_by_its_address_and_token(
    served: Served, told: Told, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert served.token_file is not None
    there = ("--url", served.url, "--token", served.token_file.read_text().strip())
    monkeypatch.setenv("ROOST_HOME", str(tmp_path_factory.mktemp("elsewhere")))
    told("agent", "-m", "hello", *there)
    assert as_json(told, "status", *there)["sessions"]["count"] == 1
    assert as_json(told, "sessions", *there)["sessions"][0]["key"] == "agent:main:main"
    assert as_json(told, "sessions", *there)["limitApplied"] == MOST_ROWS
    assert as_json(told, "sessions", "--limit", "7", *there)["limitApplied"] == 7
    assert as_json(told, "sessions", "--active", "5", *there)["count"] == 1
    called = json.loads(told("gateway", "call", "sessions.list", '{"activeMinutes": 5}', *there))
    assert called["sessions"][0]["key"] == "agent:main:main"
    for command in (["status"], ["sessions", "--json"], ["gateway", "call", "sessions.list"]):
        told(*command, "--url", served.url, "--token", "wrong", code=1)


def test_a_session_of_another_agent_than_the_one_named_is_not_spoken_in(
    home: Path, told: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "roost.json").write_text('{ agents: { list: [{ id: "main" }, { id: "ops" }] } }')
    for more in ((), ("--json",)):
        assert main(("agent", "-m", "hi", "--session", "agent:ops:plan", "--agent", "main", *more)) == 1
        words = capsys.readouterr()
        assert "agent:ops:plan is a session of agent 'ops', not of 'main'" in words.out + words.err
    assert as_json(told, "sessions")["count"] == 0


def test_what_an_agent_that_is_gone_has_left_is_exported_archived_and_deleted(
    home: Path, told: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    key = "agent:ops:plan"
    (home / "roost.json").write_text('{ agents: { list: [{ id: "main" }, { id: "ops" }] } }')
    told("agent", "-m", "what is a session?", "--session", key)
    (home / "roost.json").write_text("{}")
    assert main(("agent", "-m", "and now?", "--session", key)) == 1
    assert "unknown agent id 'ops'" in capsys.readouterr().err
    assert "exported 1 file" in told("sessions", "export", key)
    assert "is archived" in told("sessions", "archive", key)
    assert "is gone" in told("sessions", "delete", key, "--yes")
    assert as_json(told, "sessions", "--archived")["count"] == 0


def test_what_is_not_there_is_not_archived(served: Served, told: Told) -> None:
    told("agent", "-m", "hello", "--session", "side")
    told("sessions", "archive", "typo", code=1)
    name = as_json(told, "sessions")["sessions"][0]["sessionId"]
    assert "agent:main:side is archived" in told("sessions", "archive", name)
    assert [row["key"] for row in as_json(told, "sessions", "--archived")["sessions"]] == ["agent:main:side"]


@pytest.fixture
def elsewhere(
    home: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], None]:
    """Go to another home, whose port nobody serves either."""

    def go() -> None:
        there = tmp_path_factory.mktemp("elsewhere")
        shutil.copy(home / "roost.json", there)
        monkeypatch.setenv("ROOST_HOME", str(there))

    return go


def test_what_was_exported_is_taken_in_elsewhere(told: Told, elsewhere: Callable[[], None]) -> None:
    told("agent", "-m", "what is a session?")
    folder = Path(told("sessions", "export", "main").split()[-1]).parent
    before = as_json(told, "sessions", "history", "main")["messages"]
    elsewhere()
    assert "nothing was kept" in told("sessions", "import", str(folder), "--dry-run")
    assert as_json(told, "sessions", "import", str(folder), "--key", "main")["complete"] is True
    after = as_json(told, "sessions", "history", "main")["messages"]
    assert [one["content"] for one in after] == [one["content"] for one in before]
    assert "1 already there" in told("sessions", "import", str(folder), "--agent", "main")


def test_save_points_are_made_compared_loaded_and_forgotten(served: Served, told: Told) -> None:
    told("agent", "-m", "what is a session?")
    assert "no save points yet" in told("sessions", "points")
    assert told("sessions", "points", "save", "early") == "saved early of agent:main:main\n"
    assert told("sessions", "points", "diff", "early") == "no difference\n"
    told("agent", "-m", "spawn a helper to count to 5")
    told("send", "-m", "/model demo/demo")
    told("sessions", "points", "save", "late", "--session", "main")
    assert "late" in told("sessions", "points", "list")
    shown = told("sessions", "points", "diff", "early", "late")
    assert "+ user: spawn a helper" in shown
    assert "+ child agent:main:subagent:" in shown
    assert "setting model  none → demo/demo" in shown
    assert "- … " in told("sessions", "points", "diff", "late", "early", "--limit", "1")
    key = told("sessions", "points", "load", "early").strip()
    assert as_json(told, "sessions", "show", key)["key"] == key
    assert "any more" in told("sessions", "points", "rm", "early")
    told("sessions", "points", "rm", "early", code=1)
    assert as_json(told, "sessions", "points", "save", "third")["point"]["name"] == "third"
    assert len(as_json(told, "sessions", "points")["points"]) == 2
    assert as_json(told, "sessions", "points", "diff", "late", "third")["model"] is None
    assert as_json(told, "sessions", "points", "load", "third")["ok"] is True
    assert as_json(told, "sessions", "points", "rm", "third")["name"] == "third"


def test_who_names_no_session_is_told_that_the_main_one_has_no_save_points(
    served: Served, told: Told
) -> None:
    told("agent", "-m", "what is a session?", "--session", "work")
    told("sessions", "points", "save", "early", "--session", "work")
    told("agent", "-m", "what is a run?")
    for command in (("sessions", "points"), ("sessions", "points", "list")):
        assert told(*command).startswith("the main session has no save points yet: ")
        assert "`--session KEY` names another session" in told(*command)
    told("sessions", "points", "rm", "early", "--session", "work")
    assert told("sessions", "points", "--session", "work") == (
        "work has no save points yet: `roost sessions points save NAME --session work` makes one\n"
    )


def test_a_session_is_taken_elsewhere_in_one_file(
    told: Told, home: Path, tmp_path: Path, elsewhere: Callable[[], None]
) -> None:
    file = tmp_path / "x.zip"
    told("agent", "-m", "what is a session?")
    assert f"agent:main:main → {file}: 1 session, 1 transcript, 1 call" in told(
        "sessions", "bundle", "main", str(file)
    )
    told("sessions", "bundle", "main", str(file), code=1)
    assert as_json(told, "sessions", "bundle", "main", f"{file}2")["lines"] == 3
    told("sessions", "unbundle", str(file), code=1)
    assert "forked x.zip → agent:main:explicit:imported-" in told("sessions", "unbundle", str(file), "--fork")
    elsewhere()
    assert "nothing was kept" in told("sessions", "unbundle", str(file), "--dry-run")
    assert as_json(told, "sessions", "unbundle", str(file))["entries"] == 2
    assert "assistant: A session is" in told("sessions", "history", "main")
    told("sessions", "unbundle", str(home / "roost.json"), code=1)
