import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from roost.core.errors import Forbidden
from roost.core.tools import Excess, Place, ToolTraits, WorkspaceAccess
from roost.ports import Ended, ToolCommand
from roost.tools.exec import HEAD, LONGEST_COMMAND, MOST_REPORTED, TAIL, Exec, Output
from tests.unit.tools.calls import call, error_of, invocation, place, text_of


class Scripted:
    """A sandbox that writes what it is told to and remembers what it was asked."""

    def __init__(self, *chunks: bytes, ended: Ended | None = None, refusal: Forbidden | None = None) -> None:
        self._chunks = chunks
        self._ended = ended or Ended(status=0)
        self._refusal = refusal
        self.commands: list[ToolCommand] = []

    async def run(self, command: ToolCommand, output: Callable[[bytes], None]) -> Ended:
        self.commands.append(command)
        if self._refusal is not None:
            raise self._refusal
        for chunk in self._chunks:
            output(chunk)
            await asyncio.sleep(0)
        return self._ended


def tool(sandbox: Scripted, *, sandboxed: bool = False) -> Exec:
    return Exec(sandbox, sandboxed=sandboxed)


async def test_a_command_goes_to_the_shell_with_a_clean_environment_and_a_limit(tmp_path: Path) -> None:
    sandbox = Scripted(b"hi\n")
    assert text_of(await call(tool(sandbox), tmp_path, command="echo hi", timeout_seconds="9")) == "hi\n"
    (command,) = sandbox.commands
    assert command.argv == ("/bin/sh", "-c", "echo hi")
    assert command.folder == str(tmp_path)
    assert command.timeout_ms == 9000
    assert dict(command.environment) == {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "ROOST_SHELL": "exec",
        "ROOST_USER": "owner",
    }


@pytest.mark.requirement("P24")
async def test_a_command_is_not_given_a_configured_secret(tmp_path: Path) -> None:
    sandbox = Scripted()
    refused = await call(tool(sandbox), tmp_path, command="echo '{{secret:a.b}}'")
    assert "not given configured secrets" in error_of(refused)
    assert sandbox.commands == []


async def test_the_limit_has_a_default_and_a_most(tmp_path: Path) -> None:
    sandbox = Scripted()
    await call(tool(sandbox), tmp_path, command="true")
    await call(tool(sandbox), tmp_path, command="true", timeoutSeconds=99_999)
    assert [command.timeout_ms for command in sandbox.commands] == [120_000, 1_800_000]


@pytest.mark.parametrize(
    ("ended", "said", "is_error"),
    [
        (Ended(status=0), "out", False),
        (Ended(status=3), "out\n[exit status 3]", True),
        (Ended(status=None), "out\n[the command was ended by a signal]", True),
        (
            Ended(status=None, excess=Excess.MEMORY),
            "out\n[stopped: it used more memory than its sandbox allows; work in smaller parts]",
            True,
        ),
        (
            Ended(status=None, timed_out=True),
            "out\n[stopped after 120 seconds: run less, or raise `timeoutSeconds`]",
            True,
        ),
    ],
)
async def test_the_end_is_told(tmp_path: Path, ended: Ended, said: str, *, is_error: bool) -> None:
    outcome = await call(tool(Scripted(b"out", ended=ended)), tmp_path, command="x")
    assert (text_of(outcome), outcome.is_error) == (said, is_error)
    assert outcome.details == {
        "exitStatus": ended.status,
        "timedOut": ended.timed_out,
        "excess": ended.excess,
        "bytes": 3,
    }


async def test_silence_is_told_by_the_status(tmp_path: Path) -> None:
    assert text_of(await call(tool(Scripted()), tmp_path, command="true")) == "[exit status 0]"


@pytest.mark.parametrize("command", ["", "  ", "a\0b", "x" * (LONGEST_COMMAND + 1)])
async def test_a_command_that_cannot_be_run_is_refused(tmp_path: Path, command: str) -> None:
    sandbox = Scripted()
    error_of(await call(tool(sandbox), tmp_path, command=command))
    assert sandbox.commands == []


async def test_a_refusal_of_the_sandbox_is_told_with_what_to_install(tmp_path: Path) -> None:
    sandbox = Scripted(refusal=Forbidden("no sandbox", hint="install bubblewrap"))
    assert "install bubblewrap" in error_of(await call(tool(sandbox), tmp_path, command="true"))


@pytest.mark.requirement("P16")
async def test_outside_a_sandbox_it_is_privileged_and_each_kind_keeps_to_its_place(tmp_path: Path) -> None:
    sandbox = Scripted()
    outside, inside = tool(sandbox), tool(sandbox, sandboxed=True)
    assert outside.traits == ToolTraits(privileged=True)
    assert inside.traits == ToolTraits(privileged=False)
    error_of(await call(inside, place(tmp_path), command="true"))
    error_of(await call(outside, Place(workspace=str(tmp_path), sandboxed=True), command="true"))
    assert sandbox.commands == []


async def test_outside_a_sandbox_a_workspace_that_may_not_be_written_has_no_commands(tmp_path: Path) -> None:
    sandbox = Scripted()
    for access in (WorkspaceAccess.READ, WorkspaceAccess.NONE):
        error_of(await call(tool(sandbox), place(tmp_path, access), command="true"))
        confined = Place(workspace=str(tmp_path), access=access, sandboxed=True)
        assert not (await call(tool(sandbox, sandboxed=True), confined, command="true")).is_error
    assert len(sandbox.commands) == 2


async def test_output_is_reported_as_it_comes_and_characters_stay_whole(tmp_path: Path) -> None:
    reported: list[str] = []

    async def report(text: str) -> None:
        reported.append(text)

    euro = "€".encode()
    run = tool(Scripted(b"one ", euro[:1], euro[1:], b" two")).run
    await run(invocation(place(tmp_path), {"command": "x"}), report)
    assert "".join(reported) == "one € two"
    assert len(reported) > 1


async def test_a_flood_is_reported_up_to_a_point_and_returned_by_its_ends(tmp_path: Path) -> None:
    reported: list[str] = []

    async def report(text: str) -> None:
        reported.append(text)

    flood = [
        b"".join(b"%06d\n" % number for number in range(first, first + 500))
        for first in range(0, 100_000, 500)
    ]
    outcome = await tool(Scripted(*flood)).run(invocation(place(tmp_path), {"command": "x"}), report)
    text = text_of(outcome)
    assert text.startswith("000000\n000001\n")
    assert text.endswith("099999\n")
    assert f"[{700_000 - HEAD - TAIL} bytes were left out here" in text
    assert MOST_REPORTED <= len("".join(reported)) <= MOST_REPORTED + 100
    assert reported[-1] == "\n[more output is not shown]\n"


def test_output_that_just_fits_is_whole() -> None:
    output = Output()
    output.add(b"a" * HEAD)
    output.add(b"b" * TAIL)
    assert output.text() == "a" * HEAD + "b" * TAIL
    output.add(b"c")
    assert "[1 bytes were left out" in output.text()
