"""Messages to places on channels, which no run wrote."""

from roost.core.addresses import Address
from roost.core.deliveries import Delivery, DeliveryState
from roost.core.errors import InvalidInput, Undelivered
from roost.core.letters import Letter
from roost.core.redaction import SecretScanner, redact
from roost.protocol.families import letters
from roost.protocol.families.letters import Acted, Sent
from roost.server.calls import Call

LOOK = "look at `roost deliveries`"
_ARRIVING = (DeliveryState.CONFIRMED, DeliveryState.SENDING, DeliveryState.INTENT)


async def send(call: Call, params: letters.SendParams) -> Sent:
    posts = call.house.engine.letters
    to = posts.address(params.to, params.channel, params.account_id, params.thread_id)
    sent = await _send(call, to, params.message, params.idempotency_key)
    return Sent(
        runId=params.idempotency_key,
        messageId=sent.receipt or sent.id,
        channel=sent.address.channel,
        deliveryId=sent.id,
        state=str(sent.state),
    )


async def act(call: Call, params: letters.ActionParams) -> Acted:
    asked = params.params
    place = asked.target or (asked.to or "").removeprefix(f"{params.channel}:")
    if not place:
        raise InvalidInput("invalid message.action params: at /params: must have required property 'to'")
    account = asked.account_id or params.account_id
    to = call.house.engine.letters.address(place, params.channel, account, asked.thread_id)
    sent = await _send(call, to, asked.message, params.idempotency_key)
    return Acted(
        ok=True,
        messageId=sent.receipt or sent.id,
        chatId=sent.address.to,
        channel=sent.address.channel,
        state=str(sent.state),
    )


async def _send(call: Call, to: Address, text: str, name: str) -> Delivery:
    house = call.house
    letter = Letter(
        name=name,
        by=call.caller.principal,
        to=to,
        text=text,
        at=house.clock.now(),
        trace=call.trace or house.new_id(),
    )
    posted = await house.engine.letters.send(letter)
    if posted.worst.state not in _ARRIVING:
        raise _undelivered(posted.worst, house.scanner)
    return posted.parts[0]


def _undelivered(delivery: Delivery, scanner: SecretScanner) -> Undelivered:
    why = redact(delivery.error or "no reason is known", scanner)[0]
    if delivery.state is DeliveryState.UNCERTAIN:
        return Undelivered(f"nobody knows whether it arrived: {why}", hint=f"{LOOK} before sending it again")
    return Undelivered(f"it was not sent: {why}", hint=LOOK)
