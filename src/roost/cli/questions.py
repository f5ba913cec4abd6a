"""Questions to a person, each asked until its answer can be used."""

import getpass
from collections.abc import Callable
from typing import TypeVar

from roost.cli.show import say
from roost.cli.typing import read_line
from roost.core.errors import InvalidInput

Found = TypeVar("Found")


def ask(question: str, usual: str, read: Callable[[str], Found]) -> Found:
    """What an answer is read as; none at all is the usual one."""
    prompt = f"{question}{f' [{usual}]' if usual else ''}: "
    return _until(lambda: read_line(prompt), lambda line: read(line or usual))


def ask_hidden(question: str, read: Callable[[str], Found]) -> Found:
    """The same for what nobody else should see."""
    return _until(lambda: _hidden(f"{question}: "), read)


def _hidden(prompt: str) -> str | None:
    try:
        return getpass.getpass(prompt)
    except EOFError:
        return None


def _until(hear: Callable[[], str | None], read: Callable[[str], Found]) -> Found:
    while (line := hear()) is not None:
        try:
            return read(line.strip())
        except InvalidInput as error:
            say(str(error))
    raise InvalidInput("nothing was changed", hint="begin again with `roost onboard`")
