"""`python -m roost` is the `roost` command."""

import gc
import runpy
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.config import from_environment
from roost.server.listening import bind


@pytest.fixture(autouse=True)
def at_a_free_port(tmp_path: Path) -> None:
    """Whoever runs the tests may have a gateway of his own at the usual one."""
    with bind("127.0.0.1", 0) as free:
        (tmp_path / "roost.json").write_text(f"{{ gateway: {{ port: {free.getsockname()[1]} }} }}")


@pytest.fixture
def usual() -> Iterator[tuple[int, int, int]]:
    """How often the collector runs in the process of the tests; what it does when interrupted is put back too."""
    found, heard = gc.get_threshold(), signal.getsignal(signal.SIGINT)
    yield found
    gc.set_threshold(*found)
    signal.signal(signal.SIGINT, heard)


@pytest.mark.filterwarnings("ignore:'roost.__main__' found in sys.modules:RuntimeWarning")
def test_it_runs_as_a_module(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    usual: tuple[int, int, int],
) -> None:
    monkeypatch.setenv("ROOST_HOME", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["roost"])
    with Path("/dev/null").open(encoding="utf-8") as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        with pytest.raises(SystemExit) as ended:
            runpy.run_module("roost", run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("Roost ")
    assert gc.get_threshold()[0] > usual[0], "loading is not interrupted"


def interrupted_after(loaded: str, home: Path, *begin: str) -> tuple[int, str]:
    """How a command ends, and what it says, that is interrupted when this module was loaded."""
    with subprocess.Popen(
        [*begin, sys.executable, "-X", "importtime", "-m", "roost", "sessions"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**from_environment().environ, "ROOST_HOME": str(home)},
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.rpartition("|")[2].strip() == loaded:
                process.send_signal(signal.SIGINT)
                break
        said = [line for line in process.stderr if not line.startswith("import time:")]
        return process.wait(), "".join(said)


@pytest.mark.parametrize("loaded", ["attr", "cyclopts", "roost.cli.show", "roost.server.house"])
def test_an_interrupt_while_a_command_loads_ends_it_quietly(tmp_path: Path, loaded: str) -> None:
    assert interrupted_after(loaded, tmp_path) == (130, "")


def test_where_interrupts_are_ignored_they_stay_so(tmp_path: Path) -> None:
    assert interrupted_after("attr", tmp_path, "sh", "-c", "trap '' INT; exec \"$@\"", "sh") == (0, "")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("sessions >&-", 0),
        ("config get session.dmScope --json >&-", 0),
        ("send -m hello <&- >&- 2>&-", 0),
        ("nonsense 2>&-", 2),
        ("onboard <&- >&-", 0),
    ],
)
def test_what_is_closed_is_written_nowhere_and_read_as_empty(tmp_path: Path, line: str, code: int) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m roost {line}', sys.executable],
        capture_output=True,
        text=True,
        env={**from_environment().environ, "ROOST_HOME": str(tmp_path)},
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


def test_what_is_no_text_is_read_and_what_cannot_be_shown_is_written_with_a_mark_in_its_place(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "roost", "chat"],
        input=b"caf\xe9\nwhat is a session?\n",
        capture_output=True,
        env={**from_environment().environ, "ROOST_HOME": str(tmp_path), "PYTHONIOENCODING": "ascii"},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"one conversation" in done.stdout
