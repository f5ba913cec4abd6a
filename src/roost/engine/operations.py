"""What an operator does to a session without saying anything in it. Each is one decision under the session's lock."""

from collections.abc import Callable
from dataclasses import dataclass

from roost.core import stopping
from roost.core.addressed import facts_of_named
from roost.core.effects import (
    AppendEntries,
    Archive,
    ChangeSession,
    DeleteSession,
    DiscardSession,
    Effects,
    OpenSession,
    Pin,
)
from roost.core.entries import EntryDraft
from roost.core.errors import Conflict, InvalidInput
from roost.core.keys import KeyKind, SessionKey
from roost.core.labels import namesakes, refuse_namer, refuse_taken
from roost.core.messages import AssistantMessage, ProvenanceKind, Text
from roost.core.principals import Principal
from roost.core.queries import SessionQuery
from roost.core.references import refuse_unknown
from roost.core.resets import RESET_REASON, Reset, end_begun, open_generation
from roost.core.runs import Cause, Run, RunState, StopRequest
from roost.core.sessions import Base, Generation, Labels, OpenedBy, Overrides, Session, Times
from roost.core.snapshots import Decide, Snapshot
from roost.core.timeline import continued
from roost.core.trees import Tree
from roost.core.upkeep import CONDENSED, Condensing, compaction_request, condense
from roost.core.visibility import Operation, PersonCaller, scope
from roost.engine.census import Census
from roost.engine.reaching import existing, reach
from roost.engine.rulebook import Rulebook
from roost.engine.rules import NewId
from roost.engine.stops import Stops
from roost.ports import Clock, Store, Topic, TopicKind
from roost.ports.limits import OutOfTime, watched

STOPPED = "stopped by the operator"
_DELETED = "the session was deleted"
_TO_END_MS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What becomes of a session; None leaves a part as it is. `label` is one that is asked for."""

    label: str | None = None
    labels: Callable[[Labels], Labels] | None = None
    overrides: Callable[[Overrides], Overrides] | None = None
    archived: bool | None = None
    pinned: bool | None = None

    @property
    def operation(self) -> Operation:
        """Whoever takes part may set what it answers with; whether it stays is for its owner to say."""
        stays = self.archived is None and self.pinned is None
        return Operation.PATCH if stays else Operation.DELETE


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """A run, and what can be told of it at once."""

    run_id: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a caller saw of a session: by which ids it went, and when it was last touched."""

    session_ids: frozenset[str] = frozenset()
    updated: float | None = None

    def refuse(self, snapshot: Snapshot) -> None:
        """Where it is so no more."""
        self.refuse_other(snapshot)
        times = snapshot.session.times if snapshot.session else None
        if self.updated is not None and (times is None or times.updated != self.updated):
            raise Conflict(f"session {snapshot.key} was touched meanwhile", hint="read it again")

    def refuse_other(self, snapshot: Snapshot) -> None:
        """Where there is another one now."""
        there = {snapshot.session.session_id} if snapshot.session else set[str]()
        if self.session_ids and self.session_ids != there:
            raise Conflict(f"session {snapshot.key} is another one now", hint="read it again")


ANYTHING = Seen()


class Operations:
    def __init__(
        self, store: Store, clock: Clock, new_id: NewId, book: Rulebook, stops: Stops, census: Census
    ) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._book = book
        self._stops = stops
        self._census = census

    async def open(
        self,
        caller: PersonCaller,
        key: SessionKey,
        labels: Labels,
        overrides: Overrides,
        base: Base | None = None,
    ) -> Session:
        """The session under a key, opened if it is not there, on its base if it has one; one that is stays as it is."""
        found = await reach(self._store, Operation.SEND, caller, key, self._clock.now())
        owner = self._owner(found, caller, key)
        if found is None:
            refuse_unknown(key.agent, self._agents)
            await self._refuse_label(owner, key, labels.label)
            await self._census.make_room()
        opened = self._opened(owner, key, labels, overrides, base)

        def decide(snapshot: Snapshot) -> Effects:
            return (opened,) if snapshot.session is None else ()

        return _remaining(key, await self._store.change_session(key, decide))

    async def branch(
        self, caller: PersonCaller, source: SessionKey, base: Base, overrides: Overrides
    ) -> Session:
        """A session of its own that goes on from a place in another, which stays as it is."""
        agent = source.agent or self._book.current.routing.default_agent
        key = SessionKey(agent=agent, kind=KeyKind.DASHBOARD, name=self._new_id())
        return await self.open(caller, key, Labels(), overrides, base)

    async def change(
        self, caller: PersonCaller, key: SessionKey, change: Change, seen: Seen = ANYTHING
    ) -> Session:
        now = self._clock.now()
        found = await reach(self._store, change.operation, caller, key, now)
        if change.archived:
            self._refuse_main(key, "archive")
        owner = self._owner(found, caller, key)
        if change.labels is not None:
            refuse_namer(caller, owner)
        await self._refuse_label(owner, key, change.label)
        if found is None:
            await self._census.make_room()
        opened = self._opened(owner, key, Labels(), Overrides())

        def decide(snapshot: Snapshot) -> Effects:
            seen.refuse(snapshot)
            fresh: Effects = (opened,) if snapshot.session is None else ()
            return (*fresh, *_changes(snapshot.session or opened.session, change, now))

        return _remaining(key, await self._store.change_session(key, decide))

    async def reset(
        self, caller: PersonCaller, key: SessionKey, reason: OpenedBy, seen: Seen = ANYTHING
    ) -> Session:
        """Go on under a new `session_id`; what runs or hangs below is stopped."""
        await existing(self._store, Operation.RESET, caller, key, self._clock.now())
        now, ends = self._clock.now(), list[str]()
        fresh = Reset(reason=reason, session_id=self._new_id(), at=now, rule="operator")
        request = StopRequest(reason=RESET_REASON, by=caller.principal, at=now)

        def decide(tree: Tree) -> Effects:
            seen.refuse(tree.session)
            below, running = stopping.stop_below(tree, request), tree.session.running
            ends[:] = (*below.runs, *((running.id,) if running else ()))
            return (
                *below.effects,
                *end_begun(tree.session, request),
                *open_generation(tree.session, fresh),
            )

        await self._store.change_tree(key, decide)
        self._end(ends, RESET_REASON)
        return await existing(self._store, Operation.RESET, caller, key, self._clock.now())

    async def condense(self, caller: PersonCaller, key: SessionKey) -> Queued:
        """Queue the condensing of a conversation."""
        await existing(self._store, Operation.PATCH, caller, key, self._clock.now())
        refuse_unknown(key.agent, self._agents)
        now, run_id = self._clock.now(), self._new_id()
        run = Run(
            id=run_id,
            key=key,
            state=RunState.QUEUED,
            cause=Cause(principal=caller.principal, kind=ProvenanceKind.HUMAN, trace=run_id),
            request=compaction_request(),
            queued_at=now,
            ready_at=now,
        )
        wishes = list[Condensing]()

        def decide(snapshot: Snapshot) -> Effects:
            wishes[:] = (condense(snapshot, run),)
            return wishes[0].effects

        await self._store.change_session(key, decide)
        self._end(list(wishes[0].ends), CONDENSED)
        return Queued(run_id=run_id, words=wishes[0].words)

    async def delete(self, caller: PersonCaller, key: SessionKey, seen: Seen = ANYTHING) -> Session | None:
        """Remove a session, after what runs in it was stopped; the one that was there, unless somebody else removed it. One
        that was opened in its place meanwhile stays."""
        session = await reach(self._store, Operation.DELETE, caller, key, self._clock.now())
        self._refuse_main(key, "delete")
        if session is None:
            return None
        await self._refuse_continued(caller, key)
        request = StopRequest(reason=_DELETED, by=caller.principal, at=self._clock.now())
        ends = list[str]()

        def halt(tree: Tree) -> Effects:
            seen.refuse(tree.session)
            if not _is(tree.session, session):
                return ()
            done = stopping.stop(tree, request)
            ends[:] = done.runs
            return done.effects

        await self._store.change_tree(key, halt)
        self._end(ends, request.reason)
        return session if await self._remove(session, seen) else None

    async def stop(self, caller: PersonCaller, key: SessionKey, run_id: str | None = None) -> tuple[str, ...]:
        """Stop one turn of a session, or all there is in it and below; the runs that were under way or waited."""
        if await reach(self._store, Operation.STOP, caller, key, self._clock.now()) is None:
            return ()
        request = StopRequest(reason=STOPPED, by=caller.principal, at=self._clock.now())
        stopped, ends = list[str](), list[str]()

        def decide(tree: Tree) -> Effects:
            done = (
                stopping.stop(tree, request) if run_id is None else stopping.stop_run(tree, run_id, request)
            )
            ends[:] = done.runs
            one = () if done.nothing or run_id is None else (run_id,)
            stopped[:] = stopping.named(tree, done) if run_id is None else one
            return done.effects

        await self._store.change_tree(key, decide)
        self._end(ends, STOPPED)
        return tuple(stopped)

    async def note(self, caller: PersonCaller, key: SessionKey, text: str) -> str:
        """Add a line of the agent's that no model wrote; its id."""
        session = await existing(self._store, Operation.PATCH, caller, key, self._clock.now())
        self._book.current.house.room.refuse_long(session)
        words = AssistantMessage(content=(Text(text),), at=self._clock.now())
        draft = EntryDraft(id=self._new_id(), body=words)
        await self._store.change_session(key, lambda _: (AppendEntries(key=key, drafts=(draft,)),))
        return draft.id

    @property
    def _agents(self) -> tuple[str, ...]:
        return self._book.current.commands.agents

    def _refuse_main(self, key: SessionKey, what: str) -> None:
        """Timers, hooks and other sessions must always find the main session, as long as somebody answers there."""
        gone = key.agent and key.agent not in self._agents
        if key.is_main(self._book.current.routing.main_name) and not gone:
            raise InvalidInput(f"Cannot {what} the main session ({key}).", hint="reset it instead")

    async def _refuse_continued(self, caller: PersonCaller, key: SessionKey) -> None:
        if forks := await self._store.forks(key):
            shown = SessionQuery(scope=scope(Operation.LIST, caller), keys=frozenset(forks), archived=None)
            raise continued(key, by=[row.key for row in (await self._store.list_sessions(shown)).rows])

    async def _remove(self, session: Session, seen: Seen) -> bool:
        """As soon as its runs have ended and its senders were told; in the end a refusal says what is left of it. Whether
        it was there to be removed."""
        key, there = session.key, True

        def removing(effect: DeleteSession) -> Decide:
            def decide(snapshot: Snapshot) -> Effects:
                nonlocal there
                # What was stopped for it has touched it.
                seen.refuse_other(snapshot)
                there = _is(snapshot, session)
                return (effect,) if there else ()

            return decide

        async def gone() -> bool | None:
            left = await self._store.change_session(key, removing(DiscardSession(key=key)))
            return True if left is None or not there else None

        async def wait() -> bool:
            return await self._store.wait_for(Topic(TopicKind.SESSION, str(key)), gone)

        deadline = self._clock.now() + _TO_END_MS
        try:
            await watched(self._clock, lambda: deadline - self._clock.now(), wait)
        except OutOfTime:
            await self._store.change_session(key, removing(DeleteSession(key=key)))
        return there

    def _end(self, run_ids: list[str], reason: str) -> None:
        for run_id in run_ids:
            self._stops.end(run_id, reason)

    def _owner(self, found: Session | None, caller: PersonCaller, key: SessionKey) -> Principal:
        """Whose a session is, or would be. Nobody but its parent opens a child."""
        return found.owner if found else self._book.current.routing.ownership.named(key, caller.principal)

    def _opened(
        self,
        owner: Principal,
        key: SessionKey,
        labels: Labels,
        overrides: Overrides,
        base: Base | None = None,
    ) -> OpenSession:
        main_name, now = self._book.current.routing.main_name, self._clock.now()
        session = Session(
            key=key,
            owner=owner,
            session_id=self._new_id(),
            facts=facts_of_named(key, main_name),
            times=Times(created=now, updated=now, started=now, interacted=now),
            labels=labels,
            overrides=overrides,
        )
        generation = Generation(
            session_id=session.session_id,
            key=key,
            number=1,
            opened_at=now,
            opened_by=OpenedBy.FIRST if base is None else OpenedBy.FORK,
            base=base,
        )
        return OpenSession(session=session, generation=generation)

    async def _refuse_label(self, owner: Principal, key: SessionKey, label: str | None) -> None:
        if label is not None:
            page = await self._store.list_sessions(namesakes(label, owner))
            refuse_taken(label, key, page.rows)


def _changes(session: Session, change: Change, now: int) -> Effects:
    key, effects = session.key, list[ChangeSession | Archive | Pin]()
    if change.labels is not None or change.overrides is not None:
        labels = change.labels(session.labels) if change.labels else None
        overrides = change.overrides(session.overrides) if change.overrides else None
        effects.append(ChangeSession(key=key, labels=labels, overrides=overrides))
    if change.archived is not None:
        effects.append(Archive(key=key, at=now if change.archived else None))
    if change.pinned is not None:
        effects.append(Pin(key=key, at=now if change.pinned else None))
    return tuple(effects)


def _is(snapshot: Snapshot, session: Session) -> bool:
    """Whether it is still there, started afresh or not."""
    found = snapshot.session
    return found is not None and found.times.created == session.times.created


def _remaining(key: SessionKey, session: Session | None) -> Session:
    if session is None:
        raise Conflict(f"session {key} was removed meanwhile", hint="try again")
    return session
