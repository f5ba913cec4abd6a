"""Reads a message as a command: `/name arguments`, `/name: arguments`, `/name@bot arguments`.

A command is the whole message. A few may stand inside one, which then goes on without them. Words after a slash
that name no command are ordinary text, and so is everything inside code.
"""

import re
from dataclasses import dataclass

from roost.core import thinking
from roost.core.codespans import mask_code
from roost.core.commands import COMMANDS, Command, Form, Name, find, named
from roost.core.grants import Scope

STOP_WORDS = frozenset({"stop", "abort"})

_LINE = re.compile(
    r"/(?P<word>[A-Za-z][A-Za-z-]*)(?:@[^\s:@]+)?(?:[^\S\n]*:|(?=\s)|\Z)(?P<rest>.*)", re.DOTALL
)
_MENTION = re.compile(r"\A(?:<@[^>\s]+>|@[^\s:,]+)[\s:,]+")
_FIRST_WORD = re.compile(r"(?P<word>\S+)\s*(?P<rest>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A command as it was written, by `word`. `message` is what is said besides it, if it stood inside a message.

    `bare` is a stop word without its slash: it counts only while something is running.
    """

    command: Command
    word: str
    argument: str = ""
    message: str = ""
    bare: bool = False

    @property
    def is_all(self) -> bool:
        """Whether nothing of the message goes on to the agent as it was said."""
        return self.command.form is Form.ALONE or not self.message

    @property
    def needs(self) -> Scope:
        """What the credential of a client must hold for it."""
        return Scope.READ if self.argument.lower() in self.command.shows else self.command.needs


def unmentioned(text: str) -> str:
    """The text without the agent's name before it."""
    return _MENTION.sub("", text.strip(), count=1)


def read(text: str) -> Line | None:
    """The command in a message, if there is one."""
    written = text.strip()
    bare = written.rstrip(".!").lower()
    if bare in STOP_WORDS:
        return Line(command=named(Name.STOP), word=bare, bare=True)
    found = _LINE.fullmatch(written)
    command = find(found["word"]) if found else None
    if found is None or command is None:
        return _inside(written)
    word, rest = f"/{found['word'].lower()}", found["rest"].strip()
    first = _FIRST_WORD.fullmatch(rest)
    takes_one = command.form is Form.DIRECTIVE or (
        command.form is Form.SHORTCUT and command.arguments and first and find(first["word"])
    )
    if first and takes_one:
        return Line(command=command, word=word, argument=first["word"], message=first["rest"])
    if command.form is Form.SHORTCUT:
        return Line(command=command, word=word, message=rest)
    return Line(command=command, word=word, argument=rest)


_SHORTCUTS = "|".join(command.name for command in COMMANDS if command.form is Form.SHORTCUT)
_THINK = "|".join((Name.THINK, *named(Name.THINK).aliases))
_LEVELS = "|".join(thinking.ThinkingLevel)
_INSIDE = re.compile(
    rf"(?<!\S)/(?:(?P<shortcut>{_SHORTCUTS})|(?:{_THINK})[:\s]\s*(?P<level>{_LEVELS}))(?!\S)", re.IGNORECASE
)


def _inside(text: str) -> Line | None:
    """A shortcut, or a level of thinking, somewhere in a message."""
    found = _INSIDE.search(mask_code(text))
    if found is None:
        return None
    before, after = text[: found.start()].rstrip(), text[found.end() :].lstrip()
    message = f"{before} {after}".strip()
    if found["level"]:
        level = found["level"].lower()
        return Line(command=named(Name.THINK), word=f"/{Name.THINK}", argument=level, message=message)
    command = named(Name(found["shortcut"].lower()))
    return Line(command=command, word=f"/{command.name}", message=message)
