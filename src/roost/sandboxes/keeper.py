"""A process of its own around one program: whatever the program starts ends with it, or with whoever asked for it.

Run by its path, without the rest of Roost. Its input is a socket to whoever asked: when that is closed, also because
the other side was killed, everything ends. All that the program leaves behind becomes a child of this process, however
it was detached, so nothing alive is missed. How the program ended is written to the socket.
"""

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

ADOPT_ORPHANS = 36
"""`PR_SET_CHILD_SUBREAPER` of prctl(2)."""
CONTROL = 0
WATCH_S = 0.02
LESS_URGENT = 10
PAGE = resource.getpagesize()


class Order(NamedTuple):
    """What the program gets and may use; a limit of None is none. It runs for `longest_s` at most. `rlimits` are numbers of setrlimit(2) with values;
    `free_disk` must stay free where `disk` lies."""

    environment: dict[str, str]
    longest_s: float
    asked_s: float
    killed_s: float
    rlimits: tuple[tuple[int, int], ...] = ()
    processes: int | None = None
    memory: int | None = None
    disk: str = "/"
    free_disk: int | None = None

    @property
    def watched(self) -> bool:
        return not (self.processes is self.memory is self.free_disk is None)


class Report(NamedTuple):
    """How it ended: a status, a signal's number below zero, or None if it had to be left. `excess` names a limit of
    the order; `refused` says why it did not begin."""

    status: int | None = None
    timed_out: bool = False
    excess: str | None = None
    refused: str | None = None


class _Row(NamedTuple):
    """What /proc says of a process."""

    alive: bool
    parent: int
    threads: int
    memory: int


class Keeper:
    def __init__(self, order: Order) -> None:
        self._order = order
        self._first = 0
        self._status: int | None = None
        self._timed_out = False
        self._asked_to_end: set[int] = set()
        self._news = self._wake_on_signals()

    def run(self, argv: list[str]) -> Report:
        """Run a program to its end, and then end what it left."""
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(ADOPT_ORPHANS, 1, 0, 0, 0) or not os.path.exists(
            f"/proc/self/task/{os.getpid()}/children"
        ):
            return Report(refused="the kernel does not tell who started what")
        try:
            for number, value in self._order.rlimits:
                _limit(number, value)
            self._first = os.posix_spawn(
                argv[0],
                argv,
                self._order.environment,
                file_actions=((os.POSIX_SPAWN_OPEN, CONTROL, os.devnull, os.O_RDONLY, 0),),
                setsid=True,
                # What Python ignores, a program should not.
                setsigdef=(signal.SIGPIPE, signal.SIGXFSZ),
            )
        except (OSError, ValueError) as error:
            return Report(refused=str(error))
        if self._order.watched:
            # Whoever watches must get its turn, however many there are to watch.
            os.setpriority(os.PRIO_PROCESS, self._first, LESS_URGENT)
        excess = self._watch()
        self._end(asks=excess is None)
        return Report(status=self._status, timed_out=self._timed_out, excess=excess)

    # -- while it runs -------------------------------------------------------------------------------

    def _wake_on_signals(self) -> int:
        read, write = os.pipe()
        os.set_blocking(read, False)
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        return read

    def _watch(self) -> str | None:
        """Return when the program has ended or has to, with the limit that it passed."""
        until = time.monotonic() + self._order.longest_s
        while not self._ended():
            left = until - time.monotonic()
            self._timed_out = left <= 0
            if self._timed_out or self._asked(min(left, WATCH_S) if self._order.watched else left):
                break
            if self._order.watched and (excess := self._excess()):
                return excess
        return None

    def _asked(self, pause: float) -> bool:
        """Wait for news; whether it is the word to end."""
        ready, _, _ = select.select([CONTROL, self._news], [], [], pause)
        return CONTROL in ready or bool(set(self._signals()) - {signal.SIGCHLD})

    def _signals(self) -> bytes:
        with contextlib.suppress(BlockingIOError):
            return os.read(self._news, 4096)
        return b""

    def _ended(self) -> bool:
        """Whether the program itself has ended. What it left and has ended since is buried; the program is not, so
        that its number, which is also its group's, can mean nobody else."""
        while found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if found.si_pid == self._first:
                return True
            os.waitpid(found.si_pid, 0)
        return False

    def _excess(self) -> str | None:
        order = self._order
        if order.free_disk is not None:
            disk = os.statvfs(order.disk)
            if disk.f_bavail * disk.f_frsize < order.free_disk:
                return "free_disk"
        members: list[tuple[int, _Row]] = []
        threads = 0
        for pid, row in _below(os.getpid()):
            members.append((pid, row))
            threads += row.threads
            # At once: looking at all would take as long as there are more and more of them.
            if order.processes is not None and threads > order.processes:
                return "processes"
        if order.memory is not None and sum(row.memory for _, row in members) > order.memory:
            # What several share was counted for each.
            shares = sum(_share(pid, row) for pid, row in members)
            return "memory" if shares > order.memory else None
        return None

    # -- the end -------------------------------------------------------------------------------------

    def _end(self, *, asks: bool) -> None:
        """Ask, then kill, until none is left. The bound is for what the kernel itself does not let go."""
        steps = [(signal.SIGKILL, self._order.killed_s)]
        if asks:
            steps.insert(0, (signal.SIGTERM, self._order.asked_s))
        for number, seconds in steps:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                if not self._signal(number) and self._bury():
                    return
                select.select([self._news], [], [], WATCH_S)
                self._signals()

    def _signal(self, number: signal.Signals) -> bool:
        """Ask each once, or kill; whether any is alive. The group is killed first: meanwhile it cannot grow."""
        if self._status is None and number is signal.SIGKILL:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._first, number)
        found = False
        for pid, row in _below(os.getpid()):
            found = found or row.alive
            if row.alive and (number is signal.SIGKILL or pid not in self._asked_to_end):
                self._asked_to_end.add(pid)
                _send(pid, row.parent, number)
        return found

    def _bury(self) -> bool:
        """Whether everyone has ended."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == self._first:
                    self._status = os.waitstatus_to_exitcode(status)
                if pid == 0:
                    return False
        return True


def _limit(number: int, value: int) -> None:
    """At most so much, and never more than there was."""
    most = resource.getrlimit(number)[1]
    value = value if most == resource.RLIM_INFINITY else min(value, most)
    resource.setrlimit(number, (value, value))


def _below(pid: int) -> Iterator[tuple[int, _Row]]:
    """All that a process has started, those first that started others."""
    waiting = [pid]
    for parent in waiting:
        for child in _children(parent):
            if row := _row(child):
                waiting.append(child)
                yield child, row


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                found += map(int, file.read().split())
    return found


def _row(pid: int) -> _Row | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    # The name, in brackets, may hold anything; fields are counted behind it.
    fields = text.rpartition(b")")[2].split()
    return _Row(fields[0] not in (b"Z", b"X"), int(fields[1]), int(fields[17]), int(fields[21]) * PAGE)


def _share(pid: int, row: _Row) -> int:
    """Its memory, with its part of what it shares; none if it has ended meanwhile."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            lines = file.read().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    except OSError:
        return row.memory
    shares = (int(line.split()[1]) << 10 for line in lines if line.startswith(b"Pss:"))
    return next(shares, row.memory)


def _send(pid: int, parent: int, number: signal.Signals) -> None:
    """Signal this very process: its descriptor cannot come to mean another that got the same number."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        descriptor = os.pidfd_open(pid)
        try:
            now = _row(pid)
            if now is not None and now.parent in (parent, os.getpid()):
                signal.pidfd_send_signal(descriptor, number)
        finally:
            os.close(descriptor)


def main(argv: list[str]) -> None:
    order = Order(**json.loads(argv[1]))
    report = Keeper(order).run(argv[2:])
    # Nobody may be there to read it.
    with contextlib.suppress(OSError):
        os.write(CONTROL, json.dumps(report._asdict()).encode())


if __name__ == "__main__":
    main(sys.argv)
