"""`exec`: a shell command in the workspace, with a clean environment and a time limit."""

from codecs import getincrementaldecoder

import anyio

from roost.core import toolnames
from roost.core.errors import Forbidden, InvalidInput, RoostError
from roost.core.jsonvalue import JsonObject
from roost.core.models import ToolSpec
from roost.core.seals import SEAL
from roost.core.shells import SHELL_MARK
from roost.core.tools import Excess, Invocation, Place, ToolOutcome, ToolTraits, WorkspaceAccess
from roost.ports import Ended, Report, Sandbox, ToolCommand
from roost.tools.arguments import Arguments, object_schema
from roost.tools.outcomes import refused, told

MOST_SECONDS = 1800
LONGEST_COMMAND = 96 << 10
HEAD, TAIL = 8 << 10, 24 << 10
MOST_REPORTED = 256 << 10
_EXCESS = {
    Excess.PROCESSES: "it had more processes and threads than its sandbox allows; run fewer at once",
    Excess.MEMORY: "it used more memory than its sandbox allows; work in smaller parts",
    Excess.DISK: "the disk is nearly full; remove what is not needed, or tell the person",
}
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Output:
    """The first and the last of what a program writes, and a decoded stream of it until that grows too long."""

    def __init__(self) -> None:
        self.size = 0
        self._head = bytearray()
        self._tail = bytearray()
        self._unreported = bytearray()
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._news = anyio.Event()
        self._closed = False

    def add(self, data: bytes) -> None:
        room = max(MOST_REPORTED - self.size, 0)
        self.size += len(data)
        self._unreported += data[:room]
        space = HEAD - len(self._head)
        self._head += data[:space]
        self._tail += data[space:]
        del self._tail[:-TAIL]
        if room:
            self._news.set()

    def close(self) -> None:
        self._closed = True
        self._news.set()

    def text(self) -> str:
        """What the model reads."""
        head, tail = bytes(self._head), bytes(self._tail)
        left_out = self.size - len(head) - len(tail)
        if left_out <= 0:
            return (head + tail).decode("utf-8", "replace")
        shown = [piece.decode("utf-8", "replace") for piece in (head, tail)]
        return f"\n[{left_out} bytes were left out here: write to a file and read it in parts]\n".join(shown)

    async def relay(self, report: Report) -> None:
        """Report what comes until it is closed. One report at a time: what comes meanwhile is joined."""
        while not self._closed or self._unreported:
            await self._news.wait()
            self._news = anyio.Event()
            data = bytes(self._unreported)
            self._unreported.clear()
            if text := self._decoder.decode(data, final=self._closed):
                await report(text)
            if self._closed:
                self._news.set()
        if self.size > MOST_REPORTED:
            await report("\n[more output is not shown]\n")


class Exec:
    """Made for one kind of place: outside a sandbox it is privileged, and it refuses the other kind."""

    spec = ToolSpec(
        name=toolnames.EXEC,
        description=(
            "Run a shell command (/bin/sh) in the workspace and return what it prints, errors included, with its "
            "exit status. There is no terminal and no input. Everything the command started ends with it, "
            "background processes too. Of long output the beginning and the end are returned. "
            "{{secret:NAME}} stands for a configured secret, which no command is given."
        ),
        parameters=object_schema(
            {
                "command": {"type": "string", "description": "The command, as for sh -c."},
                "timeoutSeconds": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "Seconds until the command is stopped, at most 1800. Default 120.",
                },
            },
            required=("command",),
        ),
    )

    def __init__(self, sandbox: Sandbox, *, sandboxed: bool) -> None:
        self._sandbox = sandbox
        self._sandboxed = sandboxed

    @property
    def traits(self) -> ToolTraits:
        return ToolTraits(privileged=not self._sandboxed)

    async def run(self, invocation: Invocation, report: Report) -> ToolOutcome:
        try:
            command = self._command(invocation)
            output = Output()
            ended = await self._watched(command, output, report)
        except RoostError as error:
            return refused(error)
        return _outcome(command, ended, output)

    def _command(self, invocation: Invocation) -> ToolCommand:
        arguments = Arguments(self.spec, invocation.arguments)
        text = arguments.text("command")
        seconds = arguments.whole("timeoutSeconds", 120, least=1, most=MOST_SECONDS)
        if not text.strip() or "\0" in text:
            raise InvalidInput("`command` is empty or holds a NUL", hint="give a shell command")
        if len(text.encode("utf-8", "replace")) > LONGEST_COMMAND:
            raise InvalidInput("`command` is too long", hint="write a script with `write` and run that")
        if SEAL.search(text):
            raise Forbidden("commands are not given configured secrets", hint="tell the person")
        self._refuse_place(invocation.place)
        return ToolCommand(
            argv=("/bin/sh", "-c", text.encode("utf-8", "replace").decode()),
            place=invocation.place,
            folder=invocation.place.workspace,
            environment=_environment(invocation),
            timeout_ms=seconds * 1000,
        )

    def _refuse_place(self, place: Place) -> None:
        if place.sandboxed is not self._sandboxed:
            raise Forbidden("this tool was made for another kind of place", hint="tell the person")
        if not place.sandboxed and place.access is not WorkspaceAccess.WRITE:
            raise Forbidden(
                "outside a sandbox nothing keeps a command from writing to the workspace",
                hint="go on without `exec`",
            )

    async def _watched(self, command: ToolCommand, output: Output, report: Report) -> Ended:
        failure: RoostError | None = None
        ended = Ended(status=None)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(output.relay, report)
            try:
                ended = await self._sandbox.run(command, output.add)
            except RoostError as error:
                failure = error
            output.close()
        if failure is not None:
            raise failure
        return ended


def _environment(invocation: Invocation) -> tuple[tuple[str, str], ...]:
    return (
        ("PATH", _PATH),
        ("HOME", invocation.place.workspace),
        ("LANG", "C.UTF-8"),
        ("TERM", "dumb"),
        SHELL_MARK,
        ("ROOST_USER", str(invocation.cause.principal)),
    )


def _outcome(command: ToolCommand, ended: Ended, output: Output) -> ToolOutcome:
    text = output.text()
    if ended.timed_out:
        end = f"[stopped after {command.timeout_ms // 1000} seconds: run less, or raise `timeoutSeconds`]"
    elif ended.excess is not None:
        end = f"[stopped: {_EXCESS[ended.excess]}]"
    elif ended.status is None:
        end = "[the command was ended by a signal]"
    elif ended.status or not text:
        end = f"[exit status {ended.status}]"
    else:
        end = ""
    details: JsonObject = {
        "exitStatus": ended.status,
        "timedOut": ended.timed_out,
        "excess": ended.excess,
        "bytes": output.size,
    }
    separator = "" if not text or not end or text.endswith("\n") else "\n"
    return told(f"{text}{separator}{end}", is_error=ended.status != 0, details=details)
