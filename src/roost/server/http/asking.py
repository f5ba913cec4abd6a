"""One question to an agent, by a caller who waits for the answer and for nothing else. Who hangs up stops it, unless he gave it a name to ask again by."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

import anyio

from roost.core.addressed import Addressed, Commands
from roost.core.endings import visible
from roost.core.errors import InvalidInput, NotFound, RoostError
from roost.core.events import Event, EventKind
from roost.core.feeds import FeedItem
from roost.core.inbound import refuse_other
from roost.core.keys import SessionKey
from roost.core.messages import StopReason, Usage
from roost.core.previews import RunOver, SpokenText
from roost.core.queuesettings import QueueMode
from roost.core.visibility import PersonCaller
from roost.engine.inbox import TurnedAway
from roost.engine.waits import Waited
from roost.ports import Accepted
from roost.protocol.completions import Wanted
from roost.server.callers import Stay
from roost.server.endings import NOT_TAKEN, Fate, ending
from roost.server.house import House

_log = logging.getLogger(__name__)

LONGEST_MS = 24 * 3_600_000
BREAK = "\n\n"
NOTHING = Usage()

Say: TypeAlias = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """`failure` says why there is none; one that is `cut` ends where there was no more room."""

    text: str = ""
    cut: bool = False
    usage: Usage = NOTHING
    failure: str | None = None


class Spoken:
    """What a caller was told so far, of whom nothing can be taken back."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._answer: int | None = None
        self._told = ""
        self._before = False

    async def add(self, piece: SpokenText) -> None:
        if piece.answer != self._answer:
            self._before = self._before or bool(self._told)
            self._answer, self._told = piece.answer, ""
        whole = self._told[: piece.offset] + piece.text
        if whole.startswith(self._told):
            await self._tell(whole[len(self._told) :])

    async def end(self, reply: str) -> None:
        """What was not told yet of how it ended, without what leaked into it."""
        said = visible(self._told) or ""
        if reply.startswith(self._told):
            await self._tell(reply[len(self._told) :])
        elif said and reply.startswith(said):
            await self._tell(reply[len(said) :])
        else:
            self._before, self._told = True, ""
            await self._tell(reply)

    async def _tell(self, text: str) -> None:
        if text:
            gap = BREAK if self._before and not self._told else ""
            self._told += text
            await self._say(gap + text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`name` makes it the same question when it comes again; one that its caller `named` is not stopped when he hangs
    up, since he may come back for its answer, unless his credential was taken back. A session that is `thrown_away`
    ends with it."""

    house: House
    caller: PersonCaller
    key: SessionKey
    name: str
    trace: str | None
    thrown_away: bool
    named: bool

    async def ask(self, wanted: Wanted, stay: Stay, say: Say | None = None) -> Reply:
        """The answer, as long as its caller may stay; `say` is told it piece by piece."""
        run_id, over = self.house.new_id(), False
        try:
            reply = await self._asked(run_id, wanted, say)
            over = True
        except RoostError as error:
            if say is None:
                raise
            # What is told as it comes has begun already: its end says what is wrong.
            reply = Reply(failure=str(error))
        finally:
            with anyio.CancelScope(shield=True):
                await self._leave(run_id, over=over, revoked=stay.revoked)
        return reply

    async def refuse_other(self, wanted: Wanted) -> None:
        """Raises where its name is that of another question, before anything is told."""
        known = await self.house.store.inbound_by_key(self.caller.principal, self.key, self.name)
        if known is not None:
            refuse_other(known.inbound.source.digest, wanted.digest)

    async def _asked(self, run_id: str, wanted: Wanted, say: Say | None) -> Reply:
        before = await self.house.store.session(self.key)
        accepted = await self._accept(run_id, wanted, remembered=before is not None)
        if say is None:
            return await self._reply(await self._wait(accepted))
        spoken = Spoken(say)
        if accepted.record.run_id == run_id:
            await self._follow(run_id, before.events if before else 0, spoken)
        reply = await self._reply(await self._wait(accepted))
        await spoken.end(reply.text)
        return reply

    async def _accept(self, run_id: str, wanted: Wanted, *, remembered: bool) -> Accepted:
        said = Addressed(
            key=self.key,
            principal=self.caller.principal,
            text=wanted.words(remembered=remembered),
            run_id=run_id,
            idempotency_key=self.name,
            digest=wanted.digest,
            images=wanted.images,
            mode=QueueMode.FOLLOWUP,
            commands=Commands.WORDS,
            trace=self.trace,
        )
        accepted = await self.house.engine.inbox.say(said)
        if isinstance(accepted, TurnedAway):
            raise InvalidInput(NOT_TAKEN)
        return accepted

    async def _wait(self, accepted: Accepted) -> Waited:
        return await self.house.engine.waits.for_message(accepted.record.inbound.id, LONGEST_MS)

    async def _follow(self, run_id: str, after: int, spoken: Spoken) -> None:
        """Until the run has ended."""
        async with self.house.engine.feed.subscribe(self.key, self.caller, after=after) as items:
            async for item in items:
                if _ends(item, run_id):
                    return
                if isinstance(item, SpokenText) and item.run_id == run_id:
                    await spoken.add(item)

    async def _reply(self, waited: Waited) -> Reply:
        end = ending(waited)
        if end.fate is not Fate.OK:
            return Reply(failure=end.reason)
        usage = await self.house.used(waited.run) if waited.run else NOTHING
        return Reply(text=end.said or "", cut=end.stop is StopReason.LENGTH, usage=usage)

    async def _leave(self, run_id: str, *, over: bool, revoked: bool) -> None:
        """What cannot be tidied up now changes nothing of the answer: retention removes what is left."""
        try:
            if self.thrown_away:
                await self.house.engine.operations.delete(self.caller, self.key)
            elif not over and (revoked or not self.named):
                await self._stop(run_id)
        except NotFound:
            pass
        except RoostError as error:
            _log.warning("%s was left as it is after its question: %s", self.key, error)

    async def _stop(self, run_id: str) -> None:
        """Whichever run answers it: one with a name may have been asked before."""
        known = await self.house.store.inbound_by_key(self.caller.principal, self.key, self.name)
        answering = (known and known.run_id) or run_id
        await self.house.engine.operations.stop(self.caller, self.key, answering)


def _ends(item: FeedItem, run_id: str) -> bool:
    if isinstance(item, Event):
        return item.kind is EventKind.RUN_ENDED and item.ref == run_id
    return isinstance(item, RunOver) and item.run_id == run_id
