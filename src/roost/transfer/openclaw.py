"""The folders in which OpenClaw keeps its sessions, as an import: `sessions.json` and the transcripts beside it.

The folders are read and never changed. Done again, an import changes nothing; cut short, it goes on. OpenClaw
should not be writing meanwhile: half a line is taken for a whole one.
"""

from collections.abc import AsyncGenerator
from contextlib import ExitStack, aclosing
from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread

from roost.core.errors import InvalidInput
from roost.core.jsonl import Malformed
from roost.core.keys import SessionKey
from roost.ports import Store
from roost.transfer.conversations import Conversations
from roost.transfer.folders import Folder, Listing
from roost.transfer.index import IndexEntry, read_index
from roost.transfer.lines import read_whole
from roost.transfer.options import ImportOptions
from roost.transfer.paths import TranscriptName
from roost.transfer.plans import Plans, make_plans
from roost.transfer.report import ImportReport, Item, Progress, Result, left_out, shown

INDEX = "sessions.json"
AGENTS = "agents"
SESSIONS = "sessions"


def _silent(item: Item) -> None:
    """Nobody watches."""


async def import_openclaw(
    store: Store, folder: Path, options: ImportOptions, progress: Progress = _silent
) -> ImportReport:
    """Import a state folder, one agent's folder, or one folder of sessions; each conversation is one transaction."""
    items: list[Item] = []
    async with aclosing(_items(store, folder, options)) as found:
        async for item in found:
            items.append(item)
            progress(item)
    return ImportReport(tuple(items))


async def _items(store: Store, folder: Path, options: ImportOptions) -> AsyncGenerator[Item, None]:
    with await to_thread.run_sync(Folder.open, folder) as root:
        for source in await to_thread.run_sync(_sources, root, folder, options):
            if not _is_agent(source.agent):
                yield left_out(source.name, "not the name of an agent")
                continue
            if options.agents is not None and source.agent not in options.agents:
                yield left_out(
                    source.name, f"there is no agent {source.agent} here; configure it and import again"
                )
                continue
            with ExitStack() as opened:
                try:
                    sessions = _descend(root, source.steps, opened)
                    plans = await to_thread.run_sync(_survey, sessions, source.agent, options)
                except (InvalidInput, OSError) as error:
                    yield Item(source=shown(source.name), result=Result.FAILED, reason=str(error))
                    continue
                for item in plans.skipped:
                    yield item
                conversations = Conversations(store, sessions, source.agent, options)
                for plan in plans.plans:
                    yield await conversations.take(plan)


# -- where the sessions are --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """The sessions of one agent, and the folders to step through to them."""

    agent: str
    steps: tuple[str, ...]

    @property
    def name(self) -> str:
        return "/".join((*self.steps, INDEX))


def _sources(root: Folder, path: Path, options: ImportOptions) -> tuple[_Source, ...]:
    listing = root.listing()
    for above in ((AGENTS,) if AGENTS in listing.folders else (), ()):
        with ExitStack() as opened:
            agents = _descend(root, above, opened)
            found = tuple(
                _Source(agent=name.lower(), steps=(*above, name, SESSIONS))
                for name in agents.listing().folders
                if _holds_sessions(agents, name)
            )
        if found:
            return found
    if SESSIONS in listing.folders:
        return (_Source(agent=_agent(options, path.resolve().name), steps=(SESSIONS,)),)
    return (_Source(agent=_agent(options, _agent_above(path)), steps=()),)


def _holds_sessions(agents: Folder, name: str) -> bool:
    try:
        with agents.folder(name) as agent:
            return SESSIONS in agent.listing().folders
    except PermissionError:
        return False


def _agent_above(path: Path) -> str:
    """The agent that a path ending in `<agent>/sessions` speaks of."""
    here = path.resolve()
    return here.parent.name if here.name == SESSIONS else ""


def _agent(options: ImportOptions, name: str) -> str:
    agent = options.agent or name.lower()
    if not _is_agent(agent):
        raise InvalidInput("the folder does not say whose sessions it holds", hint="name the agent")
    return agent


def _is_agent(name: str) -> bool:
    try:
        SessionKey.named(name, "main")
    except InvalidInput:
        return False
    return True


def _descend(root: Folder, steps: tuple[str, ...], opened: ExitStack) -> Folder:
    for step in steps:
        root = opened.enter_context(root.folder(step))
    return root


# -- what is in them ---------------------------------------------------------------------------------


def _survey(folder: Folder, agent: str, options: ImportOptions) -> Plans:
    listing = folder.listing()
    names = [(text, TranscriptName.parse(text)) for text in listing.files if text != INDEX]
    plans = make_plans(
        _index(folder, listing, options), [name for _, name in names if name is not None], agent, options
    )
    links = [left_out(text, "a link or no plain file; it is not followed") for text in listing.others]
    other = [left_out(text, "not the name of a transcript") for text, name in names if name is None]
    return Plans(plans=plans.plans, skipped=(*links, *other, *plans.skipped))


def _index(folder: Folder, listing: Listing, options: ImportOptions) -> tuple[IndexEntry, ...]:
    """What the index says; () if there is none. One that cannot be read stops the import of its folder: without
    it, every conversation would be taken in under another key."""
    if INDEX in listing.others:
        raise InvalidInput(f"{INDEX} is a link or no plain file", hint="put the file itself in its place")
    if INDEX not in listing.files:
        return ()
    with folder.file(INDEX) as stream:
        found = read_index(read_whole(stream, options.limits.index_bytes))
    if isinstance(found, Malformed):
        raise InvalidInput(
            f"{INDEX} is {found.reason}",
            hint="repair it, or take it away to import the transcripts without their keys",
        )
    return found
