"""All processes that one program started, found in /proc (Linux).

A process belongs when it is in the program's session or group, when it carries the program's mark in its
environment (also after `setsid` or `nohup`), or when its parent belongs. What was found once stays known
until it is gone. Only a process that dropped the mark, left the session and outlived its parent before
anybody looked is missed; in a sandbox the pid namespace has no such gap.
"""

import os
import signal
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_PROC = Path("/proc")
MARK = "ROOST_RUN"


@dataclass(frozen=True, slots=True)
class _Process:
    """A row of /proc; number and start together name a process for ever."""

    pid: int
    start: int
    parent: int = field(compare=False)
    group: int = field(compare=False)
    session: int = field(compare=False)


class Family:
    """The living processes of the program whose first process is `leader`, a session of its own."""

    def __init__(self, leader: int, mark: str) -> None:
        self._leader = leader
        self._mark = f"{MARK}={mark}".encode()
        self._known: frozenset[_Process] = frozenset()
        self._told: set[tuple[_Process, signal.Signals]] = set()

    def signal(self, number: signal.Signals) -> bool:
        """Send a signal to each that has not had it from here; whether any is alive."""
        members = self._members()
        for member in members:
            if (member, number) not in self._told:
                self._told.add((member, number))
                _send(member, number)
        return bool(members)

    def _members(self) -> list[_Process]:
        running = [
            found for entry in _PROC.iterdir() if entry.name.isdigit() and (found := _process(entry.name))
        ]
        own = {one.pid: one for one in running if self._belongs(one)}
        grown = True
        while grown:
            children = {one.pid: one for one in running if one.parent in own and one.pid not in own}
            own |= children
            grown = bool(children)
        self._known = frozenset(own.values())
        return list(own.values())

    def _belongs(self, one: _Process) -> bool:
        return (
            self._leader in (one.pid, one.group, one.session)
            or one in self._known
            or self._mark in _environment(one.pid)
        )


def _process(pid: str) -> _Process | None:
    """What /proc says about a process that is alive: a zombie runs nothing and holds nothing."""
    try:
        text = (_PROC / pid / "stat").read_bytes()
    except OSError:
        return None
    # The name, in brackets, may hold anything; fields are counted behind it.
    fields = text.rpartition(b")")[2].split()
    if fields[0] in (b"Z", b"X"):
        return None
    return _Process(
        pid=int(pid),
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        start=int(fields[19]),
    )


def _environment(pid: int) -> list[bytes]:
    try:
        return (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _send(member: _Process, number: signal.Signals) -> None:
    """Signal this very process: its descriptor cannot come to mean another that got the same number."""
    with suppress(ProcessLookupError, PermissionError):
        descriptor = os.pidfd_open(member.pid)
        try:
            now = _process(str(member.pid))
            if now == member:
                signal.pidfd_send_signal(descriptor, number)
        finally:
            os.close(descriptor)
