"""`roost chat`: a conversation on this terminal, with the gateway that runs or one in this process.

Lines are read by the main thread, so that the terminal's own editing and Ctrl-C work; the client lives in another.
"""

import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Annotated

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal
from cyclopts import Parameter

from roost.cli import typing
from roost.cli.absence import Watch
from roost.cli.agent import print_turn
from roost.cli.conversation import SHOWN, Conversation
from roost.cli.prompts import Prompts
from roost.cli.rows import message_line, sessions_table
from roost.cli.show import say
from roost.cli.status import address_of
from roost.cli.where import HERE, Where, anywhere
from roost.client import Client, ConnectionLost
from roost.core.errors import InvalidInput
from roost.protocol.families.agents import COMMANDS
from roost.protocol.families.chat import ABORT, HISTORY
from roost.protocol.families.sessions import LIST, Listed
from roost.protocol.families.status import STATUS

SWITCH, QUIT = "/switch", "/quit"
LISTED = 20
# How long a gateway is waited for that was told to stop.
STOP_S = 5.0
HELP = (
    f"{SWITCH} shows the sessions and {SWITCH} NUMBER or KEY goes to one, /help shows the commands, Tab completes them, "
    f"what is typed during an answer is sent at once, Ctrl-C or stop ends it, {QUIT} or Ctrl-D leaves."
)
UNHEARD = "nothing more was heard: the gateway is away"
UNFINISHED = "what is not answered yet will be in the history"
BROKEN_OFF = "an answer is not finished; if Roost is started within minutes, it goes on"


class Left(Exception):
    """A person left a gateway in this process and waits for nothing: what is under way is broken off, as by a gateway that
    is stopped."""


def chat(
    *, session: Annotated[str, Parameter(help="Which session to begin with.")] = "main", where: Where = HERE
) -> int:
    """Talk on this terminal: answers as they come, /commands, and the sessions there are."""
    if where.json:
        raise InvalidInput(
            "a conversation is no JSON", hint="`roost agent --message TEXT --json` gives one turn"
        )
    prompts = Prompts()
    watch = Watch(prompts.show_again)
    with (
        suppress(Left),
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(anywhere(where, watch.absence())) as client,
        typing.history(where.source().home),
    ):
        # Who serves is told to the owner alone.
        own = where.url is None and where.introduction() is None
        alone = prompts.live and own and portal.call(is_alone, client)
        Chat(portal, client, session, watch, prompts).talk(alone)
    return 0


async def is_alone(client: Client) -> bool:
    """Whether the gateway is one in this process, which ends with it."""
    found = await client.call(STATUS)
    return address_of(found) is None


@contextmanager
def _interrupts(act: Callable[[], object]) -> Iterator[None]:
    """Every interrupt does this, wherever the program is."""
    before = signal.signal(signal.SIGINT, lambda number, frame: act())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _first_interrupt(act: Callable[[], object]) -> Iterator[None]:
    """The first interrupt does this and raises nothing, wherever the program is; another one is as ever."""

    def heard() -> None:
        signal.signal(signal.SIGINT, before)
        act()

    before = signal.getsignal(signal.SIGINT)
    with _interrupts(heard):
        yield


class Chat:
    """On a terminal what is typed is sent at once, also while an answer comes; from elsewhere one line is answered after
    the other."""

    def __init__(
        self, portal: BlockingPortal, client: Client, session: str, watch: Watch, prompts: Prompts
    ) -> None:
        self._portal = portal
        self._client = client
        self._session = session
        self._watch = watch
        self._prompts = prompts
        self._listed: list[str] = []
        self._under_way: anyio.CancelScope | None = None
        self._conversation: Conversation | None = None
        self._following: Future[None] | None = None
        self._stopping = False

    def talk(self, alone: bool) -> None:
        """Until the input ends; where nobody types, the last answer is waited for, and else `Left` may be raised."""
        live = self._prompts.live
        commands = self._portal.call(self._commands)
        self._portal.call(self._list)
        typing.complete((*commands, SWITCH, QUIT), lambda: self._listed, self._prompts.line if live else None)
        typing.keep_pasted_lines_together()
        say(HELP)
        if live:
            self._follow()
        else:
            self._portal.call(self._show_history)
        with self._prompts.silent():
            self._take_lines()
        unfinished = self._end()
        if alone and (unfinished or self._portal.call(self._is_working)):
            say(BROKEN_OFF)
        elif unfinished:
            say(UNFINISHED)
        if alone:
            raise Left

    def _take_lines(self) -> None:
        while (line := self._line()) is not None:
            words = line.strip()
            if words == QUIT:
                break
            if words == SWITCH or words.startswith(f"{SWITCH} "):
                self._switch(words.removeprefix(SWITCH).strip())
            elif words:
                self._say(words)

    def _line(self) -> str | None:
        try:
            with _interrupts(self._interrupted):
                return self._prompts.read_line(f"{self._session}> ")
        except KeyboardInterrupt:
            # As in a shell: the line is given up, not the conversation.
            say("")
            return ""

    def _interrupted(self) -> None:
        """An answer under way is stopped, and what is typed stays; else the line is given up."""
        if self._stopping or self._conversation is None or not self._conversation.is_busy():
            raise KeyboardInterrupt
        self._stopping = True
        self._portal.start_task_soon(self._stop)

    def _say(self, words: str) -> None:
        if self._conversation is not None:
            self._portal.call(self._send, self._conversation, words)
            return
        with _first_interrupt(lambda: self._portal.start_task_soon(self._stop)):
            self._portal.call(self._wait, lambda: print_turn(self._client, words, self._session))

    def _switch(self, session: str) -> None:
        self._prompts.cut()
        if session.isdecimal():
            if not 0 < int(session) <= len(self._listed):
                say(f"there is no {session} on the list; {SWITCH} shows it")
                return
            session = self._listed[int(session) - 1]
        before, self._session = self._session, session or self._session
        if not session:
            self._patiently(self._show_sessions)
        elif self._conversation is None:
            self._patiently(self._enter)
        else:
            if self._end():
                say(f"{before} goes on with its answer; {SWITCH} {before} shows it")
            self._follow()

    def _follow(self) -> None:
        """Show from now on what is said in the session, and what was said last."""
        self._conversation = Conversation(self._client, self._session, self._prompts.write)
        self._following = self._portal.start_task_soon(self._conversation.follow)
        self._patiently(self._conversation.entered.wait)

    def _end(self) -> bool:
        """Show no more of the session; whether an answer is under way. What was typed is sent, unless there is nobody to
        send it to."""
        if self._conversation is None or self._following is None:
            return False
        if not self._watch.away:
            self._patiently(self._conversation.all_sent)
        self._following.cancel()
        self._prompts.finish()
        return self._conversation.is_busy()

    def _patiently(self, work: Callable[[], Awaitable[object]]) -> None:
        with _first_interrupt(lambda: self._portal.start_task_soon(self._leave)):
            self._portal.call(self._wait, work)

    async def _commands(self) -> tuple[str, ...]:
        rows = (await self._client.call(COMMANDS))["commands"]
        return tuple(f"/{row.get('name')}" for row in rows)

    async def _is_working(self) -> bool:
        return any(row.get("hasActiveRun") is True for row in (await self._list())["sessions"])

    async def _wait(self, work: Callable[[], Awaitable[object]]) -> None:
        """For what the gateway says, unless it is left."""
        self._watch.remind()
        with anyio.CancelScope() as self._under_way:
            await work()
        if self._under_way.cancelled_caught:
            say(f"\n{UNHEARD}")

    async def _send(self, conversation: Conversation, words: str) -> None:
        self._watch.remind()
        await conversation.say(words)

    async def _stop(self) -> None:
        """The end of the answer is heard like any other. Of a gateway that is away, nothing is waited for."""
        try:
            if not self._watch.away:
                with suppress(ConnectionLost), anyio.move_on_after(STOP_S):
                    await self._client.call(ABORT, {"sessionKey": self._session})
                    return
            await self._leave()
        finally:
            self._stopping = False

    async def _leave(self) -> None:
        if self._stopping and self._conversation is not None:
            self._conversation.leave()
            self._conversation.tell(UNHEARD)
        elif self._under_way is not None:
            self._under_way.cancel()

    async def _enter(self) -> None:
        if not await self._show_history():
            say(f"a new session {self._session} begins with the first message")

    async def _show_history(self) -> bool:
        """What was said last; whether there is such a session."""
        read = await self._client.call(HISTORY, {"sessionKey": self._session, "limit": SHOWN})
        for row in read["messages"]:
            say(message_line(row))
        return "sessionId" in read

    async def _list(self) -> Listed:
        found = await self._client.call(LIST, {"limit": LISTED, "includeDerivedTitles": True})
        self._listed = [str(row.get("key")) for row in found["sessions"]]
        return found

    async def _show_sessions(self) -> None:
        found = await self._list()
        sessions_table(found["sessions"], found["ts"], numbered=True)
        sys.stdout.flush()
