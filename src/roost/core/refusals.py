"""What is written down when the guard refuses something."""

from roost.core.keys import SessionKey
from roost.core.ledger import Denial
from roost.core.visibility import AgentCaller, Caller, Denied, Operation

ABSENT = "absent"


def refusal(operation: Operation, caller: Caller, denied: Denied, target: str, at: int) -> Denial | None:
    """The record of a refusal; None where a caller asked for what is not there, and is told so."""
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
    )


def _session(caller: Caller) -> SessionKey | None:
    return caller.key if isinstance(caller, AgentCaller) else None
