"""What is said of a gateway that goes away, and what is done meanwhile."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from roost.cli.absence import AWAY, BACK, Watch
from roost.config import from_environment
from roost.testing.scripts import Hang, Say
from tests import forks
from tests.unit.cli.terminals import KEPT, Terminal
from tests.unit.cli.test_chat import answering


def test_a_loss_and_the_return_are_told_on_the_error_output(capsys: pytest.CaptureFixture[str]) -> None:
    after: list[str] = []
    watch = Watch(lambda: after.append(capsys.readouterr().err))
    absence = watch.absence()
    stood: list[bool] = []
    for happens in (absence.lost, absence.back):
        happens()
        stood.append(watch.away)
        watch.remind()
    assert stood == [True, False]
    assert after == [f"{AWAY}\n", f"{AWAY}\n", f"{BACK}\n"]


def environ(home: Path) -> dict[str, str]:
    around = from_environment().environ
    return {**{name: around[name] for name in KEPT if name in around}, "ROOST_HOME": str(home)}


@contextmanager
def gateway(home: Path, *options: str) -> Iterator[BaseProcess]:
    """One that listens, in a process of its own, until it is killed."""
    ours, theirs = os.pipe()
    process = forks.started(
        "roost", "gateway", "run", *options, streams=(0, theirs, 2), environ=environ(home)
    )
    os.close(theirs)
    with open(ours) as said:
        try:
            # Before it listens it may wait for the lease of one that was killed.
            assert any("listens on" in line for line in said)
            yield process
        finally:
            process.kill()
            process.join()


@pytest.fixture
def endless(home: Path) -> Iterator[None]:
    """One who begins an answer and does not end it, and does when asked again."""
    with answering(home, (Say("Once upon a time"), Hang()), (Say("The end."),)):
        yield


@pytest.mark.usefixtures("endless")
def test_an_interrupt_while_the_gateway_is_away_leads_back_to_the_prompt(home: Path) -> None:
    with gateway(home) as running, Terminal(["chat"], {"ROOST_HOME": str(home)}) as terminal:
        terminal.shows("main> ")
        terminal.types("tell me a long story\n")
        terminal.shows("Once upon a time")
        running.kill()
        terminal.shows(AWAY)
        terminal.types("\x03")
        terminal.shows("nothing more was heard: the gateway is away")
        terminal.shows("main> ")
        terminal.types("/switch other\n")
        terminal.shows(AWAY)
        terminal.types("\x03")
        terminal.shows("other> ")
        terminal.types("/quit\n")
        assert terminal.ends() == 0


def test_the_prompt_and_what_is_typed_stand_under_what_is_said_of_the_gateway(home: Path) -> None:
    with gateway(home) as running, Terminal(["chat"], {"ROOST_HOME": str(home)}) as terminal:
        terminal.shows("main> ")
        terminal.types("/switch oth")
        terminal.shows("/switch oth")
        running.kill()
        terminal.shows(f"\r\n{AWAY}\r\nmain> /switch oth")
        with gateway(home):
            terminal.shows(f"\r\n{BACK}\r\nmain> /switch oth")
            terminal.types("er\n")
            terminal.shows("a new session other begins")
            terminal.shows("other> ")
            terminal.types("\x04")
            assert terminal.ends() == 0


@pytest.mark.usefixtures("endless")
def test_a_gateway_that_takes_over_on_another_port_is_found_and_the_answer_is_heard(home: Path) -> None:
    with gateway(home) as running:
        asking = subprocess.Popen(
            [sys.executable, "-m", "roost", "agent", "-m", "tell me a long story"],
            env=environ(home),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert asking.stdout is not None
        assert os.read(asking.stdout.fileno(), 1_000).startswith(b"Once")
        running.kill()
    assert asking.stderr is not None
    assert asking.stderr.readline() == f"{AWAY}\n"
    with gateway(home, "--port", "0"):
        out, err = asking.communicate(timeout=60)
    assert err == f"{BACK}\n"
    assert "The end." in out
    assert asking.returncode == 0
