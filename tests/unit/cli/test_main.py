"""Which part of the `roost` command is asked for, and how it ends."""

import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest

from roost import __version__
from roost.app.serving import Served
from roost.cli.main import PARTS, UNREACHABLE, WRONG, application, as_data, main, refused
from roost.config import from_environment
from roost.core.errors import Fenced, NotFound
from tests.imported import imported


def test_by_itself_it_says_what_is_there_and_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    assert "roost gateway run" in capsys.readouterr().out
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"roost {__version__}\n"


@pytest.mark.parametrize(
    ("loaded", "unneeded"),
    [
        (
            "roost.cli.sessions",
            ("roost.config", "roost.protocol.methods", "roost.core.messages", "rich.console"),
        ),
        ("roost.cli.asking", ("roost.config", "roost.protocol.methods", "rich.console")),
        ("roost.cli.gateway", ("roost.config", "roost.client", "pydantic")),
        ("roost.cli.serve", ("roost.client", "httpx2", "rich.console")),
    ],
)
def test_a_command_loads_nothing_that_it_does_not_need(loaded: str, unneeded: tuple[str, ...]) -> None:
    assert sorted(imported(loaded) & set(unneeded)) == []


def test_help_says_where_an_endpoint_is_to_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["onboard", "--help"]) == 0
    assert "Where an OpenAI-compatible endpoint" in " ".join(capsys.readouterr().out.split())


def test_a_refused_configuration_is_named_and_nothing_is_opened(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "roost.json").write_text("{ session: { rest: {} } }")
    assert main() == 1
    said = capsys.readouterr().err
    assert "session.rest" in said
    assert "reset" in said
    assert not (home / "roost.db").exists()


def test_another_file_can_be_named(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "other.json").write_text("{ wrong: 1 }")
    assert main(["overview", "--config", str(home / "other.json")]) == 1
    assert "other.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("sessions", "nonsense"), "`roost sessions` does not know nonsense (see `roost sessions --help`)"),
        (("sessions", "shwo"), "`roost sessions` does not know shwo: did you mean show? (see"),
        (("cron", "remove"), "`roost cron` does not know remove: did you mean rm? (see"),
        (("status", "--bogus"), "Unknown option: --bogus (see `roost status --help`)"),
        (("nonsense",), "Unknown command "),
        (("sessions", "history"), "`roost sessions history` needs KEY (see `roost sessions history --help`)"),
        (("send",), "`roost send` needs --message (see"),
        (("send", "-m"), "`roost send` needs a value for -m (see"),
    ],
)
def test_what_it_does_not_know_is_told_in_one_line_with_where_to_look(
    words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == WRONG
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"roost: {told}")
    assert line.endswith("--help`)")


def test_errors_are_told_once_and_without_the_tasks_they_happened_in(
    capsys: pytest.CaptureFixture[str],
) -> None:
    inner: Exception = ExceptionGroup("inner", [Fenced("the lease is lost")])
    assert (
        refused(ExceptionGroup("outer", [inner, Fenced("the lease is lost"), NotFound("no such run")])) == 1
    )
    assert capsys.readouterr().err == "roost: the lease is lost\nroost: no such run\n"


@pytest.mark.parametrize(
    ("words", "ends", "code"),
    [
        (("gateway", "health"), UNREACHABLE, "unreachable"),
        (("config", "get", "session.nonsense"), 1, "not_found"),
        (("sessions", "shwo"), WRONG, "invalid_input"),
        (("chat",), 1, "invalid_input"),
    ],
)
def test_a_program_is_told_what_went_wrong_in_one_line_of_json(
    words: tuple[str, ...], ends: int, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main((*words, "--json")) == ends
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    found = json.loads(line)
    assert found["error"].keys() == {"code", "message", "hint"}
    assert found["error"]["code"] == code
    assert found["error"]["hint"]


@pytest.mark.parametrize(
    ("words", "as_json"),
    [
        (("sessions", "shwo", "--json=true"), True),
        (("sessions", "shwo", "--", "--json"), False),
    ],
)
def test_a_program_is_who_asks_for_json_as_an_option(
    words: tuple[str, ...], as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == WRONG
    assert capsys.readouterr().err.startswith("{") is as_json


def test_a_program_is_told_in_letters_that_every_error_output_can_write(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert refused(NotFound("no session Zoë 🦉"), as_data) == 1
    line = capsys.readouterr().err
    assert line.isascii()
    assert json.loads(line)["error"]["message"] == "no session Zoë 🦉"


def test_of_several_errors_a_program_is_told_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    full = OSError(errno.ENOSPC, "No space left on device", "/home/gateway.token")
    assert refused(ExceptionGroup("outer", [full, NotFound("no such run")]), as_data) == 1
    assert json.loads(capsys.readouterr().err) == {
        "error": {
            "code": "machine",
            "message": "no space is left on the disk: /home/gateway.token",
            "hint": "make room, and do it again",
        }
    }


def test_an_error_that_is_not_roosts_own_is_not_made_to_look_like_one() -> None:
    failed = ExceptionGroup("outer", [Fenced("lost"), ValueError("a defect")])
    with pytest.raises(ExceptionGroup, match="outer"):
        refused(failed)


def test_what_a_disk_refuses_is_told_in_a_line_also_from_within_tasks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    full = OSError(errno.ENOSPC, "No space left on device", "/home/gateway.token")
    assert refused(ExceptionGroup("outer", [ExceptionGroup("inner", [full]), full])) == 1
    assert capsys.readouterr().err == (
        "roost: no space is left on the disk: /home/gateway.token (make room, and do it again)\n"
    )
    with pytest.raises(ConnectionResetError):
        refused(ConnectionResetError(errno.ECONNRESET, "a defect"))


def test_where_no_gateway_answers_the_exit_code_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gateway", "health"]) == 3
    assert "roost gateway run" in capsys.readouterr().err


def test_an_interrupt_ends_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("roost.config.source.ConfigSource.read", interrupted)
    assert main(["overview"]) == 130


def test_a_command_that_is_not_there_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in (["mend"], ["gateway", "run", "--port", "x"], ["agent"]):
        assert main(wrong) == 2
    assert main(["gateway", "run", "--port", "70000"]) == 1
    assert main(["gateway", "run", "--bind", "moon"]) == 1
    assert "loopback" in capsys.readouterr().err
    assert not (home / "roost.db").exists()


def test_every_part_is_where_the_list_says() -> None:
    app = application()
    assert all(app[name].help for name in PARTS)


@pytest.mark.parametrize("command", ["config schema --json", "sessions --json", "config schema"])
def test_who_reads_no_further_hears_no_more(home: Path, command: str) -> None:
    around = {**from_environment().environ, "ROOST_HOME": str(home)}
    with subprocess.Popen(
        [sys.executable, "-m", "roost", *command.split()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=around,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 1


def ended(home: Path, line: str) -> "subprocess.CompletedProcess[str]":
    """What a shell makes of a line in which `roost` is the command."""
    around = {**from_environment().environ, "ROOST_HOME": str(home)}
    return subprocess.run(
        ["sh", "-c", line.replace("roost", f"{sys.executable} -m roost")],
        capture_output=True,
        text=True,
        env=around,
        check=False,
    )


@pytest.mark.parametrize("command", ["--version", "config schema", "models"])
def test_output_that_finds_no_room_is_told_in_a_line(home: Path, command: str) -> None:
    told = ended(home, f"roost {command} > /dev/full")
    assert told.stderr == "roost: no space is left on the disk (make room, and do it again)\n"
    assert told.returncode == 1


def test_a_gateway_that_finds_no_room_says_so_in_a_line_and_begins_when_there_is_some(home: Path) -> None:
    before = sorted(home.iterdir())
    told = ended(home, "ulimit -f 0; roost gateway run")
    assert told.stderr == (
        f"roost: a file may not become so large: {home / 'gateway.token'} (see `ulimit -a`)\n"
    )
    assert told.returncode == 1
    assert sorted(home.iterdir()) == before


def test_a_setting_that_finds_no_room_changes_nothing(home: Path) -> None:
    before = {file: file.read_text() for file in home.iterdir()}
    told = ended(home, "ulimit -f 0; roost config set session.dmScope per-peer")
    assert told.stderr == f"roost: a file may not become so large: {home / 'roost.json'} (see `ulimit -a`)\n"
    assert told.returncode == 1
    assert {file: file.read_text() for file in home.iterdir()} == before


def test_what_a_gateway_says_to_do_has_a_field_of_its_own(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["gateway", "drain", "nobody", "--json"]) == 1
    told = json.loads(capsys.readouterr().err)["error"]
    assert told["hint"] == "`roost status` lists those that there are"
    assert told["hint"] not in told["message"]
