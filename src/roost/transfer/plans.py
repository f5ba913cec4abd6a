"""Which file belongs to which conversation: an index and a list of names, matched without reading a file.

Names are compared, never built: nothing an index says becomes a path.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from roost.core.errors import InvalidInput
from roost.core.keys import CHILD_KINDS, KeyKind, SessionKey
from roost.core.notices import derived_id
from roost.transfer.index import IndexEntry
from roost.transfer.options import ImportOptions
from roost.transfer.paths import TranscriptName, is_session_id
from roost.transfer.report import Item, left_out, shown

MAX_DEPTH = 8
# The agent of a key that is no agent's, such as `global`.
UNSCOPED = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One transcript of a conversation: the session id it gets, and its file if there is one."""

    session_id: str
    file: TranscriptName | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One conversation to import. `parts` are oldest first; the last one is current."""

    source: str
    key: SessionKey
    parts: tuple[Part, ...]
    entry: IndexEntry | None = None
    parent: SessionKey | None = None
    archived: bool = False
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plans:
    """What to import, parents before their children, and what is left out."""

    plans: tuple[Plan, ...]
    skipped: tuple[Item, ...]


def orphan_key(agent: str, name: str) -> SessionKey:
    """The key of a conversation that no index names, or whose own key is in use."""
    return SessionKey(agent=agent, kind=KeyKind.EXPLICIT, name=f"imported-{name}")


def make_plans(
    entries: Iterable[IndexEntry], names: Iterable[TranscriptName], agent: str, options: ImportOptions
) -> Plans:
    """Every readable file goes to one conversation: that of its key, or one of its own."""
    known = _Known(agent, options)
    for entry in entries:
        known.add(entry)
    pool = _Pool(agent)
    skipped = [*known.skipped]
    for name in names:
        if name.compressed:
            skipped.append(left_out(name.text, "compressed; unpack it with `zstd -d` and import again"))
        else:
            pool.add(name)
    plans = [*_keyed(known, pool)]
    for entry, why in known.refused:
        skipped.extend(
            left_out(name.text, f"belongs to {shown(entry.name)}, which is {why}")
            for name in pool.take_all(entry.session_id)
        )
    plans = [*_with_parents(plans, agent, options), *_orphans(pool, agent)]
    return Plans(plans=tuple(plans), skipped=tuple(skipped))


# -- keys --------------------------------------------------------------------------------------------


class _Known:
    """The entries of an index by their key, oldest first where several names mean one key."""

    def __init__(self, agent: str, options: ImportOptions) -> None:
        self._agent = agent
        self._options = options
        self._found: dict[SessionKey, list[IndexEntry]] = {}
        self.refused: list[tuple[IndexEntry, str]] = []
        self.skipped: list[Item] = []

    def add(self, entry: IndexEntry) -> None:
        try:
            key = self._options.key(self._agent, entry.name, entry.provider)
        except InvalidInput as error:
            self.refused.append((entry, "no key"))
            self.skipped.append(left_out(entry.name, error.message))
            return
        if key.agent not in (UNSCOPED, self._agent):
            why = f"a key of {key.agent}, and these are the sessions of {self._agent}"
            self.refused.append((entry, why))
            self.skipped.append(left_out(entry.name, why))
        elif key.kind is KeyKind.UNKNOWN:
            self.skipped.append(
                left_out(entry.name, "not a key of a conversation; its transcript gets its own")
            )
        else:
            self._found.setdefault(key, []).append(entry)

    def items(self) -> Iterator[tuple[SessionKey, list[IndexEntry]]]:
        for key, entries in self._found.items():
            yield key, sorted(entries, key=lambda entry: (entry.times.updated, entry.name == str(key)))


# -- files -------------------------------------------------------------------------------------------


class _Pool:
    """The files that no conversation has yet, and the session ids that are given."""

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._files: dict[str, list[TranscriptName]] = {}
        self._given: set[str] = set()

    def add(self, name: TranscriptName) -> None:
        self._files.setdefault(name.session_id, []).append(name)

    def take_live(self, session_id: str | None, topics: frozenset[str]) -> TranscriptName | None:
        """The file in use under an id: that of a topic if there is one, else that of the id alone."""
        live = self._take(session_id, lambda name: name.fate is None and name.fits(topics))
        chosen = max(live, key=lambda name: name.topic is not None, default=None)
        for name in live:
            if name is not chosen:
                self.add(name)
        return chosen

    def take_aside(self, session_id: str | None, topics: frozenset[str]) -> list[TranscriptName]:
        """Files that were put aside under an id, oldest first."""
        return self._take(session_id, lambda name: name.fate is not None and name.fits(topics))

    def take_earlier(self, session_ids: Iterable[str], topics: frozenset[str]) -> list[TranscriptName]:
        """Files of former ids."""
        return [
            name
            for session_id in session_ids
            for name in self._take(session_id, lambda name: name.fits(topics))
        ]

    def take_all(self, session_id: str | None) -> list[TranscriptName]:
        return self._take(session_id, lambda name: True)

    def _take(self, session_id: str | None, wanted: Callable[[TranscriptName], bool]) -> list[TranscriptName]:
        files = self._files.pop(session_id or "", [])
        self._files[session_id or ""] = [name for name in files if not wanted(name)]
        return sorted(filter(wanted, files), key=lambda name: (name.fate is None, name.stamp, name.text))

    def rest(self) -> Iterator[list[TranscriptName]]:
        """What is left: the files of one stem at a time."""
        stems: dict[str, list[TranscriptName]] = {}
        for session_id in sorted(self._files):
            for name in self.take_all(session_id):
                stems.setdefault(name.stem, []).append(name)
        yield from stems.values()

    def parts(self, names: Iterable[TranscriptName]) -> list[Part]:
        """Files with their ids, in the order given. The last one has the first claim to an id."""
        return [self._part(name, name.session_id) for name in reversed([*names])][::-1]

    def orphan_parts(self, names: Iterable[TranscriptName]) -> list[Part]:
        """The same for files that no key names: a topic's is not taken for that of the whole group."""
        return [self._part(name, name.stem) for name in reversed([*names])][::-1]

    def _part(self, name: TranscriptName, wanted: str) -> Part:
        given = self._give(wanted) if is_session_id(wanted) else None
        return Part(session_id=given or derived_id("transcript", self._agent, name.text), file=name)

    def empty_part(self, key: SessionKey, wanted: str | None) -> Part:
        """A conversation of which no file is left."""
        session_id = (wanted and self._give(wanted)) or derived_id("session", str(key))
        return Part(session_id=session_id, file=None)

    def _give(self, session_id: str) -> str | None:
        if session_id in self._given:
            return None
        self._given.add(session_id)
        return session_id


def _keyed(known: _Known, pool: _Pool) -> Iterator[Plan]:
    """One plan a key. Files in use are given out first, so that no entry gets another's as an earlier one."""
    current: dict[SessionKey, list[Part | None]] = {}
    for key, entries in known.items():
        files = [pool.take_live(entry.session_id, _topics(key)) for entry in entries]
        current[key] = [pool.parts([name])[0] if name else None for name in files]
    for key, entries in known.items():
        parts: list[Part] = []
        for entry, part in zip(entries, current[key], strict=True):
            parts += pool.parts(pool.take_earlier(entry.earlier, _topics(key)))
            parts += pool.parts(pool.take_aside(entry.session_id, _topics(key)))
            parts += [part] if part else []
        if not parts:
            parts = [pool.empty_part(key, entries[-1].session_id)]
        yield Plan(
            source=shown(entries[-1].name),
            key=key,
            parts=tuple(parts),
            entry=entries[-1],
            archived=bool(entries[-1].times.archived),
            remarks=tuple(_remarks(entries, parts)),
        )


def _topics(key: SessionKey) -> frozenset[str]:
    return frozenset(filter(None, (key.topic, key.thread)))


def _remarks(entries: list[IndexEntry], parts: list[Part]) -> Iterator[str]:
    for other in entries[:-1]:
        yield f"{shown(other.name)} is another name of it"
    left_out = sorted({field for entry in entries for field in entry.left_out})
    if left_out:
        yield f"not taken over: {', '.join(left_out)}"
    if parts[-1].file is None:
        yield "it has no transcript"


def _orphans(pool: _Pool, agent: str) -> Iterator[Plan]:
    for files in pool.rest():
        newest = files[-1]
        yield Plan(
            source=newest.text,
            key=orphan_key(agent, newest.stem),
            parts=tuple(pool.orphan_parts(files)),
            archived=newest.fate is not None,
            remarks=("no index names it",),
        )


# -- the tree ----------------------------------------------------------------------------------------


def _with_parents(plans: list[Plan], agent: str, options: ImportOptions) -> list[Plan]:
    keys = {plan.key for plan in plans}
    parents = {plan.key: parent for plan in plans if (parent := _parent(plan, agent, options)) in keys}
    placed = [_placed(plan, parents) for plan in plans]
    depths = {plan.key: _depth(plan.key, parents) or 0 for plan in placed if plan.parent is not None}
    return sorted(placed, key=lambda plan: depths.get(plan.key, 0))


def _parent(plan: Plan, agent: str, options: ImportOptions) -> SessionKey | None:
    if plan.key.kind not in CHILD_KINDS or plan.entry is None or plan.entry.parent is None:
        return None
    try:
        return options.key(agent, plan.entry.parent)
    except InvalidInput:
        return None


def _placed(plan: Plan, parents: Mapping[SessionKey, SessionKey]) -> Plan:
    if plan.key not in parents:
        return plan
    if _depth(plan.key, parents) is None:
        return replace(plan, remarks=(*plan.remarks, "its line of parents has no end here; it stands alone"))
    return replace(plan, parent=parents[plan.key])


def _depth(key: SessionKey, parents: Mapping[SessionKey, SessionKey]) -> int | None:
    """How many parents are above a key; None if they are too many, or go round in a circle."""
    depth = 0
    while key in parents:
        key, depth = parents[key], depth + 1
        if depth > MAX_DEPTH:
            return None
    return depth
