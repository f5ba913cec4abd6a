"""The `roost` command: which of its parts is asked for, and how it ends.

A part is loaded when it is asked for.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from itertools import takewhile
from types import MappingProxyType
from typing import TypeAlias

from cyclopts import App, CycloptsError, MissingArgumentError, UnusedCliTokensError

from roost import __version__
from roost.cli import machine
from roost.core.errors import InvalidInput, RoostError

FAILED, WRONG, UNREACHABLE, INTERRUPTED = 1, 2, 3, 130
_CODES = MappingProxyType(
    {"unreachable": UNREACHABLE, "starting": UNREACHABLE, "connection_lost": UNREACHABLE}
)
Tell: TypeAlias = Callable[[Sequence[RoostError]], None]

OVERVIEW = "overview"
PARTS = MappingProxyType(
    {
        "agent": ("roost.cli.agent:agent", "Say something and print the answer."),
        "agents": ("roost.cli.agents:agents", "The agents there are."),
        "chat": ("roost.cli.chat:chat", "Talk on this terminal."),
        "completion": (
            "roost.cli.completion:completion",
            "A script that makes your shell complete commands.",
        ),
        "config": ("roost.cli.config:app", "The configuration: get, set, check, schema."),
        "cron": (
            "roost.cli.cron:app",
            "What agents do by a schedule: add, list, show, edit, rm, run, runs, pause.",
        ),
        "denials": ("roost.cli.happened:denials", "What was refused, and why."),
        "db": ("roost.cli.db:app", "The store as a whole: migrate, check, copy, back up, restore."),
        "deliveries": (
            "roost.cli.deliveries:app",
            "Messages that did not arrive, or may not have: list, retry, dismiss.",
        ),
        "devices": (
            "roost.cli.devices:app",
            "Devices that may connect: list, approve, reject, remove, rotate, revoke.",
        ),
        "doctor": ("roost.cli.doctor:doctor", "What is wrong here, and what to do about it."),
        "erase": ("roost.cli.erase:forget", "Forget one person, in the store and its backups."),
        "explain": (
            "roost.cli.explain:explain",
            "Why a session is as it is: route, model, reset, silence, denial, trace, cost.",
        ),
        "exchanges": ("roost.cli.happened:exchanges", "What a session sent to others and was sent."),
        "gateway": (
            "roost.cli.gateway:app",
            "The gateway that clients connect to: run, status, health, drain, call.",
        ),
        "hooks": ("roost.cli.hooks:app", "Calls of other services: test."),
        "import": ("roost.cli.imports:app", "Conversations from elsewhere: openclaw."),
        "ledger": ("roost.cli.happened:ledger", "What each call of a model cost."),
        "logs": ("roost.cli.logs:logs", "The last lines of the gateway's log."),
        "models": ("roost.cli.models:models", "The models there are."),
        "nodes": ("roost.cli.nodes:app", "Devices that lend what they can do: list, show, invoke."),
        "onboard": (
            "roost.cli.onboard:onboard",
            "Set up a model, who shares a conversation, and who you are.",
        ),
        "people": (
            "roost.cli.people:app",
            "People who are let in on a channel by pairing: list, approve, reject, remove.",
        ),
        "repair": ("roost.cli.repair:repair", "Make anew what follows from other rows of the store."),
        "security": ("roost.cli.security:app", "What is left open to others: audit."),
        "send": ("roost.cli.send:send", "A message to a session, or to a place on a channel."),
        "sessions": (
            "roost.cli.sessions:app",
            "Sessions: list, show, history, tail, search, tree, points, export, import, replay, bundle, unbundle, reset, "
            "compact, archive, delete, cleanup.",
        ),
        "status": ("roost.cli.status:status", "How things stand."),
        "timeline": ("roost.cli.happened:timeline", "What was said in a session, through every reset."),
        "usage": ("roost.cli.usage:usage", "What the models cost."),
    }
)


def application() -> App:
    app = App(
        name="roost",
        help="A session gateway for AI agents.",
        version=f"roost {__version__}",
        version_flags=["--version"],
        suppress_keyboard_interrupt=False,
    )
    app.command("roost.cli.overview:overview", name=OVERVIEW, show=False)
    for name, (place, words) in PARTS.items():
        app.command(place, name=name, help=words)
    return app


def main(arguments: Sequence[str] = ()) -> int:
    """0 if all went well, 1 if something was refused or failed, 2 for a command that is not there, 3 if no gateway could
    be reached, 130 if it was interrupted."""
    tell = as_data if _is_for_programs(arguments) else in_words
    try:
        code = _done(list(arguments) or [OVERVIEW])
        sys.stdout.flush()
    except CycloptsError as error:
        tell([_misread(error)])
        return WRONG
    except (RoostError, OSError, ExceptionGroup) as error:
        return refused(error, tell)
    except KeyboardInterrupt:
        return INTERRUPTED
    return code if isinstance(code, int) else 0


def _is_for_programs(arguments: Sequence[str]) -> bool:
    options = takewhile(lambda argument: argument != "--", arguments)
    return any(option.partition("=")[0] == "--json" for option in options)


def in_words(errors: Sequence[RoostError]) -> None:
    """What went wrong, for people. Several tasks may have met the same end."""
    sys.stderr.write("".join(dict.fromkeys(f"roost: {error}\n" for error in errors)))


def as_data(errors: Sequence[RoostError]) -> None:
    """The first of it, for programs: one line."""
    for error in errors[:1]:
        found = {"code": error.finest, "message": error.message, "hint": error.hint}
        sys.stderr.write(f"{json.dumps({'error': found})}\n")


def _done(arguments: list[str]) -> object:
    if arguments == ["--version"]:
        sys.stdout.write(f"roost {__version__}\n")
        return 0
    return application()(arguments, exit_on_error=False, print_error=False, result_action="return_value")


def _misread(error: CycloptsError) -> InvalidInput:
    command = " ".join(("roost", *(error.command_chain or ())))
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        told = f"`{command}` does not know {' '.join(error.unused_tokens)}"
        alike = get_close_matches(error.unused_tokens[0], _within(error.command_chain or ()), n=1, cutoff=0.5)
        told += f": did you mean {alike[0]}?" if alike else ""
    elif isinstance(error, MissingArgumentError):
        told = f"`{command}` needs {_missing(error)}"
    else:
        told = str(error).strip()
        told = told if told.endswith("...") else told.removesuffix(".")
    return InvalidInput(told, hint=f"see `{command} --help`")


def _missing(error: MissingArgumentError) -> str:
    """What is not given, as the help of its command writes it."""
    argument = error.argument
    if argument is None or error.keyword is not None:
        return f"a value for {error.keyword}"
    return argument.name if argument.index is None else argument.name.lstrip("-").upper()


def _within(command: Sequence[str]) -> list[str]:
    """The commands of a command."""
    found = application()
    for name in command:
        found = found[name]
    return [name for name in found if not name.startswith("-")]


def refused(error: Exception, tell: Tell = in_words) -> int:
    """Say what went wrong, without the tasks it went wrong in; what is no error of Roost's own, nor a matter of files and
    disks, goes on its way."""
    # Whoever read has read enough, as `head` does, is told nothing.
    failures = [one for one in _leaves(error) if not isinstance(one, BrokenPipeError)]
    told = [own for one in failures if (own := _own(one)) is not None]
    if len(told) != len(failures):
        raise error
    tell(told)
    _let_go()
    return next((_CODES.get(one.code, FAILED) for one in failures if isinstance(one, RoostError)), FAILED)


def _own(error: Exception) -> RoostError | None:
    match error:
        case RoostError():
            return error
        case OSError():
            return machine.told(error)
        case _:
            return None


def _let_go() -> None:
    """What is held back and has nowhere to go is not tried again at the end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _leaves(error: Exception) -> Iterator[Exception]:
    if isinstance(error, ExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
