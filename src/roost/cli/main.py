"""The `roost` command: which of its parts is asked for, and how it ends.

A part is loaded when it is asked for.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from types import MappingProxyType

from cyclopts import App, CycloptsError, UnusedCliTokensError

from roost import __version__
from roost.core.errors import RoostError

FAILED, WRONG, UNREACHABLE, INTERRUPTED = 1, 2, 3, 130
_CODES = MappingProxyType(
    {"unreachable": UNREACHABLE, "starting": UNREACHABLE, "connection_lost": UNREACHABLE}
)

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
        "db": ("roost.cli.db:app", "The store as a whole: migrate, check, copy, back up."),
        "deliveries": (
            "roost.cli.deliveries:app",
            "Messages that did not arrive, or may not have: list, retry, dismiss.",
        ),
        "devices": ("roost.cli.devices:app", "Devices that may connect: list, approve, reject, remove."),
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
        "repair": ("roost.cli.repair:repair", "Make anew what follows from other rows of the store."),
        "security": ("roost.cli.security:app", "What is left open to others: audit."),
        "send": ("roost.cli.send:send", "A message to a session, or to a place on a channel."),
        "sessions": (
            "roost.cli.sessions:app",
            "Sessions: list, show, history, search, tree, points, export, import, replay, bundle, unbundle, reset, "
            "archive, delete, cleanup.",
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
    if list(arguments) == ["--version"]:
        sys.stdout.write(f"roost {__version__}\n")
        return 0
    try:
        code = application()(
            list(arguments) or [OVERVIEW],
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
    except CycloptsError as error:
        sys.stderr.write(f"roost: {_misread(error)}\n")
        return WRONG
    except (RoostError, BrokenPipeError, ExceptionGroup) as error:
        return refused(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    return code if isinstance(code, int) else 0


def _misread(error: CycloptsError) -> str:
    command = " ".join(("roost", *(error.command_chain or ())))
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        told = f"`{command}` does not know {' '.join(error.unused_tokens)}"
    else:
        told = str(error).strip()
        told = told if told.endswith("...") else told.removesuffix(".")
    return f"{told} (see `{command} --help`)"


def refused(error: Exception) -> int:
    """Say what went wrong, without the tasks it went wrong in; what is no error of Roost's own goes on its way."""
    leaves = list(_leaves(error))
    told = [one for one in leaves if isinstance(one, RoostError)]
    gone = [one for one in leaves if isinstance(one, BrokenPipeError)]
    if len(told) + len(gone) != len(leaves):
        raise error
    if gone:
        # Whoever read has read enough, as `head` does; what is still held back has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    # Several tasks may have met the same end.
    sys.stderr.write("".join(dict.fromkeys(f"roost: {one}\n" for one in told)))
    return _CODES.get(told[0].code, FAILED)


def _leaves(error: Exception) -> Iterator[Exception]:
    if isinstance(error, ExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
