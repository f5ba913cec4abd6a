"""The rows of a store as they are without a person. What is theirs is left out; what others share with them is blanked;
totals stay, under a name that leads to nobody. Nothing is changed here: whoever wants it writes it to a new store."""

import re
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import orjson

from roost.core.addresses import Origin
from roost.core.channeltraits import KNOWN_CHANNELS, Traits
from roost.core.children import told_id
from roost.core.deliveries import Delivery, DeliveryKind
from roost.core.erasing import ANYWHERE, ERASED, Person, blanked
from roost.core.errors import Conflict
from roost.core.fleet import Fleet
from roost.core.identities import Identity
from roost.core.letters import entry_of
from roost.core.messages import Compaction, UserMessage
from roost.core.principals import PrincipalKind
from roost.core.sessions import Labels
from roost.core.terms import Terms
from roost.stores.bodies import dump_body, load_body
from roost.stores.codec import decode, encode, stored_key
from roost.stores.names import searched
from roost.stores.sql.bulk import STEP, TABLES, Batches, Source, Table
from roost.stores.sql.rows import Binding

Fields: TypeAlias = dict[str, Binding]
# Those without words of anybody.
_PLAIN = frozenset({"gateways", "hostings"})
_BY_NAME = {table.name: table for table in TABLES}
_ACTIVE = ("queued", "running", "pending")


@dataclass(slots=True)
class _Timelines:
    """How generations go on from each other, each `named` as the next one calls it, and those in which something that was
    said is `heard_in`."""

    named: dict[Binding, Binding] = field(default_factory=dict)
    bases: dict[Binding, Binding] = field(default_factory=dict)
    heard_in: set[Binding] = field(default_factory=set)

    def note(self, row: Fields) -> None:
        self.named[row["session_id"]] = row["id"]
        self.bases[row["id"]] = row["base_session_id"]

    def hear(self, spoken: set[Binding]) -> None:
        """What was said in these is heard in what goes on from there, too."""
        heard: dict[Binding, bool] = {None: False, **dict.fromkeys(spoken, True)}
        for one in self.bases:
            way, place = list[Binding](), one
            while place not in heard:
                # Whoever comes by again goes in circles.
                heard[place] = False
                way.append(place)
                place = self.named.get(self.bases[place])
            if heard[place]:
                heard.update(dict.fromkeys(way, True))
        self.heard_in.update(one for one in self.bases if heard[one])


@dataclass(slots=True)
class _Theirs:
    """What is a person's, by the names that rows know it by. They spoke in, or were written to in, sessions of others that
    are `shared`, `shared_keys` by name; `touched` are the keys of those in which an entry is blanked, `told` the entries of no
    run that tell of them."""

    keys: set[str] = field(default_factory=set)
    sessions: set[Binding] = field(default_factory=set)
    generations: set[Binding] = field(default_factory=set)
    runs: set[Binding] = field(default_factory=set)
    traces: set[str] = field(default_factory=set)
    following: set[Binding] = field(default_factory=set)
    timelines: _Timelines = field(default_factory=_Timelines)
    spoken_in: set[Binding] = field(default_factory=set)
    shared: set[Binding] = field(default_factory=set)
    letters: set[Binding] = field(default_factory=set)
    shared_keys: set[Binding] = field(default_factory=set)
    told: set[Binding] = field(default_factory=set)
    blanked_in: set[Binding] = field(default_factory=set)
    touched: set[str] = field(default_factory=set)
    jobs: set[Binding] = field(default_factory=set)


class Without:
    """A `Source` without a person."""

    def __init__(self, source: Source, person: Person, traits: Traits = KNOWN_CHANNELS) -> None:
        self._source = source
        self._person = person
        self._traits = traits
        self._names = frozenset(map(str, person.principals))
        self._theirs = _Theirs()
        self._told = re.compile(r"(?!)")

    @property
    def where(self) -> str:
        return self._source.where

    @property
    def sessions(self) -> frozenset[str]:
        """The keys of the sessions that are left out."""
        return frozenset(self._theirs.keys)

    @property
    def touched(self) -> frozenset[str]:
        """The keys of the sessions of others in which something is blanked."""
        return frozenset(self._theirs.touched)

    async def version(self) -> int:
        return await self._source.version()

    async def fleet(self) -> Fleet:
        return await self._source.fleet()

    async def columns(self, table: Table) -> tuple[str, ...]:
        return await self._source.columns(table)

    async def count(self, table: Table) -> int:
        found = 0
        async with aclosing(self.rows(table, await self.columns(table))) as batches:
            async for rows in batches:
                found += len(rows)
        return found

    async def rows(self, table: Table, columns: Sequence[str]) -> Batches:
        # A row is judged by all of it, whatever is asked for.
        every = await self._source.columns(table)
        held: list[tuple[Binding, ...]] = []
        async with aclosing(self._source.rows(table, every)) as batches:
            async for rows in batches:
                for row in rows:
                    kept = self._without_person(table.name, dict(zip(every, row, strict=True)))
                    if kept is not None:
                        held.append(tuple(kept[name] for name in columns))
                if len(held) >= STEP:
                    yield held[:STEP]
                    del held[:STEP]
        if held:
            yield held

    # -- what is theirs ------------------------------------------------------------------------------

    async def look(self) -> None:
        """Find out what is theirs, before any row is asked for."""
        theirs = self._theirs
        await self._each_row("sessions", self._note_session)
        for table in ("ledger", "ended_feeds", "inbound"):
            await self._each_row(table, self._note_key)
        await self._each_row("inbound", self._note_message)
        self._told = self._telling()
        await self._each_row("generations", self._note_generation)
        await self._each_row("jobs", lambda row: theirs.jobs.add(row["id"]) if self._is_theirs(row) else None)
        await self._each_row("deliveries", self._note_letter)
        await self._each_row("entries", self._note_said)
        await self._each_row("runs", self._note_run)
        await self._each_row("runs", self._note_following)
        theirs.told.update(told_id(str(run)) for run in theirs.runs)
        await self._each_row("entries", self._note_told)
        theirs.timelines.hear(theirs.spoken_in | theirs.generations)
        await self._each_row("entries", self._note_blanked)
        blanked: set[Binding] = set()
        await self._each_row("generations", lambda row: self._note_shared(row, blanked))
        await self._each_row("sessions", lambda row: self._note_touched(row, blanked))
        for table in ("runs", "inbound"):
            await self._each_row(table, self._refuse_active)

    async def _each_row(self, table: str, note: Callable[[Fields], None]) -> None:
        columns = await self._source.columns(_BY_NAME[table])
        async with aclosing(self._source.rows(_BY_NAME[table], columns)) as batches:
            async for rows in batches:
                for row in rows:
                    note(dict(zip(columns, row, strict=True)))

    def _note_session(self, row: Fields) -> None:
        if row["principal"] in self._names or self._person.has(stored_key(str(row["key"]))):
            self._theirs.keys.add(str(row["key"]))
            self._theirs.sessions.add(row["id"])

    def _note_key(self, row: Fields) -> None:
        """Sessions that were there once have left their keys."""
        if self._person.has(stored_key(str(row["key"]))):
            self._theirs.keys.add(str(row["key"]))

    def _note_message(self, row: Fields) -> None:
        """Also one that no run took is spoken of where it was said."""
        if self._is_theirs(row):
            self._theirs.shared_keys.add(row["key"])

    def _note_generation(self, row: Fields) -> None:
        self._theirs.timelines.note(row)
        if row["session"] in self._theirs.sessions:
            self._theirs.generations.add(row["id"])

    def _note_run(self, row: Fields) -> None:
        if self._is_theirs(row) or row["id"] in self._theirs.runs:
            self._theirs.runs.add(row["id"])
            self._theirs.traces.add(_trace(row))

    def _note_following(self, row: Fields) -> None:
        """What follows from a turn in which they spoke with others is nobody's, and tells what they said."""
        if str(row["principal"]).startswith(f"{PrincipalKind.AGENT}:") and _trace(row) in self._theirs.traces:
            self._theirs.runs.add(row["id"])
            self._theirs.following.add(row["id"])

    def _note_letter(self, row: Fields) -> None:
        if orjson.loads(str(row["body"])).get("kind") != DeliveryKind.LETTER:
            return
        to = decode(Delivery, str(row["body"])).address
        if self._person.is_at(to.channel, to.whose, self._traits):
            self._theirs.letters.add(row["id"])
            self._theirs.told.add(entry_of(str(row["id"])))

    def _note_said(self, row: Fields) -> None:
        if row["generation"] in self._theirs.generations or not self._is_said(row):
            return
        self._theirs.spoken_in.add(row["generation"])
        if row["run_id"] is not None:
            self._theirs.runs.add(row["run_id"])

    def _note_told(self, row: Fields) -> None:
        tells = row["run_id"] in self._theirs.following or row["entry_id"] in self._theirs.told
        if row["generation"] not in self._theirs.generations and tells:
            self._theirs.spoken_in.add(row["generation"])

    def _note_blanked(self, row: Fields) -> None:
        if row["generation"] not in self._theirs.generations and self._is_blanked(row):
            self._theirs.blanked_in.add(row["generation"])

    def _note_shared(self, row: Fields, blanked: set[Binding]) -> None:
        if row["id"] in self._theirs.spoken_in:
            self._theirs.shared.add(row["session"])
        if row["id"] in self._theirs.blanked_in:
            blanked.add(row["session"])

    def _note_touched(self, row: Fields, blanked: set[Binding]) -> None:
        if row["id"] in self._theirs.shared:
            self._theirs.shared_keys.add(row["key"])
        if row["id"] in blanked:
            self._theirs.touched.add(str(row["key"]))

    def _refuse_active(self, row: Fields) -> None:
        theirs = self._is_theirs(row) or row["id"] in self._theirs.runs
        if row["state"] in _ACTIVE and theirs and row["key"] not in self._theirs.keys:
            raise Conflict(
                f"a message of theirs is not answered yet in {row['key']}",
                hint="start the gateway and let it finish, or stop it there; nothing was erased",
            )

    def _is_theirs(self, row: Fields) -> bool:
        return row.get("principal") in self._names or row.get("key") in self._theirs.keys

    def _telling(self) -> "re.Pattern[str]":
        """What in a text of the gateway's own speaks of them: who they are, their sessions, their chats."""
        plain = {*self._names, *self._theirs.keys}
        words = sorted(map(re.escape, plain | {encode(one)[1:-1] for one in plain}))
        named = rf"(?<![\w:-])(?:{'|'.join(words)})(?![\w%-])"
        return re.compile("|".join((named, *(_address_pattern(one) for one in self._person.identities))))

    # -- what is left --------------------------------------------------------------------------------

    def _without_person(self, table: str, row: Fields) -> Fields | None:
        """A row as it is without them, if there still is one."""
        theirs = self._theirs
        match table:
            case "sessions":
                return None if row["id"] in theirs.sessions else self._session(row)
            case "generations" | "events" | "participants":
                gone = row["session"] in theirs.sessions or row.get("principal") in self._names
                return None if gone else row
            case "entries":
                return None if row["generation"] in theirs.generations else self._entry(row)
            case "lineage":
                return {**row, **{name: self._stand_in_key(row[name]) for name in ("descendant", "ancestor")}}
            case "ledger":
                who = str(self._person.stand_in) if row["principal"] in self._names else row["principal"]
                return {**row, "principal": who, "key": self._stand_in_key(row["key"])}
            case _ if table in _PLAIN:
                return row
            case _:
                return None if self._speaks(row) else self._beside(table, row)

    def _speaks(self, row: Fields) -> bool:
        """Whether a row is theirs, tells of them, or belongs to a run of theirs."""
        if (
            self._is_theirs(row)
            or row.get("job") in self._theirs.jobs
            or row.get("id") in self._theirs.letters
            or row.get("id") in self._theirs.runs
        ):
            return True
        if any(row.get(name) in self._theirs.runs for name in ("run_id", "batch", "child_run")):
            return True
        if any(isinstance(value, str) and self._told.search(value) for value in row.values()):
            return True
        return "body" in row and self._of_run(str(row["body"]))

    def _beside(self, table: str, row: Fields) -> Fields | None:
        """A row of others. Where they spoke, what the gateway itself said may quote them: its notices, and its answers to
        commands of anybody."""
        if row.get("key") not in self._theirs.shared_keys or table not in ("deliveries", "inbound"):
            return row
        body = orjson.loads(str(row["body"]))
        if body.get("kind") in (DeliveryKind.NOTICE, DeliveryKind.COMMAND):
            return None
        answered = body.get("answer") is not None
        return {**row, "body": orjson.dumps({**body, "answer": ERASED}).decode()} if answered else row

    def _of_run(self, body: str) -> bool:
        found = orjson.loads(body)
        sent = found.get("sent") or {}
        return not self._theirs.runs.isdisjoint(
            one for one in (found.get("run_id"), sent.get("by"), sent.get("run_id")) if one
        )

    def _stand_in_key(self, key: Binding) -> Binding:
        if key not in self._theirs.keys:
            return key
        return str(self._person.stand_in_for(stored_key(str(key))))

    def _session(self, row: Fields) -> Fields:
        """A session of others: its route may lead to them, its title be their words, and what they had a child called."""
        kept = dict(row)
        origin, labels = decode(Origin, str(row["origin"])), decode(Labels, str(row["labels"]))
        terms = decode(Terms, str(row["terms"])) if row["terms"] is not None else None
        ends = (origin.sender, origin.to)
        if any(self._person.is_at(origin.provider, one, self._traits) for one in ends):
            origin, labels = Origin(), replace(labels, display_name=None)
        if row["route"] is not None and self._told.search(str(row["route"])):
            kept["route"] = None
        if row["id"] in self._theirs.shared:
            kept |= {"title": None, "preview": None}
            if terms is not None:
                labels, terms = replace(labels, label=None), replace(terms, task=ERASED, task_name=None)
                kept |= {"terms": encode(terms), "label": None}
        if kept != row or encode(origin) != row["origin"]:
            first = str(kept["title"]) if kept["title"] else None
            found_by = searched(str(row["key"]), labels, terms.task if terms else None, first)
            kept |= {"origin": encode(origin), "labels": encode(labels), "haystack": found_by}
        return kept

    def _entry(self, row: Fields) -> Fields:
        """An entry of others' sessions: blank if they said it, if it was said to them, or if it sums up what they said."""
        if not self._is_blanked(row):
            return row
        who = str(self._person.stand_in) if row["principal"] in self._names else row["principal"]
        body = dump_body(blanked(load_body(str(row["body"])), self._person))
        return {**row, "body": body, "source": None, "principal": who, "source_session": None}

    def _is_blanked(self, row: Fields) -> bool:
        return self._is_said(row) or row["run_id"] in self._theirs.runs or self._sums_up_or_tells(row)

    def _is_said(self, row: Fields) -> bool:
        """Whether they said it, or it was written to them."""
        own = row["principal"] in self._names or row["source_session"] in self._theirs.keys
        return own or row["entry_id"] in self._theirs.told or self._is_one_of(row)

    def _is_one_of(self, row: Fields) -> bool:
        """Whether they spoke in it with others."""
        told = str(row["body"])
        if not any(encode(name) in told for name in self._names):
            return False
        body = load_body(told)
        return isinstance(body, UserMessage) and not self._person.principals.isdisjoint(
            body.provenance.voices
        )

    def _sums_up_or_tells(self, row: Fields) -> bool:
        """What people wrote about them is not theirs; what tools found in their sessions is."""
        tells = self._told.search(str(row["body"])) is not None
        if not tells and row["generation"] not in self._theirs.timelines.heard_in:
            return False
        body = load_body(str(row["body"]))
        return isinstance(body, Compaction) or (tells and not isinstance(body, UserMessage))


def _trace(run: Fields) -> str:
    return str((orjson.loads(str(run["body"])).get("cause") or {}).get("trace"))


def _address_pattern(one: Identity) -> str:
    """How an address of theirs is written in a row, and who they are on a channel."""
    channel = '"[^"]*"' if one.channel == ANYWHERE else re.escape(encode(one.channel))
    who = re.escape(encode(one.id))
    return rf'\{{"channel":{channel},(?:"(?:to|id)":{who}|[^{{}}]*"person":{who})'
