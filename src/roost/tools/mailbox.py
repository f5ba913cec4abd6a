"""What a session sent and was sent, as its agent reads it: the mailbox of `sessions_send`."""

from roost.core.exchanges import Exchange
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.redaction import SecretScanner, redact
from roost.core.tools import Invocation, ToolOutcome
from roost.core.visibility import Operation
from roost.tools.access import Access
from roost.tools.outcomes import found_rows, written

MOST_LISTED = 50
LONGEST_TEXT = 280


async def mailbox(access: Access, scanner: SecretScanner, invocation: Invocation, newest: int) -> ToolOutcome:
    """The newest messages of the calling session."""
    own = (await access.find(Operation.HISTORY, "current", invocation)).session.key
    found = await access.store.exchanges_of(own, newest + 1)

    def shown(text: str | None) -> str | None:
        masked = text and redact(text, scanner)[0]
        return masked if masked is None or len(masked) <= LONGEST_TEXT else f"{masked[:LONGEST_TEXT]}…"

    def row(exchange: Exchange) -> JsonObject:
        sent = exchange.requester == own
        told: dict[str, JsonValue] = {
            "messageId": exchange.id,
            "direction": "sent" if sent else "received",
            "sessionKey": access.addressee(exchange, invocation)
            if sent
            else access.shown(exchange.requester, invocation),
            "receipt": str(exchange.receipt),
            "state": str(exchange.state),
            "at": exchange.created_at,
            "deadline": exchange.deadline,
            "thread": exchange.sent.thread,
            "message": shown(exchange.request),
            "reply": shown(exchange.latest_reply),
            "error": shown(exchange.error),
        }
        return {name: value for name, value in told.items() if value is not None}

    listed = found[:newest]
    details: JsonObject = {"status": "ok", "count": len(listed), "hasMore": len(found) > newest}
    return found_rows(details, "messages", [written(row(one)) for one in listed])
