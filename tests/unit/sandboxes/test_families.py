import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from roost.sandboxes.families import MARK, Family


@contextmanager
def program(mark: str, *, new_session: bool) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        ["/bin/sh", "-c", "echo ready; exec sleep 100"],
        env={MARK: mark, "PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        start_new_session=new_session,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


def test_a_marked_process_in_another_session_belongs() -> None:
    with program("one", new_session=True) as process:
        assert Family(999_999_999, "one").signal(signal.SIGTERM)
        assert process.wait(5) == -signal.SIGTERM


def test_a_process_of_another_mark_is_a_stranger() -> None:
    with program("one-and-more", new_session=True) as process:
        assert not Family(999_999_999, "one").signal(signal.SIGKILL)
        assert process.poll() is None


def test_the_leader_belongs_until_it_has_ended() -> None:
    with program("x", new_session=True) as process:
        family = Family(process.pid, "y")
        assert family.signal(signal.SIGKILL)
        process.wait(5)
        assert not family.signal(signal.SIGKILL)


def test_a_signal_is_sent_once_to_each() -> None:
    with program("x", new_session=True) as process:
        family = Family(process.pid, "x")
        assert family.signal(signal.SIGCONT)
        assert family.signal(signal.SIGCONT)
        assert process.poll() is None
