"""`edit`: replace an exact piece of a text file."""

from collections.abc import Iterable

from roost.core import toolnames
from roost.core.errors import InvalidInput
from roost.core.masks import refuse_masks
from roost.core.models import ToolSpec
from roost.core.tools import Invocation, ToolOutcome, ToolTraits
from roost.ports import Report
from roost.tools.arguments import Arguments, object_schema
from roost.tools.outcomes import attempted, told
from roost.tools.workspace import Workspace
from roost.tools.write import encoded

_AROUND = 2
_PLACES = 5


class Edit:
    traits = ToolTraits()
    spec = ToolSpec(
        name=toolnames.EDIT,
        description=(
            "Replace a piece of a text file of the workspace. `oldText` must be in the file exactly once, spaces "
            "and line ends included; give more of the lines around it if it is not unique, or set "
            "`replaceAll`. Read the file first."
        ),
        parameters=object_schema(
            {
                "path": {"type": "string", "description": "File, relative to the workspace."},
                "oldText": {"type": "string", "description": "The exact text to replace."},
                "newText": {"type": "string", "description": "What to put there; empty removes it."},
                "replaceAll": {
                    "type": "boolean",
                    "description": "Replace every occurrence. Default false.",
                },
            },
            required=("path", "oldText", "newText"),
        ),
    )

    async def run(self, invocation: Invocation, report: Report) -> ToolOutcome:
        return await attempted(lambda: self._edit(invocation))

    def _edit(self, invocation: Invocation) -> ToolOutcome:
        arguments = Arguments(self.spec, invocation.arguments)
        path, old, new = (arguments.text(name) for name in ("path", "oldText", "newText"))
        everywhere = arguments.flag("replaceAll")
        workspace = Workspace(invocation.place)
        text = _decoded(workspace.read(path), path)
        places = _occurrences(text, old)
        _require_match(text, old, new, places, everywhere=everywhere)
        changed = text.replace(old, new)
        refuse_masks(changed, known=text)
        workspace.write(path, encoded(changed))
        line = _line_of(text, places[0])
        count = "1 place" if len(places) == 1 else f"{len(places)} places"
        shown = _excerpt(changed, [line], length=new.count("\n") + 1)
        return told(
            f"replaced {count} in `{path}`. It now reads:\n{shown}",
            details={"path": path, "replaced": len(places)},
        )


def _decoded(data: bytes, path: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"`{path}` is no UTF-8 text", hint="change it with `exec`") from error


def _occurrences(text: str, piece: str) -> list[int]:
    places = []
    at = text.find(piece) if piece else -1
    while at >= 0:
        places.append(at)
        at = text.find(piece, at + len(piece))
    return places


def _require_match(text: str, old: str, new: str, places: list[int], *, everywhere: bool) -> None:
    if not old:
        raise InvalidInput(
            "`oldText` is empty", hint="use `write` to make a file, or name the text to replace"
        )
    if old == new:
        raise InvalidInput("`oldText` and `newText` are the same", hint="say what should change")
    if not places:
        raise InvalidInput(f"`oldText` is not in the file{_nearest(text, old)}", hint=_advice(text, old))
    if len(places) > 1 and not everywhere:
        shown = _excerpt(text, [_line_of(text, at) for at in places[:_PLACES]])
        raise InvalidInput(
            f"`oldText` is in the file {len(places)} times:\n{shown}\n",
            hint="give more of the lines around the one you mean, or set `replaceAll`",
        )


def _advice(text: str, old: str) -> str:
    if "\r\n" in text and "\r\n" not in old and old.replace("\n", "\r\n") in text:
        return r"the file's lines end with \r\n: write them so in `oldText`"
    return "read the file again and copy the text exactly, spaces included"


def _nearest(text: str, old: str) -> str:
    """The lines that hold what the wanted text begins with, if there are any."""
    wanted = next((line.strip() for line in old.splitlines() if line.strip()), "")
    lines = [number for number, line in enumerate(text.splitlines(), 1) if wanted and wanted in line]
    if not lines:
        return ""
    return f"; its first line is near:\n{_excerpt(text, lines[:_PLACES])}\n"


def _line_of(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _excerpt(text: str, starts: Iterable[int], *, length: int = 1) -> str:
    """Numbered lines around each start; a gap is shown as `…`."""
    lines = text.splitlines()
    shown: list[str] = []
    done = 0
    for start in starts:
        first, last = max(start - _AROUND, done + 1), min(start + length - 1 + _AROUND, len(lines))
        if shown and first > done + 1:
            shown.append("…")
        shown += (f"{number}: {lines[number - 1][:200]}" for number in range(first, last + 1))
        done = max(done, last)
    return "\n".join(shown[:60])
