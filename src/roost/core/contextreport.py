"""What makes up a context, and how large each part is. Sizes are characters unless they are called tokens."""

from collections.abc import Iterable
from dataclasses import dataclass

from roost.core.jsonvalue import compact
from roost.core.models import ToolSpec
from roost.core.tools import Place
from roost.core.workspacefiles import WorkspaceFile


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSize:
    """How much of a prompt one tool takes."""

    name: str
    text: int
    schema: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextReport:
    """`tokens` is the context as it was last counted, of a window of `window`; `files` are in the system text."""

    place: Place
    system: int
    files: tuple[WorkspaceFile, ...]
    tools: tuple[ToolSize, ...]
    tokens: int
    window: int
    compactions: int


def tool_sizes(tools: Iterable[ToolSpec]) -> tuple[ToolSize, ...]:
    return tuple(
        ToolSize(name=tool.name, text=len(tool.description), schema=len(compact(tool.parameters)))
        for tool in tools
    )
