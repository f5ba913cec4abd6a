"""What is written down when something is refused."""

from collections.abc import Iterable

from roost.core.figures import HOUR_MS
from roost.core.keys import SessionKey
from roost.core.ledger import Denial
from roost.core.visibility import AgentCaller, Caller, Denied, Operation, absent

ABSENT = "absent"
INBOUND = "inbound"
REPEATED_MS = HOUR_MS
"""How often it is noted that a group talks past the agent."""


def refusal(operation: Operation, caller: Caller, denied: Denied, target: str, at: int) -> Denial | None:
    """The record of a refusal; None where a caller asked for what is not there, and is told so. What a caller was told of
    as of nothing stays hidden from them."""
    if denied.reason is None and denied.absent:
        return None
    return Denial(
        at=at,
        operation=operation,
        principal=caller.principal,
        rule=denied.reason or ABSENT,
        reason=f"{denied.message} ({denied.setting})" if denied.setting else denied.message,
        caller=_session(caller),
        target=target,
        hidden=denied.absent or not absent(caller).absent,
    )


def is_news(denial: Denial, noted: Iterable[Denial]) -> bool:
    """Whether none of those that were `noted` says the same already."""
    return all(one.rule != denial.rule or denial.at - one.at >= REPEATED_MS for one in noted)


def _session(caller: Caller) -> SessionKey | None:
    return caller.key if isinstance(caller, AgentCaller) else None
