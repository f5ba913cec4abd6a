"""The `roost` command as processes: a gateway that runs, and commands that find it."""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

import anyio
import pytest

import roost
from roost.client import Answer, Delta, Gap
from roost.protocol.families.sessions import LISTEN
from roost.server.listening import bind

ROOST = (sys.executable, "-m", "roost")
TIMEOUT_S = 60
BUDGETS_S = {"--version": 0.150, "--help": 0.350}


class Processes:
    """A home, and the commands that are started in it."""

    def __init__(self, home: Path) -> None:
        with bind("127.0.0.1", 0) as free:
            self.port = free.getsockname()[1]
        self.home = home
        (home / "roost.json").write_text(f"{{ gateway: {{ port: {self.port} }} }}")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ROOST_")}  # noqa: TID251 — what a person starts it with
        self.environ = {**kept, "ROOST_HOME": str(home), "NO_COLOR": "1"}

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        return (self.home / "gateway.token").read_text().strip()

    def start(self, *arguments: str, errors: TextIO | None = None) -> "subprocess.Popen[str]":
        """A gateway that listens."""
        command = [*ROOST, "gateway", "run", *arguments]
        process = subprocess.Popen(
            command, env=self.environ, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        assert process.stdout is not None
        assert "listens on" in process.stdout.readline()
        return process

    def stop(self, process: "subprocess.Popen[str]") -> None:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0

    def run(self, *arguments: str, typed: str = "") -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*ROOST, *arguments],
            env=self.environ,
            input=typed,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )

    def told(self, *arguments: str, typed: str = "") -> str:
        ran = self.run(*arguments, typed=typed)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout


@pytest.fixture
def processes(tmp_path: Path) -> Processes:
    return Processes(tmp_path)


@pytest.fixture
def gateway(processes: Processes) -> Iterator[Processes]:
    process = processes.start()
    yield processes
    processes.stop(process)


@pytest.mark.requirement("S26")
def test_a_gateway_in_clear_text_says_so_at_its_start_and_is_found_by_the_audit(
    processes: Processes, tmp_path: Path
) -> None:
    """The file alone says loopback."""
    processes.home.chmod(0o700)
    file = processes.home / "roost.json"
    file.write_text(f"{{ gateway: {{ port: {processes.port}, dangerouslyAllowClearText: true }} }}")
    file.chmod(0o600)
    assert processes.told("security", "audit") == "Nothing was found.\n"
    with (tmp_path / "errors.txt").open("w+") as errors:
        process = processes.start("--bind", "lan", errors=errors)
        try:
            audited = processes.run("security", "audit", "--json")
            told = processes.told("gateway", "call", "security.audit")
        finally:
            processes.stop(process)
        errors.seek(0)
        said = errors.read()
    danger = "gateway.dangerouslyAllowClearText: credentials and chats cross the network in clear text"
    assert danger in said
    assert danger in (processes.home / "logs" / "gateway.log").read_text()
    assert audited.returncode == 1
    for found in (json.loads(audited.stdout), json.loads(told)):
        assert [one["checkId"] for one in found["findings"]] == ["gateway.bind_clear_text"]


def test_commands_find_the_gateway_that_runs(gateway: Processes) -> None:
    assert "one conversation" in gateway.told("agent", "--message", "what is a session?")
    rows = json.loads(gateway.told("sessions", "--json"))["sessions"]
    assert [row["key"] for row in rows] == ["agent:main:main"]
    assert "Session: agent:main:main" in gateway.told("chat", typed="/status\n")
    assert "agent:main:main" in gateway.told("status", "--url", gateway.url, "--token", gateway.token)
    wrong = gateway.run("status", "--token", "wrong")
    assert wrong.returncode == 1
    assert "--token" in wrong.stderr


def test_sessions_of_a_gateway_elsewhere_are_exported_here_put_away_and_removed(
    gateway: Processes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for name in ("one", "two"):
        gateway.told("agent", "-m", "what is a session?", "--session", name)
    own, to = tmp_path_factory.mktemp("own"), tmp_path_factory.mktemp("to")
    before = {file for file in gateway.home.rglob("*") if file.suffix == ".jsonl"}
    there = ("--url", gateway.url, "--token", gateway.token, "--json")
    gateway.environ["ROOST_HOME"] = str(own)
    found = json.loads(gateway.told("sessions", "export", "one", "two", "--to", str(to), *there))
    assert [one["key"] for one in found["results"]] == ["agent:main:one", "agent:main:two"]
    written = [Path(file) for one in found["results"] for file in one["files"]]
    assert sorted(to.rglob("*.jsonl")) == sorted(written)
    for file in written:
        assert "what is a session?" in file.read_text()
        assert file.stat().st_mode & 0o777 == 0o600
    assert {file for file in gateway.home.rglob("*") if file.suffix == ".jsonl"} == before
    assert not (gateway.home / "exports").exists()
    assert json.loads(gateway.told("sessions", "archive", "one", "two", *there))["ok"] is True
    ran = gateway.run("sessions", "delete", "one", "nowhere", "--yes", *there)
    assert (ran.returncode, json.loads(ran.stdout)["ok"]) == (1, False)
    left = json.loads(gateway.told("sessions", "--archived", *there))["sessions"]
    assert [row["key"] for row in left] == ["agent:main:two"]


def test_without_a_gateway_everything_works_and_failures_are_one_line(processes: Processes) -> None:
    assert "one conversation" in processes.told("agent", "-m", "what is a session?")
    ran = processes.run("gateway", "health")
    assert ran.returncode == 3
    assert ran.stderr.count("\n") == 1


async def test_a_client_goes_on_when_its_gateway_begins_anew(processes: Processes) -> None:
    process = await anyio.to_thread.run_sync(processes.start)
    with anyio.fail_after(TIMEOUT_S):
        async with roost.Client(processes.url, token=processes.token) as client:
            await client.call(LISTEN, {"key": "main"})
            with client.events() as heard:
                await anyio.to_thread.run_sync(processes.stop, process)
                process = await anyio.to_thread.run_sync(processes.start)
                async for item in heard:
                    if isinstance(item, Gap):
                        break
                pieces = [piece async for piece in client.chat("what is a session?")]
                assert isinstance(pieces[0], Delta)
                assert isinstance(pieces[-1], Answer)
                names = [getattr(item, "name", "") for item in _waiting(heard)]
            assert "session.message" in names
    await anyio.to_thread.run_sync(processes.stop, process)


def _waiting(heard: object) -> Sequence[object]:
    stream = heard._from  # type: ignore[attr-defined]
    return [stream.receive_nowait() for _ in range(stream.statistics().current_buffer_used)]


@pytest.mark.parametrize("flag", list(BUDGETS_S))
def test_it_starts_within_its_budget(processes: Processes, flag: str) -> None:
    spent = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        processes.told(flag)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    sys.stdout.write(f"roost {flag}: {min(spent) * 1000:.0f} ms of CPU\n")
    assert min(spent) <= 2 * BUDGETS_S[flag]
