"""Tool calls as the engine would make them."""

from pathlib import Path

from roost.core.jsonvalue import JsonValue
from roost.core.messages import ProvenanceKind, Text
from roost.core.principals import OWNER
from roost.core.runs import Cause
from roost.core.tools import Invocation, Place, ToolOutcome, WorkspaceAccess
from roost.ports import Tool
from tests.samples import MAIN


def place(workspace: Path, access: WorkspaceAccess = WorkspaceAccess.WRITE) -> Place:
    return Place(workspace=str(workspace), access=access)


def invocation(where: Place, arguments: dict[str, JsonValue]) -> Invocation:
    return Invocation(
        run_id="r1",
        call_id="c1",
        agent="main",
        key=MAIN,
        cause=Cause(principal=OWNER, kind=ProvenanceKind.HUMAN, trace="t1"),
        place=where,
        arguments=arguments,
    )


async def nowhere(text: str) -> None:
    """A report that nobody watches."""


async def call(tool: Tool, where: Place | Path, **arguments: JsonValue) -> ToolOutcome:
    found = place(where) if isinstance(where, Path) else where
    return await tool.run(invocation(found, arguments), nowhere)


def text_of(outcome: ToolOutcome) -> str:
    return "".join(block.text for block in outcome.content if isinstance(block, Text))


def error_of(outcome: ToolOutcome) -> str:
    assert outcome.is_error
    return text_of(outcome)
