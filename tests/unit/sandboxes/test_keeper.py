"""The keeper as a process of its own, as it is meant to be; measured where the suite is."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import coverage
import pytest

from roost.sandboxes import keeper
from roost.sandboxes.keeper import Order, Report
from tests.unit.sandboxes.programs import NAP, alive

PLAIN = Order(environment={"PATH": "/usr/bin:/bin"}, longest_s=30, asked_s=0.3, killed_s=5)
GREEDY = "x=$(head -c 9000000 /dev/zero | tr '\\0' a)"


def _measured() -> tuple[str, ...]:
    current = coverage.Coverage.current()
    if current is None:
        return ()
    file = os.path.abspath(current.config.data_file)
    folder = os.path.dirname(keeper.__file__)
    options = ("--rcfile=", "--parallel-mode", "--branch", f"--source={folder}", f"--data-file={file}")
    return ("-m", "coverage", "run", *options)


class Kept:
    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket) -> None:
        self.process, self.control = process, control

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().decode().strip()

    def report(self) -> Report:
        self.process.wait(30)
        return Report(**json.loads(self.control.recv(65536)))


@contextmanager
def kept(text: str, order: Order = PLAIN, *, program: str = "/bin/sh") -> Iterator[Kept]:
    control, theirs = socket.socketpair()
    words = (sys.executable, *_measured(), keeper.__file__, json.dumps(order._asdict()))
    with (
        control,
        theirs,
        subprocess.Popen(
            (*words, program, "-c", text),
            stdin=theirs.fileno(),
            stdout=subprocess.PIPE,
            start_new_session=True,
        ) as process,
    ):
        theirs.close()
        yield Kept(process, control)


@pytest.mark.parametrize(("text", "status"), [("exit 7", 7), ("kill -9 $$", -9), ("true", 0)])
def test_it_reports_how_the_program_ended(text: str, status: int) -> None:
    with kept(text) as one:
        assert one.report() == Report(status=status)


def test_a_program_that_cannot_begin_is_reported() -> None:
    with kept("", program="/no/such/program") as one:
        assert "No such file" in (one.report().refused or "")


def test_orphans_are_buried_while_the_program_runs() -> None:
    look = "for i in 1 2 3 4 5; do (true &); done; sleep 0.3; grep -c . /proc/$PPID/task/$PPID/children"
    with kept(look) as one:
        assert one.line() == "1"
        assert one.report() == Report(status=0)


@pytest.mark.requirement("P27")
def test_when_the_socket_closes_everything_ends_however_it_was_detached() -> None:
    script = f"trap '' TERM; {NAP} & env -i setsid {NAP} & (env -i setsid sh -c '(setsid {NAP} &)' &); echo begun; wait"
    with kept(script) as one:
        assert one.line() == "begun"
        one.control.shutdown(socket.SHUT_WR)
        assert one.report() == Report(status=-9)
        assert alive(NAP) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_end_ends_the_program_too(number: signal.Signals) -> None:
    with kept(f"trap 'echo cleaned; exit 3' TERM; echo begun; {NAP} & wait") as one:
        assert one.line() == "begun"
        one.process.send_signal(number)
        assert one.line() == "cleaned"
        assert one.report() == Report(status=3)
        assert alive(NAP) == []


def test_a_program_out_of_time_is_asked_and_then_ended() -> None:
    script = f"trap 'echo cleaned' TERM; while :; do {NAP} & wait; done"
    with kept(script, PLAIN._replace(longest_s=0.3)) as one:
        assert one.report() == Report(status=-9, timed_out=True)
        assert one.line() == "cleaned"
        assert alive(NAP) == []


def test_what_the_program_leaves_is_ended_before_the_report() -> None:
    with kept(f"setsid {NAP} >/dev/null & exit 4") as one:
        assert one.report() == Report(status=4)
        assert alive(NAP) == []


def test_the_program_gets_the_environment_of_the_order_and_default_signals() -> None:
    with kept("env; grep SigIgn /proc/self/status", PLAIN._replace(environment={"ONLY": "this"})) as one:
        lines = {one.line() for _ in range(3)}
        assert one.report().status == 0
    assert "ONLY=this" in lines
    ignored = next(int(line.split()[1], 16) for line in lines if line.startswith("SigIgn"))
    assert not ignored & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1)


def test_more_processes_than_allowed_end_it() -> None:
    with kept(f"for i in 1 2 3 4 5; do {NAP} & done; wait", PLAIN._replace(processes=3)) as one:
        assert one.report() == Report(status=-9, excess="processes")
        assert alive(NAP) == []


def test_more_memory_than_allowed_ends_it_and_less_does_not() -> None:
    with kept(f"{GREEDY}; {NAP}", PLAIN._replace(memory=8_000_000)) as one:
        assert one.report() == Report(status=-9, excess="memory")
    with kept("sleep 0.1", PLAIN._replace(memory=1 << 30)) as one:
        assert one.report() == Report(status=0)


def test_memory_that_is_shared_counts_once() -> None:
    both = f"{GREEDY}; sleep 0.3 & (sleep 0.3; :) & (sleep 0.3; :) & (sleep 0.3; :) & wait"
    with kept(both, PLAIN._replace(memory=30_000_000)) as one:
        assert one.report() == Report(status=0)


def test_a_disk_that_fills_up_ends_it(tmp_path: Path) -> None:
    with kept(NAP, PLAIN._replace(disk=str(tmp_path), free_disk=1 << 60)) as one:
        assert one.report().excess == "free_disk"
    with kept("sleep 0.1", PLAIN._replace(disk=str(tmp_path), free_disk=1)) as one:
        assert one.report() == Report(status=0)


def test_limits_of_each_process_are_set_and_never_raised() -> None:
    limits = ((resource.RLIMIT_NOFILE, 33), (resource.RLIMIT_CORE, 1 << 40))
    with kept("ulimit -n; ulimit -H -c", PLAIN._replace(rlimits=limits)) as one:
        assert one.line() == "33"
        assert one.line() in ("0", str((1 << 40) // 512))


def test_nobody_has_to_read_the_report() -> None:
    with kept("sleep 0.2") as one:
        one.control.close()
        assert one.process.wait(30) == 0


def test_of_a_process_that_has_ended_meanwhile_nothing_is_counted() -> None:
    with subprocess.Popen(["true"]) as ended:
        ended.wait(60)
    row = keeper._Row(True, os.getpid(), 1, 5_000_000)
    assert keeper._share(ended.pid, row) == 0
