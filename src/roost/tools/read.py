"""`read`: a text file of the workspace, whole or by lines."""

from roost.core import toolnames
from roost.core.errors import InvalidInput
from roost.core.models import ToolSpec
from roost.core.tools import Invocation, ToolOutcome, ToolTraits
from roost.ports import Report
from roost.tools.arguments import Arguments, object_schema
from roost.tools.outcomes import attempted, told
from roost.tools.workspace import Workspace

MOST_BYTES = 256 << 10
_MOST_LINES = 1_000_000
_LOOKED_AT = 8 << 10


class Read:
    traits = ToolTraits(reenterable=True, parallel=True)
    spec = ToolSpec(
        name=toolnames.READ,
        description=(
            "Read a text file of the workspace. Returns the text exactly as stored, at most 256 KiB; a last "
            "line in brackets says what was left out and the offset to go on with."
        ),
        parameters=object_schema(
            {
                "path": {"type": "string", "description": "File, relative to the workspace."},
                "offset": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "First line to return, counted from 1. Default 1.",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "Number of lines to return. Default: all that fit.",
                },
            },
            required=("path",),
        ),
    )

    async def run(self, invocation: Invocation, report: Report) -> ToolOutcome:
        return await attempted(lambda: self._read(invocation))

    def _read(self, invocation: Invocation) -> ToolOutcome:
        arguments = Arguments(self.spec, invocation.arguments)
        path = arguments.text("path")
        first = arguments.whole("offset", 1, least=1, most=_MOST_LINES)
        limit = arguments.whole("limit", _MOST_LINES, least=1, most=_MOST_LINES)
        data = Workspace(invocation.place).read(path)
        if b"\0" in data[:_LOOKED_AT]:
            raise InvalidInput(
                f"`{path}` is binary ({len(data)} bytes)", hint="look at it with `exec`, such as file or xxd"
            )
        lines = data.splitlines(keepends=True)
        if first > max(len(lines), 1):
            raise InvalidInput(f"`{path}` has only {len(lines)} lines", hint="use a smaller offset")
        return told(
            _excerpt(lines, first, limit), details={"path": path, "bytes": len(data), "lines": len(lines)}
        )


def _excerpt(lines: list[bytes], first: int, limit: int) -> str:
    """Lines from `first`, counted from 1, as many as fit, and what was left out."""
    shown: list[bytes] = []
    size = 0
    for line in lines[first - 1 : first - 1 + limit]:
        if size + len(line) > MOST_BYTES:
            break
        shown.append(line)
        size += len(line)
    last = first - 1 + len(shown)
    if not shown and lines:
        cut = lines[first - 1][:MOST_BYTES].decode("utf-8", "replace")
        return f"{cut}\n[line {first} is longer than {MOST_BYTES} bytes and was cut; go on with offset {first + 1}]"
    text = b"".join(shown).decode("utf-8", "replace")
    if first == 1 and last == len(lines):
        return text
    more = f"; go on with offset {last + 1}" if last < len(lines) else ""
    return f"{text}{'' if text.endswith(chr(10)) else chr(10)}[lines {first} to {last} of {len(lines)}{more}]"
