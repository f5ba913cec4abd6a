"""From the engine's feed to the clients: one listener hears of everything, writes each event once, and gives it to those
who may see the session it is about."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import assert_never

import anyio
from anyio.lowlevel import checkpoint

from roost.core.children import told_id
from roost.core.errors import StoreUnavailable
from roost.core.events import EventKind
from roost.core.feeds import (
    Interest,
    ListGap,
    ListItem,
    SessionChanged,
    SessionGone,
    SessionTouched,
    Shown,
)
from roost.core.inbound import InboundRecord, InboundState
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.keys import SessionKey
from roost.core.ledger import Counted, taken_by
from roost.core.messages import AssistantMessage, UserMessage, text_of
from roost.core.previews import ModelAsked, Piece, Preview, RunBegan, RunOver
from roost.core.principals import OWNER
from roost.core.queries import HistoryQuery, LedgerQuery
from roost.core.runs import Run, RunKind, RunState
from roost.core.sessions import Overrides, Session
from roost.core.visibility import PersonCaller
from roost.engine.subscriptions import ListFeed
from roost.protocol.convert.turns import Turn
from roost.protocol.events import CHANGED, Audience, WireEvent
from roost.server.clients import Connected
from roost.server.house import House
from roost.server.listeners import Cut, Listeners, as_of, everything, until
from roost.server.sends import Send
from roost.server.telling import Telling

PAGE = 100
UNTOLD = frozenset({RunKind.COMPACTION, RunKind.FLUSH})
LOST = "it was not answered"
CHANGE = "patch"
_REASONS: Mapping[EventKind, str] = MappingProxyType(
    {
        EventKind.SESSION_OPENED: "create",
        EventKind.SESSION_RESET: "reset",
        EventKind.INPUT_ACCEPTED: "send",
        EventKind.RUN_QUEUED: "send",
        # A run that starts with what opened it.
        EventKind.RUN_STARTED: "send",
    }
)


class Fanout:
    def __init__(self, house: House) -> None:
        self.telling = Telling(house)
        self._house = house
        # What is told in one go is told of one name, and who inherits it finds it told or untold.
        self._naming = anyio.Lock(fast_acquire=True)
        self._turns: dict[str, Turn] = {}
        self._listeners = Listeners(house, self.telling)
        self._ended: dict[SessionKey, str] = {}
        self._unsettled: set[SessionKey] = set()
        self._unannounced: list[Run] = []
        self._items: ListFeed | None = None

    async def serve(self) -> None:
        """Tell clients until cancelled."""
        feed, owner = self._house.engine.feed, PersonCaller(principal=OWNER)
        with self._house.store.watch_ends(self._look_at):
            async with feed.subscribe_all(owner, self._interest) as items:
                self._items = items
                # Whoever listened before may have ended, and missed something.
                async with self._naming:
                    await self._catch_up(items)
                async for item in items:
                    async with self._naming:
                        await self._hear(item, items)

    # -- what handlers ask for -----------------------------------------------------------------------

    def listen(self, client: Connected, session: Session | None, key: SessionKey) -> None:
        """Give a client the messages of a session, from how it was read on."""
        followed = self._follows(key)
        self._listeners.begin(client, session, key)
        if self._items is not None and not followed:
            # What was stored meanwhile was nobody's news.
            self._items.changed(key)

    def unlisten(self, client: Connected, key: SessionKey) -> None:
        self._listeners.end(client, key)

    def under_way(self, key: SessionKey) -> tuple[Turn, ...]:
        """What is being answered in a session."""
        return tuple(turn for turn in self._turns.values() if turn.run.key == key)

    def arrived(self, key: SessionKey) -> None:
        """A message was taken in and opened a run; what became of that meanwhile was not told."""
        if key in self._unsettled:
            self._look_at(key)

    async def inherit(self, heir: Send) -> bool:
        """A run goes by the name of a message that joined it, if the one that named it fell out of the queue; whoever sent
        that is told. So is the heir, if it fell out as well."""
        # One after another: each may be the heir of the one before.
        async with self._naming:
            return await self._inherit(heir)

    async def _inherit(self, heir: Send) -> bool:
        sends, own = self._house.sends, await self._record(heir)
        if own and own.state is InboundState.DEAD:
            await self.telling.lost(heir.name, heir.key, own.reason or LOST)
            return True
        fell = sends.of(heir.run_id)
        record = fell and await self._record(fell)
        if not fell or not record or record.state is not InboundState.DEAD:
            return False
        told = heir.run_id not in self._awaited(heir.key)
        sends.expect(heir)
        if turn := self._turns.get(heir.run_id):
            turn.name = heir.name
            sends.begun(heir.run_id)
        else:
            # It may have ended meanwhile.
            self._look_at(heir.key)
        if not told:
            await self.telling.lost(fell.name, fell.key, record.reason or LOST)
        return True

    async def _record(self, send: Send) -> InboundRecord | None:
        return await self._house.store.inbound_by_key(send.principal, send.key, send.name)

    # -- what the engine says ------------------------------------------------------------------------

    async def _hear(self, item: ListItem, items: ListFeed) -> None:
        match item:
            case ListGap():
                await self._catch_up(items)
            case SessionChanged(session=session):
                await self._settle(items, session.key)
                await self._changed(session)
            case SessionGone(key=key):
                self._unsettled.add(key)
                await self._settle(items, key)
                self._session_gone(key)
            case SessionTouched(key=key):
                await self._settle(items, key)
            case Shown(preview=preview, after=anchor):
                await self._preview(preview, until(anchor))
            case _:
                assert_never(item)

    async def _preview(self, preview: Preview, stored: Cut) -> None:
        if isinstance(preview, RunBegan):
            self._begin(preview.run)
        elif isinstance(preview, RunOver):
            self._house.meters.over(preview.run)
        turn = self._turns.get(preview.run_id)
        if turn is None:
            return
        if isinstance(preview, ModelAsked):
            # The model is asked before anybody is told of it: both take about as long.
            await checkpoint()
        if not isinstance(preview, Piece):
            await self._listeners.tell(preview.key, stored)
        await self.telling.of(preview.key, *turn.tell(preview, self._house.clock.now()))
        if turn.over:
            del self._turns[preview.run_id]
            if not self._awaited(preview.key):
                self._unsettled.discard(preview.key)
            self._house.clients.over(preview.key, turn.name)
            if self._house.clients.watched:
                self._ended[preview.key] = turn.name
        if isinstance(preview, RunOver):
            self._unannounced.append(preview.run)
            await self._announce()

    def _begin(self, run: Run) -> None:
        self._house.sends.begun(run.id)
        if run.request.kind not in UNTOLD and run.id not in self._turns:
            self._turns[run.id] = Turn(run, self._house.sends.name(run.id), self._house.scanner)

    async def _changed(self, session: Session) -> None:
        key = session.key
        if not self.under_way(key):
            # While a run is under way, what it stores is told between what it says.
            await self._listeners.tell(key, as_of(session), session)
        turn = self._turn_of(key)
        if self._house.clients.watched:
            why = turn or {"reason": await self._reason(session)}
            row = self._house.rows.row(session, titles=True, last=True)
            changed: dict[str, JsonValue] = {"ts": self._house.clock.now(), **why}
            payload: JsonObject = {**row, "sessionKey": str(key), **changed, "session": row}
            self.telling.seen(
                session, WireEvent(name=CHANGED, payload=payload, audience=Audience.WATCHERS, key=key)
            )

    def _interest(self, key: SessionKey) -> Interest:
        if self._follows(key):
            return Interest.STATE
        return Interest.TOUCH if key in self._unsettled else Interest.NONE

    def _follows(self, key: SessionKey) -> bool:
        """Whether anybody is to be told how a session stands now."""
        return key in self._listeners or key in self._ended or self._house.clients.watched

    def _turn_of(self, key: SessionKey) -> JsonObject | None:
        """The turn that a change is of, if it is one's."""
        ended, turns = self._ended.pop(key, None), self.under_way(key)
        if turns:
            return {"phase": "start", "runId": turns[0].name}
        return None if ended is None else {"phase": "end", "runId": ended}

    async def _reason(self, session: Session) -> str:
        """What happened last in a session."""
        events = await self._house.store.events(session.key, after=session.events - 1, limit=1)
        return _REASONS.get(events[0].kind, CHANGE) if events else CHANGE

    def _session_gone(self, key: SessionKey) -> None:
        # One that was not there yet may come, and one that comes back counts on.
        self._listeners.forget_unheard(key)
        self._ended.pop(key, None)
        payload: dict[str, JsonValue] = {"reason": "delete", "ts": self._house.clock.now()}
        named: JsonObject = {"sessionKey": str(key), "agentId": key.agent, **payload}
        # Whose it was cannot be told any more.
        self.telling.ruling(WireEvent(name=CHANGED, payload=named, audience=Audience.WATCHERS))

    async def _announce(self) -> None:
        """Tell of the runs that ended here what their requesters were told; what cannot be read now is told later."""
        while self._unannounced:
            run = self._unannounced.pop(0)
            try:
                await self._announced(run)
            except StoreUnavailable:
                self._unannounced.insert(0, run)
                raise

    async def _announced(self, run: Run) -> None:
        """A child's end stands in the transcript of its requester, and no run says it there. Of one that was killed
        nothing is said."""
        requester = run.request.requester
        if requester is None or (run.outcome and run.outcome.state is RunState.KILLED):
            return
        told = told_id(run.request.completes or run.id)
        page = await self._house.store.history(HistoryQuery(key=requester, limit=PAGE))
        for entry in page.entries:
            if entry.id == told and isinstance(entry.body, UserMessage):
                await self.telling.injected(requester, entry.id, text_of(entry.body))

    async def _settle(self, items: ListFeed, key: SessionKey) -> None:
        """Tell of what ended unheard: before it began, on another gateway, or while nobody listened."""
        if key not in self._unsettled:
            return
        self._unsettled.discard(key)
        for run_id in self._awaited(key):
            if self._house.sends.arrives(run_id):
                # Whoever takes it in says what became of it, or that it is to be looked at.
                self._unsettled.add(key)
                continue
            run = None if items.expects(run_id) else await self._house.store.run(run_id)
            if items.expects(run_id):
                # It says so itself, unless it is cut off.
                self._unsettled.add(key)
                continue
            if run is not None and run.outcome is None:
                continue
            if run or run_id in self._turns:
                # One that was told of and is not there was deleted.
                await self._run_over(run or self._turns[run_id].run)
            else:
                await self._unfound(run_id)

    async def _unfound(self, run_id: str) -> None:
        """The run that a message opened is not there: it was deleted with its session."""
        if send := self._house.sends.of(run_id):
            record = await self._record(send)
            await self.telling.lost(send.name, send.key, (record and record.reason) or LOST)
            self._house.sends.begun(run_id)

    def _look_at(self, key: SessionKey) -> None:
        """Something that clients wait for may have ended in a session."""
        self._unsettled.add(key)
        if self._items is not None:
            self._items.changed(key)

    def _awaited(self, key: SessionKey) -> set[str]:
        """The runs of a session whose ends clients wait for."""
        sent = {send.run_id for send in self._house.sends.waiting(key)}
        return sent.union(turn.run.id for turn in self.under_way(key))

    async def _run_over(self, run: Run) -> None:
        if run.id not in self._turns and run.started_at is None:
            error = run.outcome.error if run.outcome else None
            await self.telling.lost(self._house.sends.name(run.id), run.key, error or LOST)
            self._house.sends.begun(run.id)
            return
        self._begin(run)
        session, words = await self._house.store.session(run.key), await self._last_words(run)
        over = RunOver(
            run=run,
            words=words,
            took=await self._usage_of(run, words),
            overrides=Overrides() if session is None else session.overrides,
        )
        await self._preview(over, everything)

    async def _catch_up(self, items: ListFeed) -> None:
        """Something was missed: what ended meanwhile is told now, what goes on is told anew by who says it."""
        await self._announce()
        keys = {turn.run.key for turn in self._turns.values()} | self._house.sends.awaited()
        self._unsettled.clear()
        self._unsettled |= keys
        for key in keys:
            await self._settle(items, key)
        for key in self._listeners.keys:
            if not self.under_way(key):
                await self._listeners.tell(key, everything)

    # ------------------------------------------------------------------------------------------------

    async def _last_words(self, run: Run) -> AssistantMessage | None:
        within = HistoryQuery(key=run.key, session_id=run.session_id, tools=False, limit=PAGE)
        page = await self._house.store.history(within)
        said = (entry.body for entry in reversed(page.entries) if entry.run_id == run.id)
        return next((body for body in said if isinstance(body, AssistantMessage)), None)

    async def _usage_of(self, run: Run, words: AssistantMessage | None) -> Counted:
        if words is None:
            return Counted()
        then = LedgerQuery(key=run.key, since=words.at, until=words.at + 1)
        calls = await self._house.store.ledger(then, offset=0, limit=PAGE)
        return taken_by(words, (call for call in calls if call.run_id == run.id))
