"""What the command costs on a machine of its own: words, a first answer from a large store, memory at rest, and the end."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.figures import Figure, within
from bench.gateways import model_process
from bench.model_process import HANGS
from bench.reads import fill_sessions
from bench.scale import size
from roost.client import Client
from roost.config import from_environment

ROUNDS, FOR_NOTHING = size(5), size(1, 0)
TICK = os.sysconf("SC_CLK_TCK")


def environment(folder: Path) -> Mapping[str, str]:
    """As installed: with compiled modules; those that are not are compiled in the first round."""
    around = dict(from_environment().environ)
    around.pop("PYTHONDONTWRITEBYTECODE", None)
    return {**around, "ROOST_HOME": str(folder / "home")}


def cpu_of(arguments: Sequence[str], environ: Mapping[str, str]) -> float:
    """CPU milliseconds of a command, the best of several after one for nothing."""
    found = []
    for _ in range(FOR_NOTHING + ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-m", "roost", *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            env=environ,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found[FOR_NOTHING:]) * 1000


def cpu_so_far(process: int) -> float:
    """CPU milliseconds of a process that runs."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK * 1000


def memory_of(process: int) -> float:
    """Megabytes that a process has in memory."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


@contextmanager
def running(environ: Mapping[str, str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A gateway, and where it listens."""
    command = [sys.executable, "-m", "roost", "gateway", "run", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as gateway:
        assert gateway.stdout is not None
        yield gateway, gateway.stdout.readline().partition(" listens on ")[2].partition(";")[0]
        gateway.terminate()
        gateway.communicate()


def stop_of(gateway: subprocess.Popen[str]) -> float:
    """Seconds from being told to stop until it has."""
    began = time.perf_counter()
    gateway.send_signal(signal.SIGTERM)
    gateway.wait()
    return time.perf_counter() - began


async def stop_in_a_turn(environ: Mapping[str, str], home: Path) -> float:
    """With a call of a model under way that never ends."""
    with model_process() as url:
        provider = {"baseUrl": url, "api": "openai-completions", "apiKey": "key", "models": [{"id": HANGS}]}
        settings = {
            "agents": {"defaults": {"model": f"bench/{HANGS}"}},
            "models": {"providers": {"bench": provider}},
        }
        (home / "roost.json").write_text(json.dumps(settings))
        with running(environ) as (gateway, address):
            async with Client(address, token=(home / "gateway.token").read_text().strip()) as client:
                sent = {"sessionKey": "main", "message": "Hello?", "idempotencyKey": "hangs"}
                await client.call("chat.send", sent)
                # Long enough for the model to be asked.
                await client.call("agent.wait", {"runId": "hangs", "timeoutMs": 1_000})
            return stop_of(gateway)


async def measure(folder: Path) -> list[Figure]:
    environ, home = environment(folder), folder / "home"
    home.mkdir(mode=0o700)
    fill_sessions(home / "roost.db", size(100_000, 100))
    figures = [
        within("roost --version", cpu_of(["--version"], environ), 150, "ms CPU"),
        within("roost --help", cpu_of(["--help"], environ), 350, "ms CPU"),
    ]
    for _ in range(FOR_NOTHING):
        with running(environ):
            # Its modules are compiled now.
            pass
    with running(environ) as (gateway, url):
        token = (home / "gateway.token").read_text().strip()
        async with Client(url, token=token) as client:
            await client.call("health")
            begun, at_rest = cpu_so_far(gateway.pid), memory_of(gateway.pid)
        listed = cpu_of(["sessions", "list", "--url", url, "--token", token], environ)
        ended = stop_of(gateway)
    cut_off = await stop_in_a_turn(environ, home)
    return [
        *figures,
        within("roost sessions list, of a gateway", listed, 500, "ms CPU"),
        within("start to first health, 100,000 sessions", begun, 1_500, "ms CPU"),
        within("memory at rest, 100,000 sessions", at_rest, 120, "MB"),
        within("graceful stop", ended, 5, "s"),
        within("graceful stop, a model hanging", cut_off, 5, "s"),
    ]
