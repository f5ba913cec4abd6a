"""`kill -9` of a process that runs a command: nothing that the command started outlives it."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from roost.core.tools import Place
from roost.sandboxes.bubblewrap import Bubblewrap
from roost.sandboxes.processes import Patience
from roost.tools.exec import Exec
from tests.parts import NeedPart
from tests.unit.sandboxes.programs import NAP, alive, moments
from tests.unit.tools.calls import call

QUICK = Patience(asked_s=0.3)
DETACHED = (
    f"{NAP} &",
    f"nohup {NAP} >/dev/null 2>&1 &",
    f"env -i setsid {NAP} >/dev/null 2>&1 &",
    f"(env -i setsid sh -c '(setsid {NAP} &) ; exit' >/dev/null 2>&1 &)",
    f"(trap '' TERM HUP INT; exec setsid {NAP} &)",
)


async def run(place: Place, command: str) -> None:
    await call(Exec(Bubblewrap(patience=QUICK), sandboxed=place.sandboxed), place, command=command)


@contextmanager
def gateway(place: Place, command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of its own that runs a command."""
    program = (
        "import anyio\n"
        "from tests.faults.test_exec_kill import Place, run\n"
        f"place = Place(workspace={place.workspace!r}, sandboxed={place.sandboxed})\n"
        f"anyio.run(run, place, {command!r})\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], cwd=Path(__file__).parents[2]) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.requirement("P27")
@pytest.mark.parametrize(
    ("sandboxed", "rest"),
    [(False, f"trap '' TERM; while :; do {NAP}; done"), (True, f"exec {NAP}")],
    ids=["open", "sandboxed"],
)
async def test_every_process_of_a_command_ends_when_the_gateway_is_killed(
    tmp_path: Path, need_part: NeedPart, rest: str, *, sandboxed: bool
) -> None:
    if sandboxed:
        need_part("bubblewrap", present=shutil.which("bwrap") is not None, remedy="apt install bubblewrap")
    place = Place(workspace=str(tmp_path), sandboxed=sandboxed)
    with anyio.fail_after(60), gateway(place, "\n".join((*DETACHED, rest))) as process:
        async for _ in moments():
            if alive(NAP).count(NAP) == len(DETACHED) + 1:
                break
        process.send_signal(signal.SIGKILL)
        async for _ in moments():
            if not alive(NAP):
                break
