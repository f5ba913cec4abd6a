"""`/context`: what the next turn would be given, and how large each part is."""

from dataclasses import dataclass

from roost.core.errors import InvalidInput
from roost.core.figures import counted, thousands
from roost.core.jsonvalue import JsonObject, compact
from roost.core.models import ToolSpec
from roost.core.workspacefiles import WorkspaceFile
from roost.engine.commands.asked import Answer, Asked, Means, saying
from roost.engine.rules import Part

_EXPLAINED = (
    "The context is what the model is shown: the system text, the tools, and the conversation since it began or was "
    "last condensed. /context list shows the parts, /context detail every tool, /context json the figures."
)
_TOKEN_CHARS = 4
_NAMES = 30


@dataclass(frozen=True, slots=True)
class _Tool:
    name: str
    text: int
    schema: int
    parameters: int


async def show_context(means: Means, asked: Asked) -> Answer:
    part = await means.next_part(asked)
    match asked.argument.lower():
        case "" | "help":
            return saying(_EXPLAINED)
        case "list":
            return saying(_listed(asked, part))
        case "detail":
            return saying("\n".join((_listed(asked, part), *_detail(part))))
        case "json":
            return saying(compact(_figures(asked, part)))
        case other:
            raise InvalidInput(f"/context knows no {other!r}", hint="say list, detail or json")


def _tools(part: Part) -> list[_Tool]:
    sizes = [_size(tool.spec) for tool in part.tools]
    return sorted(sizes, key=lambda tool: (-tool.schema - tool.text, tool.name))


def _size(spec: ToolSpec) -> _Tool:
    properties = spec.parameters.get("properties")
    parameters = len(properties) if isinstance(properties, dict) else 0
    return _Tool(spec.name, len(spec.description), len(compact(spec.parameters)), parameters)


def _chars(number: int) -> str:
    return f"{thousands(number)} chars (~{thousands(number // _TOKEN_CHARS)} tokens)"


def _listed(asked: Asked, part: Part) -> str:
    tools, counters, place = _tools(part), asked.session.counters, part.place
    names = ", ".join(sorted(tool.name for tool in tools)[:_NAMES]) or "none"
    sandbox = "in a sandbox" if place.sandboxed else "no sandbox"
    lines = (
        f"Workspace: {place.workspace} ({place.access}, {sandbox})",
        f"System text: {_chars(len(part.system))}",
        *map(_file, part.files),
        f"Tools: {len(tools)}, schemas {_chars(sum(tool.schema + tool.text for tool in tools))}",
        f"Tool names: {names}",
        f"Conversation: {asked.session.summary.entries} entries, {thousands(counters.total)} tokens at the last "
        f"answer, window {thousands(part.spec.context_window)}, {counted(counters.compactions, 'compaction')}",
    )
    return "\n".join(lines)


def _file(file: WorkspaceFile) -> str:
    size = f" {thousands(len(file.text))} of {thousands(file.raw)} chars" if file.raw else ""
    return f"File {file.name}: {file.state}{size}"


def _detail(part: Part) -> list[str]:
    return [
        f"{tool.name}: schema {tool.schema}, text {tool.text}, {counted(tool.parameters, 'parameter')}"
        for tool in _tools(part)[:_NAMES]
    ]


def _figures(asked: Asked, part: Part) -> JsonObject:
    counters = asked.session.counters
    return {
        "session": str(asked.key),
        "model": str(part.spec.ref),
        "workspace": part.place.workspace,
        "sandboxed": part.place.sandboxed,
        "systemChars": len(part.system),
        "files": [
            {"name": file.name, "state": file.state, "rawChars": file.raw, "injectedChars": len(file.text)}
            for file in part.files
        ],
        "tools": [
            {"name": tool.name, "schemaChars": tool.schema, "textChars": tool.text} for tool in _tools(part)
        ],
        "entries": asked.session.summary.entries,
        "contextTokens": counters.total,
        "contextWindow": part.spec.context_window,
        "compactions": counters.compactions,
    }
