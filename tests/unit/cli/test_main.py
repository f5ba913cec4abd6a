"""Which part of the `roost` command is asked for, and how it ends."""

import subprocess
import sys
from pathlib import Path

import pytest

from roost import __version__
from roost.cli.main import PARTS, WRONG, application, main, refused
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
        (("status", "--bogus"), "Unknown option: --bogus (see `roost status --help`)"),
        (("nonsense",), "Unknown command "),
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


def test_an_error_that_is_not_roosts_own_is_not_made_to_look_like_one() -> None:
    failed = ExceptionGroup("outer", [Fenced("lost"), ValueError("a defect")])
    with pytest.raises(ExceptionGroup, match="outer"):
        refused(failed)


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
