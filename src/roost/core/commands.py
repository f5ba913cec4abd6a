"""The chat commands there are, as values. What they do is the engine's; how a message is read as one is `commandlines`.

Every command is answered at once, also while a run is active; what it sets holds from the next turn on.
"""

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from roost.core.grants import Scope
from roost.core.visibility import Operation


class Name(StrEnum):
    HELP = "help"
    COMMANDS = "commands"
    STATUS = "status"
    WHOAMI = "whoami"
    EXPLAIN = "explain"
    CONTEXT = "context"
    TOOLS = "tools"
    USAGE = "usage"
    NEW = "new"
    RESET = "reset"
    BACK = "back"
    STOP = "stop"
    STEER = "steer"
    COMPACT = "compact"
    MODEL = "model"
    THINK = "think"
    REASONING = "reasoning"
    VERBOSE = "verbose"
    QUEUE = "queue"
    NAME = "name"
    SEND = "send"
    ACTIVATION = "activation"
    SUBAGENTS = "subagents"
    AGENTS = "agents"
    SESSION = "session"
    EXPORT = "export-session"


class Aspect(StrEnum):
    """What `/explain` can be asked about."""

    ROUTE = "route"
    MODEL = "model"
    RESET = "reset"
    SILENCE = "silence"
    DENIAL = "denial"
    TRACE = "trace"
    COST = "cost"


class Family(StrEnum):
    """What a list of commands puts together."""

    SEEING = "See"
    CONVERSATION = "Conversation"
    SETTINGS = "Settings of this session"
    CHILDREN = "Sub-agents, agents and threads"
    OWNER = "The owner only"


class Form(StrEnum):
    """`ALONE`: the whole message. `SHORTCUT`: also inside a message, which goes on without it. `DIRECTIVE`: also
    before a message, whose turn it then holds for."""

    ALONE = "alone"
    SHORTCUT = "shortcut"
    DIRECTIVE = "directive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """`operation` is what the guard is asked; `owner` commands are the gateway owner's alone.

    `needs` is what the credential of a client must hold, as much as the method that does the same; with an argument of
    `shows` a command changes nothing, and to read is enough.
    """

    name: Name
    family: Family
    operation: Operation
    summary: str
    arguments: str = ""
    aliases: tuple[str, ...] = ()
    form: Form = Form.ALONE
    owner: bool = False
    needs: Scope = Scope.READ
    shows: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        return f"/{self.name} {self.arguments}".strip()


_SEE, _TALK, _SET, _CHILDREN, _OWNER = Family

COMMANDS = (
    Command(
        name=Name.STATUS,
        family=_SEE,
        operation=Operation.STATUS,
        form=Form.SHORTCUT,
        summary="this session: model, context, tokens, queue, what is running",
    ),
    Command(
        name=Name.EXPLAIN,
        family=_SEE,
        operation=Operation.STATUS,
        arguments=f"[{'|'.join(Aspect)}]",
        summary="why: this session, this model, this reset, this silence, this denial, this trace, this cost",
    ),
    Command(
        name=Name.CONTEXT,
        family=_SEE,
        operation=Operation.STATUS,
        arguments="[list|detail|json]",
        summary="what the model is shown, and how large each part is",
    ),
    Command(
        name=Name.TOOLS,
        family=_SEE,
        operation=Operation.STATUS,
        arguments="[compact|verbose]",
        summary="the tools of this session, and what removed the others",
    ),
    Command(
        name=Name.USAGE,
        family=_SEE,
        operation=Operation.PATCH,
        needs=Scope.ADMIN,
        shows=("cost",),
        arguments="[off|tokens|full|reset|cost]",
        summary="figures below every answer; alone it goes on to the next of `off`, `tokens`, `full`. `cost` sums up what was spent",
    ),
    Command(
        name=Name.WHOAMI,
        family=_SEE,
        operation=Operation.STATUS,
        form=Form.SHORTCUT,
        summary="who you are here, and why you were let in",
    ),
    Command(
        name=Name.HELP,
        family=_SEE,
        operation=Operation.STATUS,
        arguments="[command]",
        form=Form.SHORTCUT,
        summary="the commands, or one of them",
    ),
    Command(
        name=Name.COMMANDS,
        family=_SEE,
        operation=Operation.STATUS,
        form=Form.SHORTCUT,
        summary="all commands with their arguments",
    ),
    Command(
        name=Name.NEW,
        family=_TALK,
        operation=Operation.RESET,
        needs=Scope.ADMIN,
        arguments="[model] [message]",
        summary="start afresh; the old conversation is kept",
    ),
    Command(
        name=Name.RESET,
        family=_TALK,
        operation=Operation.RESET,
        needs=Scope.ADMIN,
        arguments="[model] [message]",
        summary="the same as /new",
    ),
    Command(
        name=Name.BACK,
        family=_TALK,
        operation=Operation.RESET,
        needs=Scope.ADMIN,
        summary="return to the conversation before the last fresh start",
    ),
    Command(
        name=Name.STOP,
        family=_TALK,
        operation=Operation.STOP,
        needs=Scope.WRITE,
        aliases=("abort",),
        summary="end the run, clear what waits, stop sub-agents and their programs",
    ),
    Command(
        name=Name.STEER,
        family=_TALK,
        operation=Operation.SEND,
        needs=Scope.WRITE,
        arguments="<message>",
        aliases=("tell",),
        summary="say something to the run under way; without one, an ordinary message",
    ),
    Command(
        name=Name.COMPACT,
        family=_TALK,
        operation=Operation.PATCH,
        needs=Scope.ADMIN,
        arguments="[what to keep]",
        summary="condense the conversation now",
    ),
    Command(
        name=Name.MODEL,
        family=_SET,
        operation=Operation.PATCH,
        needs=Scope.WRITE,
        arguments="[name|default|list|status]",
        form=Form.DIRECTIVE,
        summary="the model that answers here",
    ),
    Command(
        name=Name.THINK,
        family=_SET,
        operation=Operation.PATCH,
        needs=Scope.WRITE,
        arguments="[level|default]",
        aliases=("t", "thinking"),
        form=Form.DIRECTIVE,
        summary="how long the model thinks; before a message, for that message only",
    ),
    Command(
        name=Name.REASONING,
        family=_SET,
        operation=Operation.PATCH,
        needs=Scope.ADMIN,
        shows=("",),
        arguments="[on|off|stream|default]",
        summary="whether the model's reasoning is shown",
    ),
    Command(
        name=Name.VERBOSE,
        family=_SET,
        operation=Operation.PATCH,
        needs=Scope.ADMIN,
        shows=("",),
        arguments="[on|off|full|default]",
        aliases=("v",),
        summary="whether tool calls are shown as they happen; `full` with what they gave",
    ),
    Command(
        name=Name.QUEUE,
        family=_SET,
        operation=Operation.PATCH,
        needs=Scope.ADMIN,
        shows=("",),
        arguments="[mode|default] [debounce:500ms] [cap:20] [drop:summarize]",
        summary="what a message does while a run is active",
    ),
    Command(
        name=Name.NAME,
        family=_SET,
        operation=Operation.PATCH,
        needs=Scope.WRITE,
        arguments="[name|default]",
        summary="what this session is called",
    ),
    Command(
        name=Name.SUBAGENTS,
        family=_CHILDREN,
        operation=Operation.STATUS,
        needs=Scope.WRITE,
        arguments="[list|info <#>|log <#> [lines] [tools]|kill <#|all>]",
        summary="the sub-agents of this session",
    ),
    Command(
        name=Name.AGENTS,
        family=_CHILDREN,
        operation=Operation.STATUS,
        summary="the agents there are, and the one that answers here",
    ),
    Command(
        name=Name.SESSION,
        family=_CHILDREN,
        operation=Operation.PATCH,
        needs=Scope.ADMIN,
        shows=("",),
        arguments="[idle <time|off>|max-age <time|off>|unbind]",
        summary="the binding of this thread to its session",
    ),
    Command(
        name=Name.SEND,
        family=_OWNER,
        operation=Operation.PATCH,
        needs=Scope.ADMIN,
        arguments="on|off|inherit",
        owner=True,
        summary="whether answers of this session are sent",
    ),
    Command(
        name=Name.ACTIVATION,
        family=_OWNER,
        operation=Operation.PATCH,
        needs=Scope.ADMIN,
        arguments="[mention|always|default]",
        owner=True,
        summary="whether this group must mention the agent",
    ),
    Command(
        name=Name.EXPORT,
        family=_OWNER,
        operation=Operation.EXPORT,
        needs=Scope.ADMIN,
        arguments="[--raw]",
        aliases=("export",),
        owner=True,
        summary="write the transcripts of this session to files; secrets are masked without --raw",
    ),
)

_BY_WORD = MappingProxyType(
    {word: command for command in COMMANDS for word in (str(command.name), *command.aliases)}
)


def find(word: str) -> Command | None:
    """The command of a name or alias, with or without its slash."""
    return _BY_WORD.get(word.strip().lower().removeprefix("/"))


def named(name: Name) -> Command:
    return _BY_WORD[name]
