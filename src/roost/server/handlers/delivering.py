"""What became of an answer that was to be sent to a chat, as who asked for it is told."""

from roost.core.deliveries import Delivery, DeliveryState
from roost.core.errors import RoostError
from roost.core.finishing import reply_id
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.redaction import redact
from roost.engine.waits import Waited
from roost.server.house import House

NO_CHAT = "this session was met in no chat: say which with `to`"
NOTHING = "there was nothing to send"
GONE = "it is not known any more"
_UNDECIDED = frozenset({"silent", "pending", "uncertain", "unknown"})
_STATUS = {
    DeliveryState.INTENT: "pending",
    DeliveryState.SENDING: "pending",
    DeliveryState.CONFIRMED: "sent",
    DeliveryState.UNCERTAIN: "uncertain",
    DeliveryState.FAILED: "failed",
    DeliveryState.DISMISSED: "suppressed",
}


async def delivered(house: House, waited: Waited, *, said: bool) -> dict[str, JsonValue]:
    """As far as it is known within the time in which a message is sent."""
    if waited.record.inbound.reply_to is None:
        return _told("no-route", reason=NO_CHAT)
    if not said or waited.run is None:
        return _told("silent", reason=NOTHING)
    sent = await house.store.delivery(reply_id(waited.run.id))
    if sent is None:
        return _told("unknown", reason=GONE)
    try:
        posted = await house.engine.letters.became(sent)
    except RoostError as error:
        return _told("unknown", reason=error.message)
    worst = posted.worst
    reason = None if worst.error is None else redact(worst.error, house.scanner)[0]
    return _told(_STATUS[worst.state], posted.parts, reason)


def _told(status: str, parts: tuple[Delivery, ...] = (), reason: str | None = None) -> dict[str, JsonValue]:
    """What is not known yet, or nobody will know, neither succeeded nor failed."""
    known: dict[str, JsonValue] = {} if status in _UNDECIDED else {"succeeded": status == "sent"}
    outcomes: list[JsonValue] = [{"status": _STATUS[part.state]} for part in parts]
    state: JsonObject = {
        "requested": True,
        "attempted": any(part.attempts > 0 for part in parts),
        "status": status,
        **known,
        "resultCount": sum(part.state is DeliveryState.CONFIRMED for part in parts),
        "payloadOutcomes": outcomes,
        **({} if reason is None else {"reason": reason}),
    }
    summary: dict[str, JsonValue] = {"deliverySucceeded": known["succeeded"]} if known else {}
    return {**summary, "deliveryStatus": state}
