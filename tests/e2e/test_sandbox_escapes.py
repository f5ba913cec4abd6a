"""Ways out of the sandbox, tried against the real bubblewrap through the tools an agent has."""

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from roost.core.jsonvalue import JsonValue
from roost.core.tools import Place, ToolOutcome, WorkspaceAccess
from roost.ports import Tool
from roost.sandboxes.bubblewrap import Bubblewrap
from roost.sandboxes.processes import Patience
from roost.tools.edit import Edit
from roost.tools.exec import Exec
from roost.tools.list_files import ListFiles
from roost.tools.read import Read
from roost.tools.write import Write
from tests.parts import NeedPart
from tests.unit.sandboxes.programs import NAP, alive, descriptors, zombies
from tests.unit.tools.calls import call, error_of, invocation, text_of

SECRET = "a-secret-that-must-stay-outside"  # planted
BYSTANDER = str(800_000_000 + os.getpid())

# Root can do without user namespaces, where a machine has none.
CONFINEMENTS = ("strictest", "without user namespaces") if os.geteuid() == 0 else ("strictest",)
NO_USER_NAMESPACES = """#!/bin/sh
case "$1" in --unshare-user) exit 1 ;; esac
exec bwrap "$@"
"""


@pytest.fixture
def workspace(tmp_path: Path, need_part: NeedPart) -> Path:
    """A workspace in a folder that also holds what nobody inside may see."""
    need_part("bubblewrap", present=shutil.which("bwrap") is not None, remedy="apt install bubblewrap")
    (tmp_path / "secret.txt").write_text(SECRET)
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "notes.txt").write_text("inside")
    return folder


@pytest.fixture(params=CONFINEMENTS)
def tool(request: pytest.FixtureRequest, tmp_path: Path) -> Exec:
    program = "bwrap"
    if request.param != "strictest":
        (tmp_path / "bwrap").write_text(NO_USER_NAMESPACES)
        (tmp_path / "bwrap").chmod(0o755)
        program = str(tmp_path / "bwrap")
    return Exec(Bubblewrap(program, Patience(asked_s=0.3)), sandboxed=True)


def confined(
    workspace: Path, access: WorkspaceAccess = WorkspaceAccess.WRITE, *, network: bool = False
) -> Place:
    return Place(workspace=str(workspace), access=access, sandboxed=True, network=network)


async def run(tool: Tool, workspace: Path | Place, command: str, **more: JsonValue) -> ToolOutcome:
    where = confined(workspace) if isinstance(workspace, Path) else workspace
    return await call(tool, where, command=command, **more)


async def said(tool: Tool, workspace: Path | Place, command: str) -> str:
    return text_of(await run(tool, workspace, command))


async def test_ordinary_work_is_possible_inside(tool: Exec, workspace: Path) -> None:
    script = "cat notes.txt; echo done > made.txt; touch /tmp/x && ls /tmp/x; sh -c 'exit 3'"
    outcome = await run(tool, workspace, script)
    assert text_of(outcome) == "inside/tmp/x\n[exit status 3]"
    assert (workspace / "made.txt").read_text() == "done\n"


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "{outside}/secret.txt",
        "/proc/self/root{outside}/secret.txt",
        "/proc/1/root{outside}/secret.txt",
        "/proc/1/cwd{outside}/secret.txt",
        "/proc/self/cwd/../secret.txt",
    ],
)
async def test_a_file_beside_the_workspace_cannot_be_read_or_written(
    tool: Exec, workspace: Path, path: str
) -> None:
    target = path.format(outside=workspace.parent)
    outcome = await run(
        tool, workspace, f"cat {target}; echo changed > {target}; rm -f {target}; mv {target} x"
    )
    assert SECRET not in text_of(outcome)
    assert (workspace.parent / "secret.txt").read_text() == SECRET


async def test_a_link_out_leads_nowhere_inside_and_is_refused_by_the_file_tools(
    tool: Exec, workspace: Path
) -> None:
    (workspace / "link").symlink_to(workspace.parent / "secret.txt")
    assert SECRET not in await said(tool, workspace, "cat link; ln -s ../secret.txt other; cat other")
    for name in ("link", "other"):
        assert "leads out" in error_of(await call(Read(), confined(workspace), path=name))
        assert "leads out" in error_of(await call(Write(), confined(workspace), path=name, content="changed"))
    assert (workspace.parent / "secret.txt").read_text() == SECRET


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "made/../../secret.txt",
        "{outside}/secret.txt",
        "/proc/self/environ",
        "/proc/self/cwd/../secret.txt",
        "link",
        "folder/secret.txt",
    ],
)
@pytest.mark.parametrize(
    ("tool_of", "more"),
    [
        (Read, {}),
        (Write, {"content": "changed"}),
        (Edit, {"oldText": SECRET, "newText": "changed"}),
        (ListFiles, {}),
    ],
)
async def test_no_file_tool_leaves_the_workspace_by_any_path(
    workspace: Path, path: str, tool_of: type[Tool], more: dict[str, JsonValue]
) -> None:
    (workspace / "made").mkdir()
    (workspace / "link").symlink_to("../secret.txt")
    (workspace / "folder").symlink_to("..")
    outcome = await call(tool_of(), confined(workspace), path=path.format(outside=workspace.parent), **more)
    assert SECRET not in error_of(outcome)
    assert (workspace.parent / "secret.txt").read_text() == SECRET


async def test_a_link_swapped_from_inside_while_a_file_tool_reads_never_leads_out(
    tool: Exec, workspace: Path
) -> None:
    swap = (
        f"while :; do ln -sfn {workspace.parent} d; rm -f d; mkdir d && echo in > d/secret.txt; "
        "rm -rf d; done 2>/dev/null"
    )
    seen = set()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, tool, workspace, swap)
        for _ in range(500):
            seen.add(text_of(await call(Read(), confined(workspace), path="d/secret.txt")))
        tasks.cancel_scope.cancel()
    assert not any(SECRET in text for text in seen)


async def test_the_hosts_files_and_homes_are_not_there(tool: Exec, workspace: Path) -> None:
    home = Path.home()
    text = await said(
        tool, workspace, f"ls -A / {home} /home /root /var /srv /etc/shadow /etc/passwd /run 2>&1; true"
    )
    assert ".ssh" not in text
    assert not {"var", "srv", "root", "home", "boot"} & set(text.split())
    assert "cannot access '/etc/shadow'" in text


async def test_nothing_outside_the_workspace_and_tmp_can_be_written(tool: Exec, workspace: Path) -> None:
    script = "for d in / /usr /usr/bin /etc /proc/sys/kernel /dev /var .. ; do touch $d/planted 2>/dev/null && echo $d; done"
    # /dev and the folders that lead to the workspace are the sandbox's own and gone with it.
    assert set((await said(tool, workspace, f"{script}; true")).split()) <= {"/dev", ".."}
    assert "planted" not in os.listdir("/dev")
    assert not (workspace.parent / "planted").exists()


@pytest.mark.requirement("S24")
async def test_no_environment_of_the_gateway_is_visible(
    tool: Exec, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROOST_PLANTED_KEY", SECRET)
    text = await said(tool, workspace, "env; cat /proc/*/environ /proc/1/environ | tr '\\0' '\\n'")
    assert SECRET not in text
    names = {line.partition("=")[0] for line in text.splitlines() if "=" in line}
    assert names <= {
        "PATH",
        "HOME",
        "LANG",
        "TERM",
        "ROOST_SHELL",
        "ROOST_USER",
        "PWD",
        "OLDPWD",
        "SHLVL",
        "_",
    }


async def test_what_the_gateway_has_open_is_not_open_inside(tool: Exec, workspace: Path) -> None:
    held = os.open(workspace.parent / "secret.txt", os.O_RDWR)
    os.set_inheritable(held, True)
    try:
        text = await said(
            tool, workspace, "for f in /proc/[0-9]*/fd/*; do timeout 1 cat $f; done; ls /proc/self/fd"
        )
    finally:
        os.close(held)
    assert SECRET not in text
    assert text.split()[-4:] == ["0", "1", "2", "3"]


async def test_the_kernel_is_not_read_or_changed_through_proc(tool: Exec, workspace: Path) -> None:
    script = (
        "for f in kcore kmsg sys/kernel/core_pattern sys/kernel/modprobe sys/vm/drop_caches sysrq-trigger; do"
        " (: >> /proc/$f) 2>/dev/null && echo $f opened; done; head -c 1 /proc/kcore 2>/dev/null | wc -c"
    )
    assert await said(tool, workspace, script) == "0\n"


@contextmanager
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the same user outside the sandbox."""
    with subprocess.Popen(["/bin/sleep", BYSTANDER], start_new_session=True) as process:
        try:
            yield process
        finally:
            process.kill()


async def test_processes_of_the_host_cannot_be_seen_signalled_or_traced(tool: Exec, workspace: Path) -> None:
    with bystander() as process:
        # Only the bystander: what is tried here must do no harm where it succeeds.
        tried = f"kill -9 {process.pid}; kill -9 -- -{process.pid}; kill -0 {os.getpid()} && echo reached"
        assert "reached" not in await said(tool, workspace, tried)
        assert process.poll() is None
        assert BYSTANDER not in await said(tool, workspace, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
        trace = f"import ctypes; print(ctypes.CDLL(None).ptrace(16, {process.pid}, 0, 0))"
        assert await said(tool, workspace, f'python3 -c "{trace}" || echo -1') != "0\n"


@contextmanager
def listening() -> Iterator[tuple[int, list[bytes]]]:
    """A server on the host's loopback, and what reached it."""
    reached: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        stop = threading.Event()

        def serve() -> None:
            while not stop.is_set():
                try:
                    connection, _ = server.accept()
                except TimeoutError:
                    continue
                with connection:
                    connection.settimeout(5)
                    reached.append(connection.recv(100))

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1], reached
        finally:
            stop.set()
            thread.join()


async def test_a_server_on_the_hosts_loopback_is_reached_only_with_network(
    tool: Exec, workspace: Path
) -> None:
    with listening() as (port, reached):
        command = (
            f"bash -c 'echo hello > /dev/tcp/127.0.0.1/{port}' 2>/dev/null && echo connected || echo refused"
        )
        assert await said(tool, workspace, command) == "refused\n"
        assert reached == []
        assert await said(tool, confined(workspace, network=True), command) == "connected\n"
    assert reached == [b"hello\n"]


async def test_mounting_device_nodes_and_further_namespaces_are_refused(tool: Exec, workspace: Path) -> None:
    script = (
        "mount -t tmpfs none /tmp && echo mounted; mount -o remount,rw /usr && echo remounted; umount /usr && echo un; "
        "mknod disk b 8 0 && echo made; mknod zero c 1 5 && echo made; "
        "unshare -Urm true && echo unshared; chroot / true && echo rooted; test -w /proc/sysrq-trigger && echo sysrq; "
        "grep -E '^Cap(Prm|Eff|Bnd):' /proc/self/status"
    )
    lines = (await said(tool, workspace, script)).splitlines()
    assert not {"mounted", "remounted", "un", "made", "unshared", "rooted", "sysrq"} & set(lines)
    assert [line.split()[1] for line in lines if line.startswith(("CapPrm", "CapEff"))] == ["0" * 16] * 2


@pytest.mark.requirement("P27")
@pytest.mark.parametrize(
    "command",
    [
        f"{NAP} &",
        f"env -i setsid {NAP} >/dev/null 2>&1 & sleep 0.1",
        f"(setsid nohup {NAP} &) ; exit 4",
    ],
    ids=["behind", "a session of its own", "behind a shell that ends"],
)
async def test_what_is_left_in_the_background_ends_with_the_command(
    tool: Exec, workspace: Path, command: str
) -> None:
    await run(tool, workspace, command)
    assert alive(NAP) == []


@pytest.mark.requirement("P27")
async def test_out_of_time_or_cancelled_everything_inside_is_gone(tool: Exec, workspace: Path) -> None:
    await run(tool, workspace, "true")
    before = descriptors()
    stubborn = f"trap '' TERM; env -i setsid {NAP} & echo begun; while :; do {NAP}; done"
    outcome = await run(tool, workspace, stubborn, timeoutSeconds=1)
    assert "begun\n[stopped after 1 seconds" in error_of(outcome)
    assert alive(NAP) == []

    begun = anyio.Event()

    async def report(text: str) -> None:
        begun.set()

    async with anyio.create_task_group() as tasks:
        asked = invocation(confined(workspace), {"command": stubborn})
        tasks.start_soon(tool.run, asked, report)
        await begun.wait()
        tasks.cancel_scope.cancel()
    assert alive(NAP) == []
    assert zombies() == []
    assert descriptors() == before


async def test_access_decides_what_of_the_workspace_is_inside(tool: Exec, workspace: Path) -> None:
    script = "cat notes.txt; echo changed > notes.txt && echo written; true"
    reading = await said(tool, confined(workspace, WorkspaceAccess.READ), script)
    assert "inside" in reading
    assert "written" not in reading
    nothing = await said(tool, confined(workspace, WorkspaceAccess.NONE), script)
    assert "inside" not in nothing
    assert (workspace / "notes.txt").read_text() == "inside"
    assert "no access" in error_of(
        await call(Read(), confined(workspace, WorkspaceAccess.NONE), path="notes.txt")
    )


async def test_a_device_that_was_put_into_the_workspace_does_not_work(tool: Exec, workspace: Path) -> None:
    try:
        os.mknod(workspace / "zero", 0o20666, os.makedev(1, 5))
    except PermissionError:
        os.mkfifo(workspace / "zero")
    assert "device, pipe or socket" in error_of(await call(Read(), confined(workspace), path="zero"))
    outcome = await run(tool, workspace, "test -c zero && head -c 4 zero | od -An -tx1")
    assert "00 00 00 00" not in text_of(outcome)
