"""What a chat is told of the tool calls of a run while it goes on, where somebody asked for it with `/verbose`."""

import json
from collections.abc import Mapping
from typing import assert_never

from roost.core import sendpolicy
from roost.core.effects import Effects
from roost.core.jsonvalue import JsonValue
from roost.core.messages import Text, ToolCall
from roost.core.notices import notice
from roost.core.redaction import SecretScanner, redact
from roost.core.runs import Run
from roost.core.secretfields import concealed, is_secret_field
from roost.core.sendpolicy import SendPolicy
from roost.core.sessions import Session, Verbosity
from roost.core.snapshots import Snapshot
from roost.core.tools import ToolOutcome

LONGEST_ARGUMENTS = 300
LONGEST_OUTPUT = 1_500

_ELLIPSIS = "…"


def level_of(run: Run, session: Session) -> Verbosity:
    """What is shown of a run: nothing where there is no chat, or nobody waits for an answer."""
    if run.request.reply_to is None or not run.request.kind.answers:
        return Verbosity.OFF
    return next((level for level in Verbosity if level == session.overrides.verbose), Verbosity.OFF)


def began_line(call: ToolCall, scanner: SecretScanner | None) -> str:
    """That a tool is called, and with what; without a scanner nothing is shown that could hold a secret."""
    shown = _masked(_arguments(call.arguments), scanner, LONGEST_ARGUMENTS)
    return f"{call.name}: {shown}" if shown else call.name


def over_line(
    call: ToolCall, outcome: ToolOutcome, level: Verbosity, scanner: SecretScanner | None
) -> str | None:
    """What a tool gave, where that is asked for."""
    match level:
        case Verbosity.FULL:
            said = "\n".join(block.text for block in outcome.content if isinstance(block, Text))
            shown = _masked(said.strip(), scanner, LONGEST_OUTPUT)
            head = f"{call.name} failed" if outcome.is_error else f"{call.name} is done"
            return f"{head}:\n{shown}" if shown else f"{head}."
        case Verbosity.ON | Verbosity.OFF:
            return None
        case _:
            assert_never(level)


def tell(
    snapshot: Snapshot, run: Run, line: str, *, policy: SendPolicy | None, at: int, about: str
) -> Effects:
    """Say it in the chat of a run that is still under way, if answers may be sent there."""
    now, session, address = snapshot.running, snapshot.session, run.request.reply_to
    if session is None or now is None or address is None:
        return ()
    if (now.id, now.fence) != (run.id, run.fence) or now.stop is not None:
        return ()
    verdict = sendpolicy.judge_at(policy, session, address)
    return notice(run.key, address, line, at=at, about=about) if verdict.allowed else ()


def _arguments(arguments: Mapping[str, JsonValue]) -> str:
    shown = {
        name: _value(concealed(value) if is_secret_field(name) else value)
        for name, value in arguments.items()
    }
    if len(shown) == 1:
        return next(iter(shown.values()))
    return ", ".join(f"{name}={value}" for name, value in shown.items())


def _value(value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return " ".join(text.split())


def _masked(text: str, scanner: SecretScanner | None, longest: int) -> str:
    """Masked as a whole, then cut: the beginning of a secret need not look like one."""
    if scanner is None:
        return ""
    shown, _ = redact(text, scanner)
    return shown if len(shown) <= longest else f"{shown[:longest].rstrip()}{_ELLIPSIS}"
