"""What was spent, refused and sent between sessions, as clients read it."""

from collections.abc import Sequence
from typing import assert_never

from roost.core.exchanges import Exchange
from roost.core.figures import MICROS
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.keys import SessionKey
from roost.core.ledger import Denial, LedgerRow, LedgerTotal
from roost.core.messages import (
    AssistantMessage,
    Body,
    Compaction,
    Notice,
    ToolResult,
    Usage,
    UserMessage,
    text_of,
    tool_calls,
)
from roost.core.redaction import SecretScanner, redact

MOST_CHARS = 2_000


def spent(usage: Usage) -> JsonObject:
    return {
        "input": usage.input,
        "output": usage.output,
        "cacheRead": usage.cache_read,
        "cacheWrite": usage.cache_write,
        "totalTokens": usage.total or usage.input + usage.output + usage.cache_read + usage.cache_write,
        "totalCost": usage.cost_micros / MICROS,
    }


def totals(total: LedgerTotal) -> JsonObject:
    return {**spent(total.usage), "calls": total.calls}


def call_row(row: LedgerRow) -> JsonObject:
    return {
        "id": row.id,
        "at": row.at,
        "key": str(row.key),
        "sessionId": row.session_id,
        "agentId": row.key.agent,
        "principal": str(row.principal),
        "runId": row.run_id,
        "runKind": str(row.run_kind),
        "provider": row.provider,
        "model": row.model,
        "usage": spent(row.usage),
        "estimated": row.estimated,
    }


def series(newest_first: Sequence[LedgerRow], whole: LedgerTotal) -> list[JsonObject]:
    """Calls as points, oldest first, each with what all before it and itself add up to. `whole` is the sum with the newest."""
    points, so_far = list[JsonObject](), whole
    for row in newest_first:
        used, by_then = spent(row.usage), spent(so_far.usage)
        points.append(
            {
                "timestamp": row.at,
                **{name: value for name, value in used.items() if name != "totalCost"},
                "cost": used["totalCost"],
                "cumulativeTokens": by_then["totalTokens"],
                "cumulativeCost": by_then["totalCost"],
            }
        )
        so_far = so_far.minus(LedgerTotal(calls=1, usage=row.usage))
    return points[::-1]


def log_row(body: Body, scanner: SecretScanner) -> JsonObject | None:
    """A message with what its call cost; None for what nobody said."""
    match body:
        case UserMessage():
            return {"timestamp": body.at, "role": "user", "content": _line(text_of(body), scanner)}
        case AssistantMessage():
            used = spent(body.usage)
            named = ", ".join(call.name for call in tool_calls(body))
            words = "\n".join(part for part in (text_of(body), named and f"[{named}]") if part)
            return {
                "timestamp": body.at,
                "role": "assistant",
                "content": _line(words, scanner),
                "tokens": used["totalTokens"],
                "cost": used["totalCost"],
            }
        case ToolResult():
            return {"timestamp": body.at, "role": "toolResult", "content": _line(text_of(body), scanner)}
        case Compaction() | Notice():
            return None
        case _:
            assert_never(body)


def _line(text: str, scanner: SecretScanner) -> str:
    """Masked before it is cut: a piece of a secret is not known for one."""
    shown = redact(text, scanner)[0]
    return shown if len(shown) <= MOST_CHARS else shown[: MOST_CHARS - 1] + "…"


def denial_row(denial: Denial, scanner: SecretScanner) -> JsonObject:
    named: dict[str, JsonValue] = {
        "sessionKey": str(denial.caller) if denial.caller else None,
        "target": denial.target,
    }
    return {
        "at": denial.at,
        "operation": denial.operation,
        "principal": str(denial.principal),
        "rule": denial.rule,
        "reason": redact(denial.reason, scanner)[0],
        **{name: value for name, value in named.items() if value is not None},
    }


def exchange_row(exchange: Exchange, seen_from: SessionKey, scanner: SecretScanner) -> JsonObject:
    def masked(text: str | None) -> str | None:
        return text and redact(text, scanner)[0]

    told: dict[str, JsonValue] = {
        "firstReply": masked(exchange.first_reply),
        "latestReply": masked(exchange.latest_reply),
        "error": masked(exchange.error),
        "deadline": exchange.deadline,
        "runId": exchange.sent.run_id,
        "thread": exchange.sent.thread,
        "remoteKey": remote.key if (remote := exchange.sent.remote) else None,
    }
    return {
        "id": exchange.id,
        "direction": "sent" if exchange.requester == seen_from else "received",
        "requester": str(exchange.requester),
        "target": exchange.addressee,
        "request": masked(exchange.request),
        "createdAt": exchange.created_at,
        "phase": str(exchange.phase),
        "state": str(exchange.state),
        "receipt": str(exchange.receipt),
        "turn": exchange.turn,
        "maxTurns": exchange.max_turns,
        **{name: value for name, value in told.items() if value is not None},
    }
