"""`roost agent`: one message, one answer."""

import sys
import uuid
from typing import Annotated, assert_never

from cyclopts import Parameter

from roost.cli.show import as_json, plain, say, say_wrong
from roost.cli.where import HERE, Where, anywhere
from roost.client import Answer, Client, Delta, Figures, Piece, Thought, ToolStep, TurnFailed
from roost.core.figures import MICROS
from roost.core.footers import figures
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.protocol.families.agents import AGENT

REASONING = "Reasoning:\n"


async def agent(
    *,
    message: Annotated[str, Parameter(name=("--message", "-m"), help="What to say.")],
    session: Annotated[str, Parameter(help="In which session.")] = "main",
    agent: Annotated[str | None, Parameter(help="To which agent.")] = None,
    thinking: Annotated[str | None, Parameter(help="How hard to think, for this turn.")] = None,
    where: Where = HERE,
) -> int:
    """Say something and print the answer as it comes; with --json the whole turn when it is over."""
    given: dict[str, JsonValue] = {"agentId": agent, "thinking": thinking}
    more: dict[str, JsonValue] = {name: value for name, value in given.items() if value is not None}
    async with anywhere(where) as client:
        if where.json:
            name = str(uuid.uuid4())
            asked: JsonObject = {"message": message, "sessionKey": session, "idempotencyKey": name, **more}
            found = await client.call(AGENT, asked)
            as_json(found)
            return 0
        try:
            await _print_answer(client, message, session, more)
        except TurnFailed as error:
            say_wrong(_without(error))
            return 1
        return 0


async def print_turn(client: Client, message: str, session: str, more: dict[str, JsonValue]) -> int:
    """Print an answer as it is made, or that there is none; 1 then."""
    try:
        await _print_answer(client, message, session, more)
    except TurnFailed as error:
        say(_without(error))
        return 1
    return 0


async def _print_answer(client: Client, message: str, session: str, more: dict[str, JsonValue]) -> None:
    printer = _Printer()
    try:
        async for piece in client.chat(message, session, more=more):
            printer.show(piece)
    except TurnFailed:
        printer.break_off()
        raise


def _without(error: TurnFailed) -> str:
    return f"no answer: {error}"


class _Printer:
    """Prints what comes of a turn: what is thought, what is said, and what it took."""

    def __init__(self) -> None:
        self._head = self._shown = ""

    def show(self, piece: Piece) -> None:
        match piece:
            case Thought():
                self._go_on(REASONING, piece.text)
            case Delta():
                self._go_on("", piece.text, anew=piece.replaces)
            case Answer():
                self._go_on("", piece.text or "")
                _write("\n")
                if piece.figures is not None:
                    say(f"\n{_told(piece.figures)}")
            case ToolStep():
                pass
            case _:
                assert_never(piece)

    def break_off(self) -> None:
        _write("\n" if self._shown else "")

    def _go_on(self, head: str, text: str, *, anew: bool = False) -> None:
        """More of what is shown; if it is something else, below that. Space around it is not shown: in the end it comes
        without."""
        text = text.strip()
        if not text and not anew:
            return
        if head != self._head:
            _write(f"\n\n{head}" if self._shown else head)
            self._shown = ""
        elif anew or not text.startswith(self._shown):
            _write("\n" if self._shown else "")
            self._shown = ""
        _write(text[len(self._shown) :])
        self._head, self._shown = head, text


def _told(found: Figures) -> str:
    return figures(found.tokens_in, found.tokens_out, found.model, round(found.cost * MICROS))


def _write(text: str) -> None:
    sys.stdout.write(plain(text))
    sys.stdout.flush()
