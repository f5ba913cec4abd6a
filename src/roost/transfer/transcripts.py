"""The transcripts of one conversation, as an export wrote them, back into a store under a key that is chosen here."""

from pathlib import Path

from anyio import to_thread

from roost.core.errors import InvalidInput
from roost.core.jsonl import Header, Malformed, header_from_json, read_line, read_object
from roost.core.keys import SessionKey
from roost.ports import Store
from roost.transfer.conversations import Conversations
from roost.transfer.folders import Folder
from roost.transfer.lines import Limits, Line, read_lines
from roost.transfer.options import ImportOptions
from roost.transfer.paths import TranscriptName
from roost.transfer.plans import Part, Plan, orphan_key
from roost.transfer.report import ImportReport, shown

DEFAULT_AGENT = "main"
_FIRST_BYTES = 65_536


async def import_transcripts(
    store: Store, path: Path, options: ImportOptions, key: SessionKey | None = None
) -> ImportReport:
    """Import a folder of transcripts, or one of them, as one conversation. Without a key it gets one of its own; where
    the key has another conversation already, it is kept beside that one."""
    agent = (key.agent if key else None) or options.agent or DEFAULT_AGENT
    single = await to_thread.run_sync(path.is_file)
    with await to_thread.run_sync(Folder.open, path.parent if single else path) as folder:
        only = path.name if single else None
        names = await to_thread.run_sync(_transcripts, folder, only, options.limits)
        plan = Plan(
            source=shown(path.name),
            key=key or orphan_key(agent, names[-1].session_id),
            parts=tuple(Part(session_id=name.session_id, file=name) for name in names),
        )
        return ImportReport((await Conversations(store, folder, agent, options).take(plan),))


def _transcripts(folder: Folder, only: str | None, limits: Limits) -> tuple[TranscriptName, ...]:
    """Oldest first."""
    names = (TranscriptName.parse(text) for text in folder.listing().files if only in (None, text))
    found = [name for name in names if name is not None and not name.compressed]
    # A line that cannot be read is kept with those around it; where there are only such, this is something else.
    if not any(_says_something(folder, name, limits) for name in found):
        raise InvalidInput(
            "there is no transcript", hint="name a file such as <session id>.jsonl, or a folder with some"
        )
    return tuple(sorted(found, key=lambda name: (_begun(folder, name), name.text)))


def _says_something(folder: Folder, name: TranscriptName, limits: Limits) -> bool:
    """Whether a line of it can be read."""
    with folder.file(name.text) as stream:
        return any(isinstance(line, Line) and _is_readable(line) for line in read_lines(stream, limits))


def _is_readable(line: Line) -> bool:
    return not isinstance(read_line(line.content.decode("utf-8-sig", "replace")), Malformed)


def _begun(folder: Folder, name: TranscriptName) -> int:
    """When a transcript says that it was begun; 0 if it does not."""
    with folder.file(name.text) as stream:
        line = stream.readline(_FIRST_BYTES).decode("utf-8", "replace")
    found = read_object(line)
    header = None if isinstance(found, Malformed) else header_from_json(found)
    return header.at if isinstance(header, Header) else 0
