"""`write`: a whole text file, put in place at once."""

from roost.core import toolnames
from roost.core.errors import InvalidInput, NotFound
from roost.core.masks import refuse_masks
from roost.core.models import ToolSpec
from roost.core.tools import Invocation, ToolOutcome, ToolTraits
from roost.ports import Report
from roost.tools.arguments import Arguments, object_schema
from roost.tools.outcomes import attempted, told
from roost.tools.workspace import Workspace


class Write:
    traits = ToolTraits()
    spec = ToolSpec(
        name=toolnames.WRITE,
        description=(
            "Write a text file of the workspace, replacing the whole file if there is one. Missing folders are "
            "made. To change a part of a file, use `edit`."
        ),
        parameters=object_schema(
            {
                "path": {"type": "string", "description": "File, relative to the workspace."},
                "content": {"type": "string", "description": "The whole new text of the file."},
            },
            required=("path", "content"),
        ),
    )

    async def run(self, invocation: Invocation, report: Report) -> ToolOutcome:
        return await attempted(lambda: self._write(invocation))

    def _write(self, invocation: Invocation) -> ToolOutcome:
        arguments = Arguments(self.spec, invocation.arguments)
        path, content = arguments.text("path"), arguments.text("content")
        workspace = Workspace(invocation.place)
        refuse_masks(content, known=_current(workspace, path))
        data = encoded(content)
        existed = workspace.write(path, data)
        done = "replaced" if existed else "created"
        return told(f"{done} `{path}` ({len(data)} bytes)", details={"path": path, "bytes": len(data)})


def encoded(text: str) -> bytes:
    """The bytes of a text that is to be a file."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            "the text holds half a character (a lone surrogate)", hint="write it without that character"
        ) from error


def _current(workspace: Workspace, path: str) -> str:
    try:
        return workspace.read(path).decode("utf-8", "replace")
    except NotFound:
        return ""
