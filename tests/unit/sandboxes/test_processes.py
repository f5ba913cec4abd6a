import os
from pathlib import Path

import anyio
import pytest

from roost.core.errors import Forbidden, InvalidInput
from roost.core.tools import Excess, Place, ProgramLimits
from roost.ports import Ended, ToolCommand
from roost.sandboxes.processes import Patience, Processes, Program, run_program
from tests.unit.sandboxes.programs import NAP, alive, descriptors, shell, zombies

QUICK = Patience(asked_s=0.3, killed_s=5, drained_s=1)


@pytest.fixture
def where(tmp_path: Path) -> Place:
    return Place(workspace=str(tmp_path))


async def test_a_program_runs_in_its_folder_and_tells_its_status(where: Place) -> None:
    assert await shell(Processes(), where, "pwd; echo wrong >&2; exit 7") == (
        Ended(status=7),
        f"{where.workspace}\nwrong\n",
    )


@pytest.mark.requirement("S24")
async def test_a_program_gets_the_given_environment_and_no_other(
    where: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET_OF_THE_GATEWAY", "planted")
    _, text = await shell(Processes(), where, "env")
    names = {line.partition("=")[0] for line in text.splitlines()}
    assert names <= {"PATH", "PWD", "SHLVL", "_", "OLDPWD"}


async def test_a_program_gets_no_input_and_none_of_our_descriptors(where: Place) -> None:
    held = os.open(where.workspace, os.O_RDONLY)
    os.set_inheritable(held, True)
    try:
        _, text = await shell(Processes(), where, "cat; ls /proc/self/fd")
    finally:
        os.close(held)
    assert text.split() == ["0", "1", "2", "3"]


async def test_a_signal_that_ends_it_is_no_status(where: Place) -> None:
    ended, _ = await shell(Processes(), where, "kill -9 $$")
    assert ended == Ended(status=None)


async def test_a_program_that_kills_its_keeper_was_ended_by_a_signal(where: Place) -> None:
    assert await shell(Processes(), where, "kill -9 $PPID; sleep 0.1") == (Ended(status=None), "")


async def test_a_keeper_that_does_nothing_more_is_given_up(where: Place) -> None:
    patience = Patience(asked_s=0.1, killed_s=0.1, drained_s=0.1, kept_s=0.3)
    with anyio.fail_after(60):
        ended, _ = await shell(Processes(patience), where, "kill -STOP $PPID; exec sleep 2", timeout_ms=300)
    assert ended == Ended(status=None)


async def test_a_program_that_passes_a_limit_is_stopped_for_it(tmp_path: Path) -> None:
    program = Program(
        argv=("/bin/sh", "-c", f"{NAP} & {NAP} & wait"),
        folder=str(tmp_path),
        environment=(),
        timeout_ms=20_000,
        limits=ProgramLimits(processes=2),
    )
    ended = await run_program(program, lambda _: None, QUICK)
    assert ended == Ended(status=None, excess=Excess.PROCESSES)
    assert alive(NAP) == []


async def test_a_program_out_of_time_is_stopped_with_what_it_wrote_kept(where: Place) -> None:
    ended, text = await shell(Processes(QUICK), where, f"echo begun; {NAP}", timeout_ms=200)
    assert ended == Ended(status=None, timed_out=True)
    assert text == "begun\n"
    assert alive(NAP) == []


async def test_a_program_that_ignores_being_asked_is_killed(where: Place) -> None:
    text = f"trap '' TERM INT HUP; while :; do {NAP}; done"
    with anyio.fail_after(60):
        ended, _ = await shell(Processes(QUICK), where, text, timeout_ms=200)
    assert ended.timed_out
    assert alive(NAP) == []


async def test_a_program_that_is_asked_may_clean_up(where: Place) -> None:
    text = f"trap 'echo cleaned; exit 0' TERM; {NAP} & wait"
    _, written = await shell(Processes(), where, text, timeout_ms=300)
    assert written == "cleaned\n"


@pytest.mark.requirement("P27")
@pytest.mark.parametrize(
    "text",
    [
        f"{NAP} &",
        f"setsid {NAP} &",
        f"nohup setsid sh -c '{NAP} & {NAP}' >/dev/null 2>&1 &",
        f"(setsid sh -c 'trap \"\" TERM; {NAP}; {NAP}' &)",
    ],
    ids=["behind", "a session of its own", "without a terminal", "deaf to being asked"],
)
async def test_what_is_left_in_the_background_ends_with_the_program(where: Place, text: str) -> None:
    with anyio.fail_after(60):
        ended, _ = await shell(Processes(QUICK), where, f"{text}\nsleep 0.2")
    assert ended == Ended(status=0)
    assert alive(NAP) == []


@pytest.mark.requirement("P27")
async def test_being_cancelled_ends_everything_before_it_returns(where: Place) -> None:
    begun = anyio.Event()
    command = ToolCommand(
        argv=("/bin/sh", "-c", f"env -i setsid {NAP} & setsid {NAP} & echo begun; wait"),
        place=where,
        folder=where.workspace,
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Processes(QUICK).run, command, lambda _: begun.set())
        await begun.wait()
        tasks.cancel_scope.cancel()
    assert alive(NAP) == []
    assert zombies() == []


async def test_a_flood_is_handed_on_without_being_kept(where: Place) -> None:
    sizes: list[int] = []
    command = ToolCommand(
        argv=("/bin/sh", "-c", "head -c 20000000 /dev/zero"), place=where, folder=where.workspace
    )
    await Processes().run(command, lambda data: sizes.append(len(data)))
    assert sum(sizes) == 20_000_000
    assert max(sizes) <= 65_536


async def test_nothing_of_many_programs_is_left(where: Place) -> None:
    await shell(Processes(), where, "true")
    before = descriptors()
    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(shell, Processes(), where, "setsid true & echo x")
    assert descriptors() == before
    assert zombies() == []


@pytest.mark.parametrize("argv", [("/no/such/program",), ("/bin/sh", "a\0b")])
async def test_a_program_that_cannot_be_started_is_told(where: Place, argv: tuple[str, ...]) -> None:
    command = ToolCommand(argv=argv, place=where, folder=where.workspace)
    with pytest.raises(InvalidInput, match="cannot be started"):
        await Processes().run(command, lambda _: None)


async def test_a_sandboxed_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Forbidden, match="sandbox only") as refusal:
        await shell(Processes(), Place(workspace=str(tmp_path), sandboxed=True), "true")
    assert "bubblewrap" in refusal.value.hint
