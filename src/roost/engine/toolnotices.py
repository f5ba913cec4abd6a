"""Tells the chat of a run which tools it calls, where somebody asked for it. Nothing of a run depends on it."""

import logging
from functools import partial

from roost.core import toolnotices
from roost.core.errors import Conflict, StoreUnavailable
from roost.core.messages import ToolCall
from roost.core.runs import Run
from roost.core.sessions import Verbosity
from roost.core.tools import ToolOutcome
from roost.engine.rulebook import Rulebook
from roost.ports import Clock, Store

_log = logging.getLogger(__name__)


class ToolNotices:
    def __init__(self, store: Store, clock: Clock, book: Rulebook, run: Run) -> None:
        self._store = store
        self._clock = clock
        self._book = book
        self._run = run
        self._level = Verbosity.OFF

    async def look(self) -> None:
        """See how much is asked for now: it may change while a run goes on."""
        self._level = await self._asked_for()

    async def began(self, call: ToolCall) -> None:
        if self._level is not Verbosity.OFF:
            line = toolnotices.began_line(call, self._book.current.commands.scanner)
            await self._tell(line, about=f"{call.id} began")

    async def over(self, call: ToolCall, outcome: ToolOutcome) -> None:
        line = toolnotices.over_line(call, outcome, self._level, self._book.current.commands.scanner)
        if line is not None:
            await self._tell(line, about=f"{call.id} over")

    async def _asked_for(self) -> Verbosity:
        if self._run.request.reply_to is None:
            return Verbosity.OFF
        try:
            session = await self._store.session(self._run.key)
        except StoreUnavailable:
            return Verbosity.OFF
        return toolnotices.level_of(self._run, session) if session else Verbosity.OFF

    async def _tell(self, line: str, *, about: str) -> None:
        decide = partial(
            toolnotices.tell,
            run=self._run,
            line=line,
            policy=self._book.current.sending,
            at=self._clock.now(),
            about=f"{self._run.id} {about}",
        )
        try:
            await self._store.change_session(self._run.key, decide)
        except Conflict:
            _log.debug("run %s begins a call again that was told already", self._run.id)
        except StoreUnavailable as error:
            _log.warning("run %s cannot tell of its tools: %s", self._run.id, error)
