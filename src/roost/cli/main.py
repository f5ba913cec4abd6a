"""The `roost` command: which of its parts is asked for."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio

from roost import __version__
from roost.cli import gateway, security
from roost.cli.console import talk
from roost.cli.overview import overview
from roost.cli.repair import repair
from roost.config import ConfigSource, Loaded, from_environment
from roost.config.amounts import SpellingError
from roost.config.gateway import Bind
from roost.config.source import FILE
from roost.core.errors import RoostError


def main(arguments: Sequence[str] = ()) -> int:
    """0 if all went well, 1 if something was refused, 2 for a command that is not there."""
    try:
        asked = _parser().parse_args(list(arguments))
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else 2
    try:
        return _do(asked, _source(asked.config).read())
    except (RoostError, ExceptionGroup) as error:
        return refused(error)
    except KeyboardInterrupt:
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="roost", description="A session gateway for AI agents.")
    parser.add_argument("--version", action="version", version=f"roost {__version__}")
    parser.add_argument("--config", type=Path, default=None, help="the configuration file")
    parts = parser.add_subparsers(dest="command", metavar="COMMAND")
    parts.add_parser("chat", help="talk on this terminal, while no gateway runs")
    parts.add_parser("repair", help="make anew what follows from other rows of the store")
    serving = parts.add_parser("gateway", help="the gateway that clients connect to")
    verbs = serving.add_subparsers(dest="verb", required=True, metavar="VERB")
    run = verbs.add_parser("run", help="serve until interrupted")
    run.add_argument("--config", type=Path, default=argparse.SUPPRESS, help="the configuration file")
    run.add_argument("--port", type=_port, default=None, help="TCP port; 0 takes one that is free")
    run.add_argument("--bind", type=_bind, default=None, help="loopback, lan or an IP address")
    guarding = parts.add_parser("security", help="what is left open to others")
    checks = guarding.add_subparsers(dest="verb", required=True, metavar="VERB")
    audit = checks.add_parser("audit", help="look through the configuration and its files")
    audit.add_argument("--fix", action="store_true", help="close files that others can read or write")
    audit.add_argument("--json", action="store_true", help="answer as JSON")
    return parser


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port")
    return int(text)


def _bind(text: str) -> Bind:
    try:
        return Bind.parse(text)
    except SpellingError:
        raise argparse.ArgumentTypeError(f"{text!r} is not loopback, lan or an IP address") from None


def _source(file: Path | None) -> ConfigSource:
    source = from_environment()
    return source if file is None else ConfigSource({**source.environ, FILE: str(file.absolute())})


def _do(asked: argparse.Namespace, loaded: Loaded) -> int:
    match asked.command:
        case "gateway":
            return anyio.run(
                gateway.run, loaded, asked.port, asked.bind, backend_options={"use_uvloop": True}
            )
        case "security":
            return security.audit(loaded, fix=asked.fix, as_json=asked.json)
        case "repair":
            return anyio.run(repair, loaded)
        case "chat":
            sys.stdout.write(anyio.run(overview, loaded))
            sys.stdout.write(
                "Write a message and press return; /help shows the commands, Ctrl-C stops an answer, the end of the "
                "input leaves.\n\n"
            )
            sys.stdout.flush()
            anyio.run(talk, loaded)
        case _:
            sys.stdout.write(anyio.run(overview, loaded))
            sys.stdout.write(
                "`roost gateway run` serves clients, `roost chat` talks here; see `roost --help`.\n"
            )
    return 0


def refused(error: Exception) -> int:
    """Say what went wrong, without the tasks it went wrong in; what is no error of Roost's own goes on its way."""
    told = list(_leaves(error))
    if not all(isinstance(one, RoostError) for one in told):
        raise error
    # Several tasks may have met the same end.
    sys.stderr.write("".join(dict.fromkeys(f"roost: {one}\n" for one in told)))
    return 1


def _leaves(error: Exception) -> Iterator[Exception]:
    if isinstance(error, ExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
