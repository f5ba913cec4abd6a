"""What a sandboxed command may use of the machine, tried with the real bubblewrap and programs that want more."""

import os
import shutil
from pathlib import Path

import pytest

from roost.core.tools import Place, ProgramLimits, ToolOutcome, WorkspaceAccess
from roost.sandboxes.bubblewrap import Bubblewrap
from roost.sandboxes.processes import Patience
from roost.tools.exec import Exec
from tests.parts import NeedPart
from tests.unit.sandboxes.programs import NAP, alive
from tests.unit.tools.calls import call, error_of, text_of

MB = 1 << 20
# Doubles until 8,000 are there: enough to tell a limit, and no danger where there is none.
BOMB = f'bomb() {{ [ "$1" -gt 0 ] && {{ bomb $(($1-1)) & bomb $(($1-1)) & }}; {NAP}; }}; bomb 12'


@pytest.fixture
def workspace(tmp_path: Path, need_part: NeedPart) -> Path:
    need_part("bubblewrap", present=shutil.which("bwrap") is not None, remedy="apt install bubblewrap")
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


async def run(
    workspace: Path, limits: ProgramLimits, command: str, access: WorkspaceAccess = WorkspaceAccess.WRITE
) -> ToolOutcome:
    place = Place(workspace=str(workspace), access=access, sandboxed=True, limits=limits)
    return await call(
        Exec(Bubblewrap(patience=Patience(asked_s=0.3)), sandboxed=True), place, command=command
    )


async def test_a_fork_bomb_is_stopped_and_nothing_of_it_is_left(workspace: Path) -> None:
    outcome = await run(workspace, ProgramLimits(processes=50), BOMB)
    assert "[stopped: it had more processes and threads than its sandbox allows" in error_of(outcome)
    assert alive(NAP) == []


async def test_threads_count_like_processes(workspace: Path) -> None:
    program = (
        "import threading, time\nfor _ in range(100): threading.Thread(target=time.sleep, args=(60,)).start()"
    )
    (workspace / "many.py").write_text(program)
    outcome = await run(workspace, ProgramLimits(processes=50), "/usr/bin/python3 many.py")
    assert "more processes and threads" in error_of(outcome)


async def test_a_process_gets_no_more_memory_than_the_limit(workspace: Path) -> None:
    hog = "/usr/bin/python3 -c 'x = bytearray(600 << 20)' 2>&1 | tail -1; echo after"
    outcome = await run(workspace, ProgramLimits(memory=256 * MB), hog)
    assert text_of(outcome) == "MemoryError\nafter\n"


async def test_processes_that_need_too_much_memory_together_are_stopped(workspace: Path) -> None:
    hog = "/usr/bin/python3 -c 'import time; x = bytearray(40 << 20); time.sleep(60)' &"
    outcome = await run(workspace, ProgramLimits(memory=100 * MB), f"{hog} {hog} {hog} {hog} wait")
    assert "[stopped: it used more memory than its sandbox allows" in error_of(outcome)


async def test_memory_that_processes_share_is_counted_once(workspace: Path) -> None:
    program = (
        "import os, time\n"
        "x = bytearray(60 << 20)\n"
        "x[:] = b'1' * len(x)\n"
        "for _ in range(4):\n"
        "    if os.fork() == 0: time.sleep(0.5); os._exit(0)\n"
        "for _ in range(4): os.wait()\n"
        "print('well')\n"
    )
    (workspace / "forks.py").write_text(program)
    assert (
        text_of(await run(workspace, ProgramLimits(memory=200 * MB), "/usr/bin/python3 forks.py")) == "well\n"
    )


@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm", "."])
async def test_what_lies_in_memory_is_bounded_too(workspace: Path, folder: str) -> None:
    fill = f"head -c 40000000 /dev/zero > {folder}/fill; echo $?; wc -c < {folder}/fill"
    outcome = await run(workspace, ProgramLimits(memory=16 * MB), fill, WorkspaceAccess.NONE)
    assert text_of(outcome).splitlines()[-2:] == ["1", str(16 * MB)]


async def test_there_is_nothing_else_to_write_to(workspace: Path) -> None:
    script = "for d in / /dev /proc /usr /run; do head -c 1 /dev/zero > $d/fill && echo $d; done 2>/dev/null"
    assert (
        text_of(await run(workspace, ProgramLimits(), f"{script}; true", WorkspaceAccess.NONE))
        == "[exit status 0]"
    )


async def test_a_file_does_not_grow_beyond_the_limit(workspace: Path) -> None:
    fill = "yes > big; test -e big && echo stopped"
    outcome = await run(workspace, ProgramLimits(file_size=MB), fill)
    assert "stopped" in text_of(outcome)
    assert (workspace / "big").stat().st_size == MB


async def test_a_command_that_fills_the_disk_with_many_files_is_stopped(workspace: Path) -> None:
    disk = os.statvfs(workspace)
    left = disk.f_bavail * disk.f_frsize - 64 * MB
    fill = "i=0; while [ $i -lt 400 ]; do head -c 4000000 /dev/zero > f$i; i=$((i+1)); sleep 0.01; done"
    outcome = await run(workspace, ProgramLimits(free_disk=left), fill)
    assert "[stopped: the disk is nearly full" in error_of(outcome)
    only_reads = await run(
        workspace, ProgramLimits(free_disk=1 << 60), "sleep 0.3; echo well", WorkspaceAccess.READ
    )
    assert text_of(only_reads) == "well\n"


async def test_open_files_and_processor_time_are_bounded(workspace: Path) -> None:
    opened = (
        "/usr/bin/python3 -c 'import os\nwhile True: print(os.open(\"/dev/null\", 0))' 2>/dev/null | tail -1"
    )
    assert text_of(await run(workspace, ProgramLimits(open_files=40), opened)) == "39\n"
    spin = "sh -c 'while :; do :; done'; echo $?"
    assert text_of(await run(workspace, ProgramLimits(cpu_seconds=1), spin)).splitlines()[-1] in (
        "137",
        "152",
    )


async def test_ordinary_work_fits_into_the_limits_that_are_the_default(workspace: Path) -> None:
    limits = ProgramLimits(
        processes=256,
        memory=2048 * MB,
        open_files=1024,
        file_size=1024 * MB,
        cpu_seconds=1800,
        free_disk=MB,
    )
    script = "for i in 1 2 3 4 5 6 7 8; do (seq 20000 | sort -r | tail -1 > r$i) & done; wait; cat r*; /usr/bin/python3 -c 'print(2)'"
    assert text_of(await run(workspace, limits, script)).split() == ["1"] * 8 + ["2"]
