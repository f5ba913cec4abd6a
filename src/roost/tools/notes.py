"""`write` as an agent has it while it saves notes: it adds to one file and can change no other."""

from roost.core import toolnames
from roost.core.errors import InvalidInput, NotFound
from roost.core.masks import refuse_masks
from roost.core.models import ToolSpec
from roost.core.tools import Invocation, ToolOutcome, ToolTraits
from roost.ports import Report
from roost.tools.arguments import Arguments, object_schema
from roost.tools.outcomes import attempted, told
from roost.tools.workspace import Workspace
from roost.tools.write import encoded


class Notes:
    """Lines that stand there already are not added again, so that a call may be repeated."""

    traits = ToolTraits(reenterable=True)

    def __init__(self, path: str) -> None:
        self._path = path
        self.spec = ToolSpec(
            name=toolnames.WRITE,
            description=f"Add lines to the end of `{path}`, the notes of this day. Nothing in it is replaced.",
            parameters=object_schema(
                {"content": {"type": "string", "description": "The lines to add."}}, required=("content",)
            ),
        )

    async def run(self, invocation: Invocation, report: Report) -> ToolOutcome:
        return await attempted(lambda: self._add(invocation))

    def _add(self, invocation: Invocation) -> ToolOutcome:
        lines = Arguments(self.spec, invocation.arguments).text("content").strip()
        workspace = Workspace(invocation.place)
        if not lines:
            raise InvalidInput("there is nothing to add", hint="give the lines, or answer that you are done")
        before = self._before(workspace)
        refuse_masks(lines, known=before)
        if lines in before:
            return told(f"`{self._path}` says so already")
        apart = "" if not before or before.endswith("\n") else "\n"
        workspace.append(self._path, encoded(f"{apart}{lines}\n"))
        return told(f"added to `{self._path}`")

    def _before(self, workspace: Workspace) -> str:
        try:
            data = workspace.read(self._path)
        except NotFound:
            return ""
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise InvalidInput(
                f"`{self._path}` is not UTF-8 text, and adding to it would spoil it",
                hint="tell the person, and leave it as it is",
            ) from error
